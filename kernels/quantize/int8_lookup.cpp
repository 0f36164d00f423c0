// Int8Lookup (ai.ondine): (x, table) -> y[i] = table[x[i]], an element of 8 bits being the index
// that its bits are as an unsigned number. No derivative.
#include "kernels/common/grain.h"
#include "kernels/common/op.h"
#include "kernels/simd/quantize/quantize_table.h"
#include "kernels/simd/tables.h"

namespace ondine::kernels::ops {
namespace {

bool is_byte(DType dtype) { return dtype == DType::int8 || dtype == DType::uint8; }

void infer(InferContext& context) {
  if (!is_byte(context.dtype(0)) || !is_byte(context.dtype(1))) {
    context.reject("x and table must be int8 or uint8");
  }
  if (context.ranked(1) && !(context.rank(1) == 1 && context.dims(1)[0].same(Dim(256)))) {
    context.reject("table must have 256 elements");
  }
  context.set_output(0, context.dtype(1), context.input(0).dims);
}

Kernel bind(BindContext& context) {
  const math::SimdTables& kernels = math::simd_tables();
  context.set_implementation("quantized_rows", isa_name(kernels));
  const std::int64_t size = context.shape(0).size();
  return [size, look_up = kernels.quantize->look_up](KernelContext& call) {
    call.pool().for_chunks(
        size, math::elementwise_grain, [&](std::int64_t first, std::int64_t last) {
          look_up(call.out<std::uint8_t>(0) + first, call.in<std::uint8_t>(0) + first,
                  call.in<std::uint8_t>(1), last - first);
        });
  };
}

// A negative index counts from the end, as the bits of a negative byte do.
std::vector<Val> expand(ExpandContext& context) {
  return {graph::gather(context.x(1), graph::cast(context.x(0), DType::int64), 0)};
}

}  // namespace

extern const OpDef int8_lookup{.name = "Int8Lookup",
                               .domain = ondine_domain,
                               .infer = infer,
                               .bind = bind,
                               .expand = expand,
                               .no_gradient = any_input};

}  // namespace ondine::kernels::ops
