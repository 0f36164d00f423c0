// dequantize_matmul.cpp — DequantizeMatMul (ai.ondine): (a, b[, scale[, zero point[, bias]]]) ->
// a op(b') + bias, b' being what DequantizeLinear makes of the matrix b with the attributes axis
// and block_size; without a scale b is float16 or bfloat16. transB: b is stored transposed. b may
// be packed (stored_matrix.h), and with the attribute levels its elements are indices of 16 numbers
// that the scale multiplies. a, the bias (one number for each column) and the result are float32.
// With Precision::int8 products of many rows multiply 8-bit integers (frozen_int8.h), unless the
// attribute loss_derivative says what the rows are. Others of few rows read b where it lies
// (stored_product.h, and GemmPrimitive a b of bfloat16, which those that round their factors read
// too). For others pieces of b' are dequantized where they are multiplied, so that b' is never held
// whole. No derivative: fuse_quantized makes the operator of frozen weights, after differentiation.
#include <vector>

#include "kernels/common/convert_rows.h"
#include "kernels/common/op.h"
#include "kernels/common/rounding.h"
#include "kernels/common/scratch_pool.h"
#include "kernels/common/stored_input.h"
#include "kernels/matmul/gemm_primitive.h"
#include "kernels/matmul/matmul.h"
#include "kernels/matmul/product_kernels.h"
#include "kernels/quantize/dequantized_rows.h"
#include "kernels/quantize/frozen_int8.h"
#include "kernels/quantize/stored_product.h"

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

// A dimension in parts of equal size; a rest of less than products of lower precision want joins
// the part before it.
struct Cut {
  std::int64_t size, count, last;

  Cut(std::int64_t whole, std::int64_t part) : size(std::min(whole, part)) {
    constexpr std::int64_t joined = 15;
    count = std::max<std::int64_t>(1, (whole - joined + part - 1) / part);
    last = whole - (count - 1) * size;
  }
  std::int64_t size_of(std::int64_t i) const { return i == count - 1 ? last : size; }
};

// How b' is cut, whatever the number of threads: strips of columns, and deep ones into pieces of
// their rows. a is packed once for each strip, so that these are wide.
struct Cuts {
  Cut columns, rows;
};

// `block_k`: terms that the product sums at once (math::GemmPrimitive).
Cuts cut_matrix(const math::GemmShape& s, std::int64_t block_k) {
  constexpr std::int64_t elements = std::int64_t{1} << 18;  // of a piece, about
  constexpr std::int64_t unit = 64;
  const std::int64_t k = std::max<std::int64_t>(1, s.k);
  const std::int64_t fitting = std::max(unit, elements / k / unit * unit);
  if (block_k == 0) return {{s.n, fitting}, {s.k, k}};
  constexpr std::int64_t wide = 256;
  constexpr std::int64_t together = 4;  // strips: for two and for four threads
  const std::int64_t strips =
      math::round_up(std::max<std::int64_t>(1, math::divide_up(s.n, wide)), together);
  const std::int64_t width = std::max(fitting, math::round_up(math::divide_up(s.n, strips), unit));
  return {{s.n, width},
          {s.k, std::min(k, std::max<std::int64_t>(1, elements / width / block_k) * block_k)}};
}

// One product, since b has no batches.
math::GemmShape product_shape(const BindContext& context) {
  return matmul_batches(context.shape(0), matrix_shape(context, weight), false,
                        is_transposed(context))
      .shape;
}

// Elements from a row of a to the next where a is rounded once for all strips; 0: each product
// rounds its part.
std::int64_t rounded_row(const math::GemmShape& s, const Cuts& cuts,
                         const math::SimdTables& kernels) {
  const bool rounds = math::GemmPrimitive<float>::takes_bf16(s, kernels);
  return rounds && cuts.columns.count > 1 ? math::rounded_row(s.m, s.k) : 0;
}

class Product {
 public:
  explicit Product(BindContext& context)
      : shape_(product_shape(context)),
        whole_(shape_, 1, 1, product_kernels(context)),
        cuts_(cut_matrix(shape_, whole_.block_k())),
        rounded_row_(rounded_row(shape_, cuts_, product_kernels(context))),
        rows_(context, scratch_, weight),
        biased_(context.has_input(bias)) {
    context.set_implementation(whole_.name(), whole_.isa());
    std::int64_t largest = 0;
    for (const std::int64_t depth : {cuts_.rows.size, cuts_.rows.last}) {
      for (const std::int64_t width : {cuts_.columns.size, cuts_.columns.last}) {
        pieces_.emplace_back(shape_of_piece(width, depth), 1, 1, product_kernels(context));
        workspace_ = std::max(workspace_, pieces_.back().workspace());
        largest = std::max(largest, checked_mul(width, depth));
      }
    }
    weights_bytes_ = math::bytes_of<float>(largest);
    slot_ = weights_bytes_ + math::align_up(workspace_) + 64;
    slots_ = math::ScratchPool::bytes(slot_, context.threads());
    slots_at_ = scratch_.add_bytes(slots_);
    rounded_at_ = scratch_.add<bfloat16>(shape_.m * rounded_row_);
    scratch_.request(context);
  }

