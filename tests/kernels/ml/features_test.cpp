#include <cmath>
#include <limits>

#include "tests/kernels/common/numbers.h"
#include "tests/kernels/text/texts.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Int64s = std::vector<std::int64_t>;
using Floats = std::vector<float>;

OpCase ml(const std::string& op, std::vector<Value> inputs, graph::Attributes attributes = {}) {
  return {.op = op,
          .inputs = std::move(inputs),
          .attributes = std::move(attributes),
          .domain = "ai.onnx.ml",
          .version = 1};
}

const std::vector<DType> dtypes{DType::float32, DType::float64, DType::int64, DType::int32};
// The outputs are floats: differences are taken over larger steps.
const GradientCheck rough{.order = 1, .closeness = {2e-2, 2e-3}, .step = 2e-2};

Tensor floats(const Tensor& x) { return as_dtype(x, DType::float32); }

}  // namespace

TEST_CASE("Binarizer compares with a threshold") {
  for (const DType dtype : dtypes) {
    INFO(to_string(dtype));
    const Tensor x = numbers({2, 3}, {-1, 0, 1, 2, 3, 4}, dtype);
    check_close(run_op_tensor(ml("Binarizer", {x})), numbers({2, 3}, {0, 0, 1, 1, 1, 1}, dtype));
    check_close(run_op_tensor(ml("Binarizer", {x}, {{"threshold", 2.5F}})),
                numbers({2, 3}, {0, 0, 0, 0, 1, 1}, dtype));
    CHECK(run_op_tensor(ml("Binarizer", {Tensor(dtype, {0})})).size() == 0);
  }
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(run_op_tensor(ml("Binarizer", {Tensor::scalar(nan)})).item<double>() == 0);
}

TEST_CASE("ArrayFeatureExtractor takes elements of the last axis") {
  const Tensor y = Tensor::of<std::int64_t>({1, 3}, Int64s{2, 0, 2});
  for (const DType dtype : dtypes) {
    check_close(
        run_op_tensor(ml("ArrayFeatureExtractor", {numbers({2, 3}, {0, 1, 2, 3, 4, 5}, dtype), y})),
        numbers({2, 3}, {2, 0, 2, 5, 3, 5}, dtype));
  }
  CHECK(run_op_tensor(ml("ArrayFeatureExtractor", {texts({"a", "b", "c"}), y}))
            .identical(texts({1, 3}, {"c", "a", "c"})));
  check_close(run_op_tensor(ml("ArrayFeatureExtractor", {iota({2, 2, 3}), int64s({1})})),
              numbers({2, 2, 1}, {1, 4, 7, 10}, DType::float32));
  CHECK(run_op_tensor(ml("ArrayFeatureExtractor", {iota({2, 3}), Tensor(DType::int64, {0})}))
            .shape() == Shape{2, 0});
  check_gradient(ml("ArrayFeatureExtractor", {random_tensor({2, 3}, 1), y}));
  check_gradient(ml("ArrayFeatureExtractor", {random_tensor({3}, 2), y}));
  check_refused(ml("ArrayFeatureExtractor", {Tensor::scalar(1.0F), y}), ErrorCode::mismatch,
                "found a scalar");
}

TEST_CASE("FeatureVectorizer puts inputs side by side as floats") {
  for (const DType dtype : dtypes) {
    const Tensor a = numbers({2, 2}, {1, 2, 3, 4}, dtype);
    const Tensor b = numbers({2, 1}, {5, 6}, dtype);
    check_close(run_op_tensor(ml("FeatureVectorizer", {a, b}, {{"inputdimensions", Int64s{2, 1}}})),
                numbers({2, 3}, {1, 2, 5, 3, 4, 6}, DType::float32));
  }
  check_close(run_op_tensor(ml("FeatureVectorizer", {iota({2}), iota({1, 3})})),
              numbers({1, 5}, {0, 1, 0, 1, 2}, DType::float32));
  CHECK(run_op_tensor(ml("FeatureVectorizer", {Tensor(DType::float32, {0, 2})})).shape() ==
        Shape{0, 2});
  check_gradient(ml("FeatureVectorizer", {random_tensor({2, 2}, 1), random_tensor({2, 1}, 2)}),
                 rough);
  const auto refused = [](std::vector<Value> inputs, Int64s sizes, ErrorCode code,
                          const std::string& part) {
    check_refused(ml("FeatureVectorizer", std::move(inputs), {{"inputdimensions", sizes}}), code,
                  part);
  };
  refused({iota({2, 2})}, {3}, ErrorCode::mismatch, "inputdimensions");
  refused({iota({2, 2})}, {2, 2}, ErrorCode::invalid_model, "needed: 1");
  refused({iota({2, 2}), iota({3, 1})}, {2, 1}, ErrorCode::mismatch, "rows");
  refused({iota({1, 2, 2})}, {2}, ErrorCode::mismatch, "[N, C] or [C]");
}

