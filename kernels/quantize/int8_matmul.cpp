// Int8MatMul (ai.ondine): (a, zero point of a, b, zero point of b[, bias[, scale of a, of b, of y,
// zero point of y]]) -> the product of a - za and b - zb plus the bias, exact in int32, which wraps
// around; with scales as requantize.h says, with the activation that `activation` names (Relu,
// Relu6). transB: b is stored transposed. MatMulInteger, QLinearMatMul and quantized Gemm nodes
// expand into it. No derivative.
#include "kernels/common/op.h"
#include "kernels/common/scratch_pool.h"
#include "kernels/matmul/fused_activation.h"
#include "kernels/matmul/matmul.h"
#include "kernels/quantize/int8_operands.h"
#include "kernels/quantize/packed_int8.h"
#include "kernels/quantize/requantize.h"
#include "kernels/simd/matmul/int8_gemm_table.h"
#include "kernels/simd/tables.h"

namespace ondine::kernels::ops {
namespace {

constexpr std::size_t first_scale = 5;

bool is_transposed(const NodeView& node) { return node.attr_int("transB", 0) != 0; }

// Kernels read as many elements as there are rows and columns.
void check_parameters(const InferContext& context) {
  const int columns = is_transposed(context) ? -2 : -1;
  for (const std::size_t i : {std::size_t{1}, first_scale}) {
    check_product_parameter(context, i, 0, -2, "rows of a and of its scale or zero point");
  }
  for (const std::size_t i : {std::size_t{3}, first_scale + 1}) {
    check_product_parameter(context, i, 2, columns, "columns of b and of its scale or zero point");
  }
  check_result_parameters(context, first_scale + 2);
  if (!context.has_input(4) || !context.ranked(4) || !context.ranked(2)) return;
  const Dims& b = context.dims(2);
  unify(product(context.dims(4)), b.size() < 2 ? Dim(1) : b.end()[columns],
        "elements of the bias and columns of b");
}

void infer(InferContext& context) {
  check_parameters(context);
  const DType result = context.has_input(8) ? context.dtype(8) : DType::int32;
  if (!context.ranked(0) || !context.ranked(2)) {
    return context.set_output(0, result, std::nullopt);
  }
  context.set_output(0, result,
                     matmul_dims(context.dims(0), context.dims(2), false, is_transposed(context)));
}

std::int32_t wrapped(std::int64_t x) { return static_cast<std::int32_t>(x); }

class Product {
 public:
  explicit Product(BindContext& context)
      : gemm_(*math::int8_gemm_implementations(math::simd_tables()).first),
        rows_(*math::simd_tables().quantize),
        batches_(matmul_batches(context.shape(0), context.shape(2), false, is_transposed(context))),
        a_flip_(flip_to_signed(context.dtype(0))),
        packed_(gemm_, shape().k, shape().n, flip_to_unsigned(context.dtype(2))),
        za_(context, scratch_, 1, context.dtype(0), true),
        zb_(context, scratch_, 3, context.dtype(2), false),
        epilogue_(context, scratch_, first_scale),
        biased_(context.has_input(4)) {
    context.set_implementation(gemm_.name, gemm_.isa);
    const Shape a = context.shape(0);
    matrix_rows_ = a.rank() < 2 ? 1 : std::max<std::int64_t>(1, a[a.rank() - 2]);
    const Tensor* b = context.constant(2);
    if (b != nullptr && context.rank(2) <= 2 && batches_.count == 1) pack_constant(*b);
    if (!constant_) b_at_ = scratch_.add_bytes(packed_.bytes());
    columns_at_ = scratch_.add<std::int32_t>(width());
    scales_at_ = scratch_.add<float>(width());
    tile_columns_ = std::min(max_columns, width());
    a_bytes_ = math::bytes_of<std::byte>(max_rows * shape().k + 64);
    c_bytes_ = math::bytes_of<std::int32_t>(max_rows * tile_columns_);
    slot_ = a_bytes_ + c_bytes_ + math::bytes_of<float>(tile_columns_);
    slots_ = math::ScratchPool::bytes(slot_, context.threads());
    slots_at_ = scratch_.add_bytes(slots_);
    scratch_.request(context);
  }

