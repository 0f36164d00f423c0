#include "kernels/elementwise/variadic.h"

#include <cstring>

namespace ondine::kernels::ops {
namespace {

constexpr std::int64_t block = 1024;  // elements combined at a time, in the compute dtype

struct Operand {
  Broadcast broadcast;
  ConvertRow widen = nullptr;
};

struct Walk {
  std::vector<Operand> operands;
  RowFunction combine = nullptr;
  RowFunction finish = nullptr;
  Params params;
  ConvertRow narrow = nullptr;
  std::size_t size = 0;          // bytes of an element
  std::size_t compute_size = 0;  // the same while computing

  void run_block(KernelContext& call, std::int64_t first, std::int64_t last) const;
};

const std::byte* at(const void* p, std::int64_t elements, std::size_t size) {
  return static_cast<const std::byte*>(p) + static_cast<std::size_t>(elements) * size;
}

void Walk::run_block(KernelContext& call, std::int64_t first, std::int64_t last) const {
  alignas(64) std::byte total[block * sizeof(double)];
  alignas(64) std::byte wide[block * sizeof(double)];
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Operand& operand = operands[i];
    const bool repeated = operand.broadcast.repeated(0);
    operand.broadcast.for_runs(first, last, [&](std::int64_t y, std::int64_t n, const auto& x) {
      const void* source = at(call.in<void>(i), x[0], size);
      if (operand.widen != nullptr) {
        operand.widen(wide, source, repeated ? 1 : n);
        source = wide;
      }
      std::byte* const part = total + static_cast<std::size_t>(y - first) * compute_size;
      if (i > 0) {
        const Row row{part, {part, source}, {false, repeated}, n, {}};
        return combine(row);
      }
      for (std::int64_t k = 0; k < (repeated ? n : 1); ++k) {
        std::memcpy(part + static_cast<std::size_t>(k) * compute_size, source,
                    compute_size * static_cast<std::size_t>(repeated ? 1 : n));
      }
    });
  }
  const std::int64_t n = last - first;
  if (finish != nullptr) finish({total, {total}, {}, n, params});
  std::byte* const y = call.out<std::byte>(0) + static_cast<std::size_t>(first) * size;
  if (narrow != nullptr) {
    narrow(y, total, n);
  } else {
    std::memcpy(y, total, static_cast<std::size_t>(n) * size);
  }
}

}  // namespace

Kernel bind_variadic(const BindContext& context, RowFunction combine, RowFunction finish,
                     Params params) {
  if (context.input_count() == 2 && finish == nullptr) return elementwise(context, combine);
  const DType dtype = context.dtype(0);
  const bool widened = compute_dtype(dtype) != dtype;
  const Shape out = *context.output_shape(0);
  auto walk = std::make_shared<Walk>();
  walk->combine = combine;
  walk->finish = finish;
  walk->params = params;
  walk->narrow = widened ? row_from_float(dtype) : nullptr;
  walk->size = size_of(dtype);
  walk->compute_size = size_of(compute_dtype(dtype));
  for (std::size_t i = 0; i < context.input_count(); ++i) {
    const Shape shape = context.shape(i);
    walk->operands.push_back(
        {Broadcast(out, std::span(&shape, 1)), widened ? row_to_float(dtype) : nullptr});
  }
  return [walk, n = out.size()](KernelContext& call) {
    call.pool().for_chunks(n, elementwise_grain, [&](std::int64_t first, std::int64_t last) {
      for (std::int64_t done = first; done < last; done += block) {
        walk->run_block(call, done, std::min(last, done + block));
      }
    });
  };
}

void infer_variadic(InferContext& context) {
  if (context.input_count() == 0) fail(ErrorCode::invalid_model, "no inputs");
  infer_broadcast(context);
  if (context.version() >= 8) return;
  for (std::size_t i = 1; i < context.input_count(); ++i) {
    if (!context.ranked(i) || !context.ranked(0)) continue;
    if (context.rank(i) != context.rank(0)) {
      context.reject("inputs 0 and ", i, " differ in shape: ", to_string(context.dims(0)), " and ",
                     to_string(context.dims(i)));
    }
    for (std::size_t k = 0; k < context.rank(0); ++k) {
      unify(context.dims(0)[k], context.dims(i)[k], "dims of inputs");
    }
  }
}

}  // namespace ondine::kernels::ops