TEST_CASE("Imputer replaces one value") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const DType dtype : {DType::float32, DType::float64}) {
    const Tensor x = numbers({2, 2}, {1, nan, nan, 4}, dtype);
    check_close(
        run_op_tensor(ml("Imputer", {x},
                         {{"imputed_value_floats", Floats{7, 8}}, {"replaced_value_float", nan}})),
        numbers({2, 2}, {1, 8, 7, 4}, dtype));
    check_close(
        run_op_tensor(ml("Imputer", {x},
                         {{"imputed_value_floats", Floats{5}}, {"replaced_value_float", 4.0F}})),
        numbers({2, 2}, {1, nan, nan, 5}, dtype));
  }
  for (const DType dtype : {DType::int64, DType::int32}) {
    check_close(run_op_tensor(ml("Imputer", {numbers({3}, {0, 1, 0}, dtype)},
                                 {{"imputed_value_int64s", Int64s{-3, 4, 6}}})),
                numbers({3}, {-3, 1, 6}, dtype));
    CHECK(
        run_op_tensor(ml("Imputer", {Tensor(dtype, {0, 2})}, {{"imputed_value_int64s", Int64s{1}}}))
            .shape() == Shape{0, 2});
  }
  Tensor x = random_tensor({2, 3}, 1);
  x.mutable_values<double>()[4] = 0;
  const Tensor kept = run_op_tensor(ml("Imputer", {x}, {{"imputed_value_floats", Floats{9}}}));
  CHECK(kept.values<double>()[4] == 9);
  check_gradient(ml("Imputer", {random_tensor({2, 3}, 1)}, {{"imputed_value_floats", Floats{9}}}));
  check_refused(ml("Imputer", {iota({2, 3})}, {{"imputed_value_floats", Floats{1, 2}}}),
                ErrorCode::mismatch, "2 imputed values for x of shape [2, 3]");
  check_refused(ml("Imputer", {iota({2, 3})}), ErrorCode::mismatch, "0 imputed values");
}

TEST_CASE("Scaler moves and scales features") {
  for (const DType dtype : dtypes) {
    const Tensor x = numbers({2, 3}, {1, 2, 3, 4, 5, 6}, dtype);
    check_close(run_op_tensor(ml("Scaler", {x},
                                 {{"offset", Floats{1, 0, -1}}, {"scale", Floats{2, 0.5F, 1}}})),
                numbers({2, 3}, {0, 1, 4, 6, 2.5, 7}, DType::float32));
    check_close(run_op_tensor(ml("Scaler", {x}, {{"offset", Floats{1}}, {"scale", Floats{3}}})),
                numbers({2, 3}, {0, 3, 6, 9, 12, 15}, DType::float32));
    check_close(run_op_tensor(ml("Scaler", {x})), floats(numbers({2, 3}, {1, 2, 3, 4, 5, 6})));
  }
  check_gradient(
      ml("Scaler", {random_tensor({2, 2}, 1)}, {{"offset", Floats{1}}, {"scale", Floats{2, 3}}}),
      rough);
  check_refused(ml("Scaler", {iota({2, 3})}, {{"scale", Floats{1, 2}}}), ErrorCode::mismatch,
                "2 scales and 1 offsets for x of shape [2, 3]");
}

TEST_CASE("Normalizer divides each row by its size") {
  const std::vector<double> x{1, -2, 3, 0, 0, 0, -1, -2, -4};
  for (const std::string norm : {"MAX", "L1", "L2"}) {
    std::vector<double> want;
    for (std::size_t r = 0; r < 3; ++r) {
      double largest = x[3 * r], sum = 0, squares = 0;
      for (std::size_t c = 0; c < 3; ++c) {
        largest = std::max(largest, x[3 * r + c]);
        sum += std::abs(x[3 * r + c]);
        squares += x[3 * r + c] * x[3 * r + c];
      }
      const double size = norm == "MAX" ? largest : norm == "L1" ? sum : std::sqrt(squares);
      for (std::size_t c = 0; c < 3; ++c) want.push_back(x[3 * r + c] / (size == 0 ? 1 : size));
    }
    for (const DType dtype : dtypes) {
      INFO(norm << " " << to_string(dtype));
      check_close(run_op_tensor(ml("Normalizer", {numbers({3, 3}, x, dtype)}, {{"norm", norm}})),
                  numbers({3, 3}, want, DType::float32));
    }
    CHECK(run_op_tensor(ml("Normalizer", {Tensor(DType::float32, {0, 3})}, {{"norm", norm}}))
              .shape() == Shape{0, 3});
    check_close(
        run_op_tensor(ml("Normalizer", {Tensor::of<float>({2}, Floats{0, 2})}, {{"norm", norm}})),
        numbers({2}, {0, 1}, DType::float32));
    check_gradient(ml("Normalizer", {random_tensor({2, 3}, 3, 0.5, 2)}, {{"norm", norm}}), rough);
  }
  check_refused(ml("Normalizer", {iota({2})}, {{"norm", std::string("L3")}}),
                ErrorCode::invalid_model, "'L3'");
  check_refused(ml("Normalizer", {iota({1, 2, 1})}), ErrorCode::mismatch, "[N, C] or [C]");
}