  void operator()(KernelContext& call) const {
    if (shape().m == 0 || shape().n == 0) return;
    const std::int32_t* const za = za_.read(call);
    const std::int32_t* const zb = zb_.read(call);
    const Int8Epilogue::Values values = epilogue_.read(call);
    auto* const columns = Scratch::at<std::int32_t>(call, columns_at_);
    auto* const scales = Scratch::at<float>(call, scales_at_);
    if (epilogue_.quantizes()) {
      for (std::int64_t j = 0; j < shape().n; ++j) scales[j] = values.scale(0, j);
    }
    for (std::int64_t batch = 0; batch < batches_.count; ++batch) {
      const auto at = static_cast<std::size_t>(batch);
      const std::byte* b = constant_ ? static_cast<const std::byte*>(constant_->data()) : nullptr;
      if (b == nullptr) {
        auto* to = Scratch::at<std::byte>(call, b_at_);
        pack(to, call.in<std::uint8_t>(2) + batches_.b[at]);
        b = to;
      }
      const std::int32_t* const sums = packed_.sums(b);
      for (std::int64_t j = 0; j < shape().n; ++j) {
        const std::int64_t shift = za_.count() > 1 ? 0 : std::int64_t{za[0]} * sums[j];
        columns[j] = wrapped((biased_ ? call.in<std::int32_t>(4)[j] : 0) - shift);
      }
      const Call one{call.in<std::uint8_t>(0) + batches_.a[at],
                     b,
                     sums,
                     za,
                     zb,
                     columns,
                     scales,
                     values,
                     batch * shape().m * shape().n};
      run(call, one);
    }
  }

 private:
  static constexpr std::int64_t max_rows = 48;
  static constexpr std::int64_t max_columns = 512;

  struct Call {
    const std::uint8_t* a;
    const std::byte* b;
    const std::int32_t* sums;  // of the columns of b
    const std::int32_t* za;
    const std::int32_t* zb;
    const std::int32_t* columns;
    const float* scales;
    const Int8Epilogue::Values& values;
    std::int64_t offset;  // of the results
  };

  const math::GemmShape& shape() const { return batches_.shape; }
  std::int64_t width() const { return packed_.width(); }

  void pack(std::byte* to, const std::uint8_t* b) const {
    const auto& s = shape();
    packed_.pack(to, b, s.trans_b ? 1 : s.n, s.trans_b ? s.k : 1);
  }
  void pack_constant(const Tensor& b) {
    constant_ =
        std::make_shared<Tensor>(DType::uint8, Shape{static_cast<std::int64_t>(packed_.bytes())});
    pack(static_cast<std::byte*>(constant_->mutable_data()),
         static_cast<const std::uint8_t*>(b.data()));
  }

  void run(KernelContext& call, const Call& one) const {
    const std::int64_t down = (shape().m + max_rows - 1) / max_rows;
    const std::int64_t across = (shape().n + tile_columns_ - 1) / tile_columns_;
    const std::int64_t work = std::min(shape().m, max_rows) * tile_columns_ * shape().k;
    const std::int64_t grain = std::max<std::int64_t>(1, (std::int64_t{1} << 22) / (work + 1));
    math::ScratchPool({Scratch::at<std::byte>(call, slots_at_), slots_}, slot_)
        .for_chunks(call.pool(), down * across, grain,
                    [&](std::byte* slot, std::int64_t first, std::int64_t last) {
                      for (auto tile = first; tile < last; ++tile) {
                        run_tile(call, one, slot, tile / across * max_rows,
                                 tile % across * tile_columns_);
                      }
                    });
  }