  void operator()(KernelContext& call) const {
    if (shape_.m == 0 || shape_.n == 0) return;
    const DequantizedRows::Source source = rows_.source(call);
    if (rounded_row_ > 0) round_a(call);
    math::ScratchPool({Scratch::at<std::byte>(call, slots_at_), slots_}, slot_)
        .for_chunks(call.pool(), cuts_.columns.count, 1,
                    [&](std::byte* slot, std::int64_t first, std::int64_t last) {
                      for (auto i = first; i < last; ++i) run_strip(call, source, slot, i);
                    });
  }

 private:
  math::GemmShape shape_of_piece(std::int64_t width, std::int64_t depth) const {
    math::GemmShape piece = shape_;
    piece.n = width;
    piece.whole_n = shape_.n;
    piece.k = depth;
    piece.lda = rounded_row_ > 0 ? rounded_row_ : shape_.k;
    if (rounded_row_ > 0) piece.a_stored = math::Storage::bf16;
    piece.ldc = shape_.n;
    if (cuts_.rows.count > 1) piece.block_k = whole_.block_k();
    return piece;
  }

  void round_a(KernelContext& call) const {
    const float* const a = call.in<float>(0);
    auto* const rounded = Scratch::at<bfloat16>(call, rounded_at_);
    const std::int64_t grain = std::max<std::int64_t>(1, (1 << 16) / shape_.k);
    call.pool().for_chunks(shape_.m, grain, [&](std::int64_t first, std::int64_t last) {
      for (auto i = first; i < last; ++i) {
        convert_row(rounded + i * rounded_row_, a + i * shape_.k, shape_.k);
      }
    });
  }

  // a from a column on, as the products take it.
  math::Elements<const float> columns_of_a(KernelContext& call, std::int64_t column) const {
    if (rounded_row_ == 0) return call.in<float>(0) + column;
    return Scratch::at<bfloat16>(call, rounded_at_) + column;
  }

  void run_strip(KernelContext& call, const DequantizedRows::Source& source, std::byte* slot,
                 std::int64_t strip) const {
    for (std::int64_t i = 0; i < cuts_.rows.count; ++i) run_piece(call, source, slot, strip, i);
  }

  void run_piece(KernelContext& call, const DequantizedRows::Source& source, std::byte* slot,
                 std::int64_t strip, std::int64_t piece) const {
    auto* const b = reinterpret_cast<float*>(slot);
    const std::int64_t row = piece * cuts_.rows.size;
    const std::int64_t depth = cuts_.rows.size_of(piece);
    const std::int64_t column = strip * cuts_.columns.size;
    const std::int64_t width = cuts_.columns.size_of(strip);
    if (shape_.trans_b) {
      read_block(b, source, {column, width}, {row, depth}, shape_.k);
    } else {
      read_block(b, source, {row, depth}, {column, width}, shape_.n);
    }
    const bool last = piece == cuts_.rows.count - 1;
    math::GemmOptions<float> options;
    options.part = {.is_first = piece == 0, .is_last = last};
    if (biased_) options.col_bias = call.in<float>(bias) + column;
    const std::size_t which = (last ? 2 : 0) + (strip == cuts_.columns.count - 1 ? 1 : 0);
    pieces_[which].run(call.pool(), {}, columns_of_a(call, row), b, call.out<float>(0) + column,
                       options, math::Workspace{slot + weights_bytes_, workspace_});
  }

  // A range of the rows and one of the columns of b as it is stored, with `step` columns.
  struct Range {
    std::int64_t first, count;
  };
  void read_block(float* to, const DequantizedRows::Source& source, Range rows, Range columns,
                  std::int64_t step) const {
    if (columns.count == step) {
      return rows_.read(to, source, rows.first * step, (rows.first + rows.count) * step);
    }
    for (std::int64_t i = 0; i < rows.count; ++i) {
      const std::int64_t from = (rows.first + i) * step + columns.first;
      rows_.read(to + i * columns.count, source, from, from + columns.count);
    }
  }

