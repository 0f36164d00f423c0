#include "kernels/common/index_input.h"

#include "kernels/common/kernel_scratch.h"

namespace ondine::kernels {

void bad_index(std::int64_t index, std::int64_t size) {
  fail(ErrorCode::mismatch, "index ", index, " is outside [", -size, ", ", size - 1,
       "] for an axis of size ", size);
}

IndexInput::IndexInput(graph::BindContext& context, std::size_t input, std::size_t offset)
    : input_(input),
      dtype_(context.dtype(input)),
      count_(context.shape(input).size()),
      offset_(offset) {
  if (dtype_ != DType::int32 && dtype_ != DType::int64) {
    fail(ErrorCode::unsupported, "indices of dtype ", dtype_);
  }
  Scratch scratch;
  scratch.add_bytes(offset);
  scratch.add<std::int64_t>(count_);
  scratch.request(context);
}

template <class F>
const std::int64_t* IndexInput::read_as(graph::KernelContext& call, const F& index_of) const {
  auto* out = reinterpret_cast<std::int64_t*>(call.workspace<std::byte>() + offset_);
  visit(dtype_, Types<std::int32_t, std::int64_t>{}, [&]<class I>() {
    const I* in = call.in<I>(input_);
    call.pool().for_chunks(count_, 16384, [&](std::int64_t first, std::int64_t last) {
      for (auto i = first; i < last; ++i) out[i] = index_of(in[i]);
    });
  });
  return out;
}

const std::int64_t* IndexInput::read(graph::KernelContext& call, std::int64_t size) const {
  return read_as(call, [size](std::int64_t index) { return checked_index(index, size); });
}

const std::int64_t* IndexInput::read_unchecked(graph::KernelContext& call,
                                               std::int64_t size) const {
  return read_as(call, [size](std::int64_t index) { return index < 0 ? index + size : index; });
}

}  // namespace ondine::kernels
