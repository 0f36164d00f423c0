// Workspace of one kernel, laid out while it is bound.
#pragma once

#include "core/checked.h"
#include "graph/contract/kernel.h"

namespace ondine::kernels {

class Scratch {
 public:
  // The byte offset of `count` elements of T.
  template <class T>
  std::size_t add(std::int64_t count) {
    const std::int64_t bytes = checked_mul(count, static_cast<std::int64_t>(sizeof(T)));
    return add_bytes(size_in_memory(static_cast<std::uint64_t>(bytes), "a workspace"));
  }
  std::size_t add_bytes(std::size_t bytes) {
    const std::size_t offset = bytes_;
    const std::int64_t end = checked_add(static_cast<std::int64_t>(bytes_),
                                         checked_add(static_cast<std::int64_t>(bytes), 63));
    bytes_ = size_in_memory(static_cast<std::uint64_t>(end), "a workspace") & ~std::size_t{63};
    return offset;
  }
  // To be called once, after everything was added.
  void request(graph::BindContext& context) const {
    if (bytes_ > 0) context.request_workspace(bytes_);
  }

  template <class T>
  static T* at(graph::KernelContext& call, std::size_t offset) {
    return reinterpret_cast<T*>(call.workspace<std::byte>() + offset);
  }

 private:
  std::size_t bytes_ = 0;
};

}  // namespace ondine::kernels
