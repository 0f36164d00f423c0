// constant_of_shape.cpp — a tensor of the given shape filled with `value` (float 0 by default). No
// derivative. Later versions add dtypes.
#include <cstring>

#include "kernels/common/op.h"

namespace ondine::kernels::ops {
namespace {

Tensor value_of(const NodeView& node) {
  if (!node.has_attr("value")) return Tensor::scalar(0.0F);
  const Tensor value = node.attr_tensor("value");
  if (value.size() != 1 || value.dtype() == DType::string) {
    fail(ErrorCode::invalid_model, "attribute \"value\" has ", value.size(), " elements of dtype ",
         value.dtype(), ", needed: one number");
  }
  return value;
}

void infer(InferContext& context) {
  const Tensor value = value_of(context);
  if (const auto ints = context.known_ints(0)) {
    for (const std::int64_t dim : *ints) {
      if (dim < 0) context.reject("dim ", dim, " is negative");
    }
  }
  std::optional<Dims> dims = context.known_dims(0);
  if (!dims && context.ranked(0) && context.rank(0) == 1 && context.dims(0)[0].known() &&
      context.dims(0)[0].size() <= static_cast<std::int64_t>(Shape::max_rank)) {
    dims = Dims(static_cast<std::size_t>(context.dims(0)[0].size()));
  }
  context.set_output(0, value.dtype(), std::move(dims));
}

// Doubles what is filled up to a pattern that stays in a cache, then copies the pattern.
void fill(ThreadPool& pool, std::byte* y, std::size_t bytes, const void* element,
          std::size_t size) {
  constexpr std::size_t most = 64 * 1024;  // a multiple of the size of all elements
  if (bytes == 0) return;
  const std::size_t pattern = std::min(bytes, most);
  std::memcpy(y, element, size);
  for (std::size_t done = size; done < pattern; done *= 2) {
    std::memcpy(y + done, y, std::min(done, pattern - done));
  }
  const auto copies = static_cast<std::int64_t>((bytes - 1) / most);
  pool.for_chunks(copies, 16, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t i = first; i < last; ++i) {
      const std::size_t at = static_cast<std::size_t>(i + 1) * most;
      std::memcpy(y + at, y, std::min(most, bytes - at));
    }
  });
}

Kernel bind(BindContext& context) {
  const Tensor value = value_of(context);
  const std::size_t size = size_of(value.dtype());
  if (const auto shape = context.output_shape(0)) {
    const auto bytes = static_cast<std::size_t>(shape->size()) * size;
    return [=](KernelContext& call) {
      fill(call.pool(), call.out<std::byte>(0), bytes, value.data(), size);
    };
  }
  const auto rank = static_cast<std::size_t>(context.shape(0).size());
  return [=](KernelContext& call) {
    const Shape shape(std::span(call.in<std::int64_t>(0), rank));
    auto* y = static_cast<std::byte*>(call.allocate(0, shape));
    fill(call.pool(), y, static_cast<std::size_t>(shape.size()) * size, value.data(), size);
  };
}

}  // namespace

extern const OpDef constant_of_shape{.name = "ConstantOfShape",
                                     .infer = infer,
                                     .bind = bind,
                                     .traits = {.cheap = true},
                                     .no_gradient = 1};

}  // namespace ondine::kernels::ops
