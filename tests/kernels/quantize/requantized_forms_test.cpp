// Integer products in operators of the standard give what their kernels give, with each result and
// activation.
#include <catch2/catch.hpp>

#include "tests/kernels/common/numbers.h"
#include "tests/support/standard_form.h"

using namespace ondine;
using namespace ondine::test;

namespace {

Tensor bytes(const Shape& shape, std::uint64_t seed, DType dtype) {
  const bool is_signed = dtype == DType::int8;
  return as_dtype(random_tensor(shape, seed, is_signed ? -128 : 0, is_signed ? 127 : 255), dtype);
}

Tensor zero(DType dtype, double value) { return as_dtype(Tensor::of<double>({}, {value}), dtype); }

}  // namespace

TEST_CASE("integer products have a standard form with rounding, activation and bounds") {
  for (const DType result : {DType::uint8, DType::int8}) {
    for (const std::string activation : {"", "Relu", "Relu6"}) {
      // Scales at which results lie within the range, and beyond it.
      for (const float y_scale : {0.05F, 0.9F, 40.0F}) {
        CAPTURE(result, activation, y_scale);
        graph::Attributes attributes;
        if (!activation.empty()) attributes = {{"activation", activation}};
        const Tensor middle = zero(result, result == DType::int8 ? -3 : 120);
        const std::vector<Value> scales{Tensor::scalar(0.02F), Tensor::scalar(0.03F),
                                        Tensor::scalar(y_scale), middle};
        std::vector<Value> product{bytes({4, 6}, 1, DType::uint8), zero(DType::uint8, 128),
                                   bytes({6, 5}, 2, DType::int8), zero(DType::int8, 2), Value()};
        product.insert(product.end(), scales.begin(), scales.end());
        check_standard_form({"Int8MatMul", product, attributes});
        std::vector<Value> windows{bytes({2, 3, 5, 4}, 3, DType::uint8), zero(DType::uint8, 128),
                                   bytes({2, 3, 2, 2}, 4, DType::int8), zero(DType::int8, 0),
                                   Value()};
        windows.insert(windows.end(), scales.begin(), scales.end());
        check_standard_form({"Int8Conv", windows, attributes});
      }
    }
  }
}