  Scratch scratch_;
  math::GemmShape shape_;
  math::GemmPrimitive<float> whole_;  // what it would do with all of b'
  Cuts cuts_;
  std::int64_t rounded_row_;
  DequantizedRows rows_;
  // Products of the pieces, by place: neither the last of its row nor of its column; in the last
  // column; in the last row; in both.
  std::vector<math::GemmPrimitive<float>> pieces_;
  bool biased_;
  std::size_t weights_bytes_ = 0, workspace_ = 0, slot_ = 0, slots_ = 0, slots_at_ = 0,
              rounded_at_ = 0;
};

using Gemm = math::GemmPrimitive<float>;

bool has_bf16_b(const BindContext& context) {
  return !context.has_input(scale) && context.dtype(weight) == DType::bfloat16;
}

// Whether b is read where it lies and a is rounded.
bool rounds_a(const BindContext& context) {
  return has_bf16_b(context) && Gemm::takes_bf16(product_shape(context), product_kernels(context));
}

// Whether b is read where it lies.
bool reads_bf16(const BindContext& context) {
  return rounds_a(context) ||
         (has_bf16_b(context) && Gemm::widens_b(product_shape(context), product_kernels(context)));
}

bool multiplies_bytes(const BindContext& context) {
  return FrozenInt8::suits(context, weight, product_shape(context));
}

RoundedInputs rounded_inputs(const BindContext& context) {
  if (multiplies_bytes(context)) return {.read = 1};
  const std::uint32_t a = rounds_a(context) ? 1 : 0;
  return {a, a};
}

RoundedResult rounded_result(const BindContext& context) {
  if (multiplies_bytes(context)) {
    const bool rounds = math::rounds_products(product_kernels(context));
    return rounds ? RoundedResult::where_read : RoundedResult::never;
  }
  const bool rounds =
      rounds_a(context) && Gemm::rounds_result(product_shape(context), product_kernels(context));
  return rounds ? RoundedResult::where_read : RoundedResult::never;
}

Kernel bind_bf16(BindContext& context) {
  math::GemmShape shape = product_shape(context);
  Scratch scratch;
  const bool rounds = rounds_a(context);
  const StoredIn<float> a(context, scratch, 0, rounds);
  const StoredOut<float> y(context, scratch, 0, shape.m * shape.n);
  shape.a_stored = a.storage();
  shape.b_stored = math::Storage::bf16;
  shape.c_stored = y.storage();
  const Gemm gemm(shape, 1, context.threads(), product_kernels(context));
  const std::size_t work = scratch.add_bytes(gemm.workspace());
  context.set_implementation(gemm.name(), gemm.isa());
  scratch.request(context);
  const bool biased = context.has_input(bias);
  return [=](KernelContext& call) {
    gemm.run(call.pool(), {}, a(call), call.in<bfloat16>(weight), y(call),
             {.col_bias = biased ? call.in<float>(bias) : nullptr},
             Scratch::at<std::byte>(call, work));
  };
}

Kernel bind_int8(BindContext& context) {
  math::GemmShape shape = product_shape(context);
  Scratch scratch;
  const StoredIn<float> a(context, scratch, 0);
  const StoredOut<float> y(context, scratch, 0, shape.m * shape.n);
  shape.a_stored = a.storage();
  shape.c_stored = y.storage();
  auto product = std::make_shared<const FrozenInt8>(context, scratch, weight, shape);
  context.set_implementation(product->name(), product->isa());
  scratch.request(context);
  const bool biased = context.has_input(bias);
  return [=](KernelContext& call) {
    product->run(call, shape.m, a(call), y(call), biased ? call.in<float>(bias) : nullptr);
    y.store(call);
  };
}

Kernel bind(BindContext& context) {
  if (multiplies_bytes(context)) return bind_int8(context);
  if (reads_bf16(context)) return bind_bf16(context);
  if (auto stored = StoredProduct::of(context, product_shape(context))) {
    context.set_implementation(StoredProduct::name, math::isa_name(math::simd_tables()));
    return [product = std::make_shared<const StoredProduct>(*stored)](KernelContext& call) {
      (*product)(call);
    };
  }
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

extern const OpDef dequantize_matmul{
    .name = "DequantizeMatMul",
    .domain = ondine_domain,
    .infer = infer,
    .bind = bind,
    .expand = expand,
    .no_gradient = any_input,
    .rounded = {.inputs = rounded_inputs, .result = rounded_result}};

}  // namespace ondine::kernels::ops