  void run_tile(KernelContext& call, const Call& one, std::byte* slot, std::int64_t i,
                std::int64_t j) const {
    const std::int64_t k = shape().k;
    const std::int64_t rows = std::min(max_rows, shape().m - i);
    const std::int64_t columns = std::min(tile_columns_, shape().n - j);
    auto* const a = reinterpret_cast<std::int8_t*>(slot);
    auto* const c = reinterpret_cast<std::int32_t*>(slot + a_bytes_);
    std::int32_t sums[max_rows];
    for (std::int64_t r = 0; r < rows; ++r) {
      sums[r] = gemm_.sign_row(a + r * k, one.a + (i + r) * k, k, a_flip_);
    }
    gemm_.run({rows, columns, k, a, k, packed_.panels(one.b, j), c, tile_columns_});
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t matrix_row = (i + r) % matrix_rows_;
      const std::int64_t za = one.za[za_.count() > 1 ? matrix_row : 0];
      const std::int64_t centred = sums[r] - k * za;
      std::int32_t* const row = c + r * tile_columns_;
      if (zb_.count() > 1) gemm_.add_scaled(row, wrapped(-centred), one.zb + j, columns);
      if (za_.count() > 1) gemm_.add_scaled(row, wrapped(-za), one.sums + j, columns);
      const std::int32_t add = zb_.count() > 1 ? 0 : wrapped(-one.zb[0] * centred);
      store(call, one, slot,
            {row, matrix_row, j, columns, add, one.offset + (i + r) * shape().n + j});
    }
  }

  struct Row {
    const std::int32_t* sums;
    std::int64_t matrix_row, j, columns;
    std::int32_t add;
    std::int64_t offset;
  };
  void store(KernelContext& call, const Call& one, std::byte* slot, const Row& row) const {
    if (!epilogue_.quantizes()) {
      auto* y = call.out<std::int32_t>(0) + row.offset;
      const std::int32_t* const columns = one.columns + row.j;
      for (std::int64_t j = 0; j < row.columns; ++j) {
        y[j] = wrapped(std::int64_t{row.sums[j]} + columns[j] + row.add);
      }
      return;
    }
    const float* scales = one.scales + row.j;
    if (one.values.a_count > 1) {
      auto* to = reinterpret_cast<float*>(slot + a_bytes_ + c_bytes_);
      for (std::int64_t j = 0; j < row.columns; ++j) {
        to[j] = one.values.scale(row.matrix_row, row.j + j);
      }
      scales = to;
    }
    rows_.requantize(call.out<std::uint8_t>(0) + row.offset, row.sums,
                     {row.add, one.columns + row.j, scales, true, one.values.lowest,
                      one.values.highest, one.values.zero_point},
                     row.columns);
  }

  const math::Int8GemmKernels& gemm_;
  const math::QuantizeKernels& rows_;
  Scratch scratch_;
  MatmulBatches batches_;
  std::uint8_t a_flip_;
  PackedInt8 packed_;
  ZeroPoints za_, zb_;
  Int8Epilogue epilogue_;
  bool biased_;
  std::int64_t matrix_rows_ = 1;      // of one matrix of a
  std::shared_ptr<Tensor> constant_;  // b, packed, where it is constant
  std::int64_t tile_columns_ = 0;
  std::size_t b_at_ = 0, columns_at_ = 0, scales_at_ = 0;
  std::size_t a_bytes_ = 0, c_bytes_ = 0, slot_ = 0, slots_ = 0, slots_at_ = 0;
};

Kernel bind(BindContext& context) {
  return [product = std::make_shared<const Product>(context)](KernelContext& call) {
    (*product)(call);
  };
}

// Rows of a matrix have their parameter as a column.
Val over_rows(Val p) {
  if (!p || !p.ranked() || p.rank() != 1 || p.dims()[0].same(Dim(1))) return p;
  return graph::unsqueeze(p, {1});
}

std::vector<Val> expand(ExpandContext& context) {
  const DType compute = DType::float64;
  Val b = centred(context.x(2), context.x(3), compute);
  if (is_transposed(context))
    b = centred(graph::transpose(context.x(2), {1, 0}), context.x(3), compute);
  Val y = graph::matmul(centred(context.x(0), over_rows(context.x(1)), compute), b);
  if (context.x(4)) y = y + graph::cast(context.x(4), compute);
  if (!context.x(first_scale)) return {graph::cast(y, DType::int32)};
  const Val scale =
      graph::cast(over_rows(context.x(5)), compute) * graph::cast(context.x(6), compute);
  return {requantize(y, scale, context.x(7), context.x(8), fused_activation(context))};
}

}  // namespace

extern const OpDef int8_matmul{.name = "Int8MatMul",
                               .domain = ondine_domain,
                               .infer = infer,
                               .bind = bind,
                               .expand = expand,
                               .no_gradient = any_input};

}  // namespace ondine::kernels::ops
