// dequantize_matmul.cpp — DequantizeMatMul (ai.ondine): (a, b[, scale[, zero point[, bias]]]) ->
// a op(b') + bias, b' being what DequantizeLinear makes of the matrix b with the attributes axis
// and block_size; without a scale b is float16 or bfloat16. transB: b is stored transposed. b may
// be packed (stored_matrix.h), and with the attribute levels its elements are indices of 16 numbers
// that the scale multiplies. a, the bias (one number for each column) and the result are float32.
// Strips of b' are dequantized where they are multiplied, so that b' is never held whole; products
// that round their factors to bfloat16 read one of that type where it lies. No derivative:
// fuse_quantized makes the operator of frozen weights, after differentiation.
#include "kernels/common/op.h"
#include "kernels/common/scratch_pool.h"
#include "kernels/matmul/gemm_primitive.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/product_kernels.h"
#include "kernels/quantize/dequantized_rows.h"

namespace ondine::kernels::ops {
namespace {

constexpr std::size_t weight = 1;
constexpr std::size_t scale = 2;
constexpr std::size_t bias = 4;

bool is_transposed(const NodeView& node) { return node.attr_int("transB", 0) != 0; }

void infer(InferContext& context) {
  check_dequantized(context, weight);
  if (context.dtype(0) != DType::float32) {
    context.reject("a is ", context.dtype(0), ", needed: float32");
  }
  const auto b = matrix_dims(context, weight);
  if (!context.ranked(0) || !b) return context.set_output(0, DType::float32, std::nullopt);
  if (context.rank(0) < 2 || b->size() != 2) {
    context.reject("factors of shape ", to_string(context.dims(0)), " and ", to_string(*b),
                   ", needed: a of rank 2 or more, a matrix b");
  }
  Dims y = matmul_dims(context.dims(0), *b, false, is_transposed(context));
  if (context.has_input(bias) && context.ranked(bias)) {
    unify(product(context.dims(bias)), y.back(), "columns and numbers of the bias");
  }
  context.set_output(0, DType::float32, std::move(y));
}

// Columns of a strip, whatever the number of threads: about 1 MB of b'.
std::int64_t strip_width(const math::GemmShape& s) {
  constexpr std::int64_t elements = std::int64_t{1} << 18;
  constexpr std::int64_t least = 64;
  const std::int64_t fitting = elements / std::max<std::int64_t>(1, s.k) / least * least;
  return std::min(s.n, std::max(least, fitting));
}

// One product, since b has no batches.
math::GemmShape product_shape(BindContext& context) {
  return matmul_batches(context.shape(0), matrix_shape(context, weight), false,
                        is_transposed(context))
      .shape;
}

class Product {
 public:
  explicit Product(BindContext& context)
      : shape_(product_shape(context)),
        width_(strip_width(shape_)),
        rows_(context, scratch_, weight),
        strip_(of_width(width_), 1, 1, product_kernels(context)),
        last_(of_width(width_ > 0 ? (shape_.n - 1) % width_ + 1 : 0), 1, 1,
              product_kernels(context)),
        biased_(context.has_input(bias)) {
    context.set_implementation(strip_.name(), strip_.isa());
    weights_bytes_ = math::align_up(static_cast<std::size_t>(
        checked_mul(checked_mul(shape_.k, width_), static_cast<std::int64_t>(sizeof(float)))));
    workspace_ = std::max(strip_.workspace(), last_.workspace());
    slot_ = weights_bytes_ + math::align_up(workspace_) + 64;
    slots_ = math::ScratchPool::bytes(slot_, context.threads());
    slots_at_ = scratch_.add_bytes(slots_);
    scratch_.request(context);
  }

  void operator()(KernelContext& call) const {
    if (shape_.m == 0 || shape_.n == 0) return;
    const DequantizedRows::Source source = rows_.source(call);
    const std::int64_t strips = (shape_.n + width_ - 1) / width_;
    math::ScratchPool({Scratch::at<std::byte>(call, slots_at_), slots_}, slot_)
        .for_chunks(call.pool(), strips, 1,
                    [&](std::byte* slot, std::int64_t first, std::int64_t last) {
                      for (auto i = first; i < last; ++i) run_strip(call, source, slot, i * width_);
                    });
  }

 private:
  math::GemmShape of_width(std::int64_t width) const {
    math::GemmShape strip = shape_;
    strip.n = width;
    strip.ldc = shape_.n;
    return strip;
  }

  // Columns from `column` on.
  void run_strip(KernelContext& call, const DequantizedRows::Source& source, std::byte* slot,
                 std::int64_t column) const {
    auto* const b = reinterpret_cast<float*>(slot);
    const std::int64_t k = shape_.k;
    const std::int64_t n = shape_.n;
    const std::int64_t width = std::min(width_, n - column);
    if (shape_.trans_b) {
      rows_.read(b, source, column * k, (column + width) * k);
    } else {
      for (std::int64_t p = 0; p < k; ++p) {
        rows_.read(b + p * width, source, p * n + column, p * n + column + width);
      }
    }
    const auto& gemm = column + width_ < n ? strip_ : last_;
    const float* const row = biased_ ? call.in<float>(bias) + column : nullptr;
    gemm.run(call.pool(), {}, call.in<float>(0), b, call.out<float>(0) + column, {.col_bias = row},
             math::Workspace{slot + weights_bytes_, workspace_});
  }

  Scratch scratch_;
  math::GemmShape shape_;
  std::int64_t width_;
  DequantizedRows rows_;
  math::GemmPrimitive<float> strip_;
  math::GemmPrimitive<float> last_;
  bool biased_;
  std::size_t weights_bytes_ = 0, workspace_ = 0, slot_ = 0, slots_ = 0, slots_at_ = 0;
};

bool reads_rounded(BindContext& context) {
  return !context.has_input(scale) && context.dtype(weight) == DType::bfloat16 &&
         math::GemmPrimitive<float>::takes_rounded(product_shape(context),
                                                   product_kernels(context));
}

Kernel bind_rounded(BindContext& context) {
  math::GemmShape shape = product_shape(context);
  shape.b_rounded = true;
  const math::GemmPrimitive<float> gemm(shape, 1, context.threads(), product_kernels(context));
  Scratch scratch;
  const std::size_t work = scratch.add_bytes(gemm.workspace());
  context.set_implementation(gemm.name(), gemm.isa());
  scratch.request(context);
  const bool biased = context.has_input(bias);
  return [=](KernelContext& call) {
    const auto* const b = reinterpret_cast<const float*>(call.in<bfloat16>(weight));
    gemm.run(call.pool(), {}, call.in<float>(0), b, call.out<float>(0),
             {.col_bias = biased ? call.in<float>(bias) : nullptr},
             Scratch::at<std::byte>(call, work));
  };
}

Kernel bind(BindContext& context) {
  if (reads_rounded(context)) return bind_rounded(context);
  return [product = std::make_shared<const Product>(context)](KernelContext& call) {
    (*product)(call);
  };
}

std::vector<Val> expand(ExpandContext& context) {
  Val b = dequantize(context, weight);
  if (is_transposed(context)) b = graph::transpose(b, {1, 0});
  const Val y = graph::matmul(context.x(0), b);
  return {context.x(bias) ? y + context.x(bias) : y};
}

}  // namespace

extern const OpDef dequantize_matmul{.name = "DequantizeMatMul",
                                     .domain = ondine_domain,
                                     .infer = infer,
                                     .bind = bind,
                                     .expand = expand,
                                     .no_gradient = any_input};

}  // namespace ondine::kernels::ops
