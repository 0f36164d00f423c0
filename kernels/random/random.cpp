// random.cpp — RandomNormal, RandomUniform of attribute `shape`, RandomNormalLike,
// RandomUniformLike of the input's shape: mean + scale z, low + (high - low) u. No derivative.
// Version 22 adds bfloat16.
#include "kernels/common/element_conversion.h"
#include "kernels/common/op.h"
#include "kernels/elementwise/elementwise.h"
#include "kernels/random/random_rows.h"
#include "kernels/simd/exact/exact_kernels.h"

namespace ondine::kernels::ops {
namespace {

DType check_float(DType dtype, std::int64_t code) {
  if (!is_differentiable(dtype)) {
    fail(ErrorCode::invalid_model, "random numbers of dtype ", code,
         ", needed: float16, bfloat16, float or double");
  }
  return dtype;
}

DType dtype_attribute(const NodeView& node, DType otherwise) {
  const std::int64_t code = node.attr_int("dtype", static_cast<std::int64_t>(otherwise));
  return check_float(code > 0 && code < dtype_count ? static_cast<DType>(code) : DType::undefined,
                     code);
}

void infer_new(InferContext& context) {
  if (!context.has_attr("shape")) fail(ErrorCode::invalid_model, "attribute \"shape\" is missing");
  const Shape shape(context.attr_ints("shape"));
  context.set_output(0, dtype_attribute(context, DType::float32), to_dims(shape));
}

void infer_like(InferContext& context) {
  context.set_output(0, dtype_attribute(context, context.dtype(0)), context.input(0).dims);
}

// y = shift + scale * (elements of a sequence).
struct Draw {
  RandomRun run;
  double shift;
  double scale;
};

// The number that element i gets.
std::uint64_t number_of(const Draw& draw, std::int64_t i) {
  return draw.run.first + static_cast<std::uint64_t>(i);
}

template <auto Pair, class T>
void draw_pairs(const Draw& draw, T* y, std::int64_t first, std::int64_t last) {
  store_pairs(y, first, last, number_of(draw, first), draw.shift, draw.scale,
              [&](std::uint64_t i) { return Pair(draw.run.key, i); });
}

// Draws the same bits as draw_pairs<normal_pair>.
template <class T>
void draw_normals(const Draw& draw, T* y, std::int64_t first, std::int64_t last) {
  if constexpr (std::is_same_v<T, double>) {
    draw_pairs<normal_pair>(draw, y, first, last);
  } else {
    constexpr std::int64_t most_pairs = random_chunk / 2;
    const math::ExactKernels& exact = math::exact_kernels(math::simd_tables());
    float values[random_chunk];
    std::int32_t doubtful[most_pairs];
    if (first < last && number_of(draw, first) % 2 != 0) {
      draw_pairs<normal_pair>(draw, y, first, first + 1);
      ++first;
    }
    for (std::int64_t i = first; i < last; i += random_chunk) {
      const std::int64_t n = std::min(random_chunk, last - i);
      constexpr std::int64_t step = 2 * math::box_muller_pairs;
      const std::int64_t pairs = (n + step - 1) / step * math::box_muller_pairs;
      const std::int64_t unsure = exact.box_muller(
          values, {draw.run.key, number_of(draw, i) / 2, pairs, draw.shift, draw.scale}, doubtful);
      for (std::int64_t k = 0; k < n; ++k) y[i + k] = store<T>(values[k]);
      for (std::int64_t k = 0; k < unsure; ++k) {
        const std::int64_t at = i + 2 * doubtful[k];
        if (at < last) draw_pairs<normal_pair>(draw, y, at, std::min(at + 2, last));
      }
    }
  }
}

// `draw_all<T>` for every element, in chunks.
template <class F>
Kernel bind(const BindContext& context, double shift, double scale, F draw_all) {
  const std::int64_t n = context.output_shape(0)->size();
  const bool has_rows = context.input_count() != 0;  // those of the input
  const auto seed = seed_attribute(context);
  return visit(context.output_dtype(0), Floats{}, [&]<class T>() -> Kernel {
    return [=](KernelContext& call) {
      const RandomRun run =
          has_rows ? random_run(call, seed, n) : RandomRun{own_key(call.random(), seed)};
      const Draw draw{run, shift, scale};
      T* y = call.out<T>(0);
      call.pool().for_chunks(n, elementwise_grain, [&](std::int64_t first, std::int64_t last) {
        draw_all(draw, y, first, last);
      });
    };
  });
}

Kernel bind_normal(BindContext& context) {
  return bind(context, context.attr_float("mean", 0.0F), context.attr_float("scale", 1.0F),
              [](auto&&... rest) { draw_normals(rest...); });
}

Kernel bind_uniform(BindContext& context) {
  const double low = context.attr_float("low", 0.0F);
  return bind(context, low, context.attr_float("high", 1.0F) - low,
              [](auto&&... rest) { draw_pairs<uniform_pair>(rest...); });
}

constexpr OpDef random_op(std::string_view name, void (*infer)(InferContext&),
                          Kernel (*bind_rule)(BindContext&), std::uint32_t shape_only) {
  return {.name = name,
          .infer = infer,
          .bind = bind_rule,
          .traits = {.shape_only = shape_only, .random = true},
          .no_gradient = shape_only};
}

}  // namespace

extern const OpDef random_normal = random_op("RandomNormal", infer_new, bind_normal, 0);
extern const OpDef random_uniform = random_op("RandomUniform", infer_new, bind_uniform, 0);
extern const OpDef random_normal_like = random_op("RandomNormalLike", infer_like, bind_normal, 1);
extern const OpDef random_uniform_like =
    random_op("RandomUniformLike", infer_like, bind_uniform, 1);

}  // namespace ondine::kernels::ops
