// Index inputs (int32 or int64, negative ones count from the end): checked before they are used.
#pragma once

#include "kernels/common/op.h"

namespace ondine::kernels {

// Error(mismatch) naming the index and the range it must be in.
[[noreturn]] void bad_index(std::int64_t index, std::int64_t size);

inline std::int64_t checked_index(std::int64_t index, std::int64_t size) {
  if (index < -size || index >= size) bad_index(index, size);
  return index < 0 ? index + size : index;
}

class IndexInput {
 public:
  // Requests workspace for the indices, at `offset` bytes of it.
  IndexInput(graph::BindContext& context, std::size_t input, std::size_t offset = 0);

  std::int64_t count() const noexcept { return count_; }
  // All indices of this call, in [0, size).
  const std::int64_t* read(graph::KernelContext& call, std::int64_t size) const;
  // read() for an operator whose indices another operator checks: indices outside stay outside.
  const std::int64_t* read_unchecked(graph::KernelContext& call, std::int64_t size) const;

 private:
  template <class F>
  const std::int64_t* read_as(graph::KernelContext& call, const F& index_of) const;

  std::size_t input_;
  DType dtype_;
  std::int64_t count_;
  std::size_t offset_;
};

}  // namespace ondine::kernels
