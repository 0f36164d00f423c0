// dequantize_gather.cpp — DequantizeGather (ai.ondine): (indices, b[, scale[, zero point]]) -> the
// rows of the matrix b' that `indices` names, as Gather with axis 0 does, b' being what
// DequantizeLinear makes of b with the attributes axis and block_size; without a scale b is float16
// or bfloat16. b may be packed (stored_matrix.h), and with the attribute levels its elements are
// indices of 16 numbers that the scale multiplies. The result is float32. Only the rows that are
// read are dequantized. No derivative: fuse_quantized makes the operator of frozen tables, after
// differentiation.
#include "kernels/common/index_input.h"
#include "kernels/quantize/dequantized_rows.h"

namespace ondine::kernels::ops {
namespace {

constexpr std::size_t table = 1;

void infer(InferContext& context) {
  check_dequantized(context, table);
  const auto b = matrix_dims(context, table);
  if (!context.ranked(0) || !b) return context.set_output(0, DType::float32, std::nullopt);
  if (b->size() != 2) context.reject("a table of shape ", to_string(*b), ", needed: a matrix");
  Dims y = context.dims(0);
  y.push_back((*b)[1]);
  context.set_output(0, DType::float32, std::move(y));
}

Kernel bind(BindContext& context) {
  const Shape b = matrix_shape(context, table);
  Scratch scratch;
  const DequantizedRows rows(context, scratch, table);
  const IndexInput indices(context, 0, scratch.add<std::int64_t>(context.shape(0).size()));
  scratch.request(context);
  const std::int64_t width = b[1];
  const std::int64_t grain = std::max<std::int64_t>(1, 8192 / std::max<std::int64_t>(1, width));
  return [=](KernelContext& call) {
    const std::int64_t* const index = indices.read(call, b[0]);
    const DequantizedRows::Source source = rows.source(call);
    auto* const to = call.out<float>(0);
    call.pool().for_chunks(indices.count(), grain, [&](std::int64_t first, std::int64_t last) {
      for (auto i = first; i < last; ++i) {
        rows.read(to + i * width, source, index[i] * width, (index[i] + 1) * width);
      }
    });
  };
}

std::vector<Val> expand(ExpandContext& context) {
  return {graph::gather(dequantize(context, table), context.x(0), 0)};
}

}  // namespace

extern const OpDef dequantize_gather{.name = "DequantizeGather",
                                     .domain = ondine_domain,
                                     .infer = infer,
                                     .bind = bind,
                                     .expand = expand,
                                     .no_gradient = any_input};

}  // namespace ondine::kernels::ops
