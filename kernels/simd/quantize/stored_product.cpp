// Every column is summed in an order that only k and the blocks decide, so that chunks of any
// columns give the same bits.
#include "kernels/simd/quantize/stored_product.h"

#include "kernels/simd/quantize/stored_dots.h"
#include "kernels/simd/quantize/stored_strips.h"

namespace ondine::math::ONDINE_ISA {
namespace {

template <StoredAs As>
void run_as(const StoredProductCall& call) {
  call.b->by_columns ? run_by_dots<As>(call) : run_by_strips<As>(call);
}

void run(const StoredProductCall& call) {
  switch (call.b->as) {
    case StoredAs::signed_bytes:
      return run_as<StoredAs::signed_bytes>(call);
    case StoredAs::unsigned_bytes:
      return run_as<StoredAs::unsigned_bytes>(call);
    case StoredAs::nibbles:
      return run_as<StoredAs::nibbles>(call);
  }
}

}  // namespace

constinit const StoredProductKernels stored_product = {&run, strip_columns, has_any_levels};

}  // namespace ondine::math::ONDINE_ISA
