// Workspace of one kernel, laid out while it is bound.
#pragma once

#include "graph/contract/kernel.h"
#include "kernels/common/workspace.h"

namespace ondine::kernels {

class Scratch : public math::Parts {
 public:
  // To be called once, after everything was added.
  void request(graph::BindContext& context) const {
    if (bytes() > 0) context.request_workspace(bytes());
  }

  template <class T>
  static T* at(graph::KernelContext& call, std::size_t offset) {
    return reinterpret_cast<T*>(call.workspace<std::byte>() + offset);
  }
};

}  // namespace ondine::kernels
