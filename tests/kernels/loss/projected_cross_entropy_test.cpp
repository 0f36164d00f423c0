// The loss of a product by itself: against SoftmaxCrossEntropyLoss of the product.
#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;

namespace {

constexpr std::int64_t ignored = -5;

struct Rows {
  Shape rows;  // [..., depth]
  std::int64_t classes;
};

// Every third label is ignored where `some` says so.
Tensor labels(const Shape& rows, std::int64_t classes, bool some) {
  Shape shape(std::vector<std::int64_t>(rows.begin(), rows.end() - 1));
  Tensor t(DType::int64, shape);
  auto values = t.mutable_values<std::int64_t>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = some && i % 3 == 1 ? ignored : static_cast<std::int64_t>(i * 7 + 1) % classes;
  }
  return t;
}

// Whole numbers from 0 to 6.
Tensor small_numbers(DType dtype, const Shape& shape, std::uint64_t seed) {
  const Tensor floats = random_floats(shape, seed, 0, 6.9F);
  Tensor t(dtype, shape);
  auto* const to = static_cast<std::uint8_t*>(t.mutable_data());
  for (std::size_t i = 0; i < floats.values<float>().size(); ++i) {
    to[i] = static_cast<std::uint8_t>(floats.values<float>()[i]);
  }
  return t;
}

OpCase projected(const Rows& rows, bool transposed, const std::string& reduction, bool ignoring,
                 std::size_t outputs = 2) {
  const std::int64_t depth = *(rows.rows.end() - 1);
  const Shape w = transposed ? Shape{rows.classes, depth} : Shape{depth, rows.classes};
  graph::Attributes attributes{{"reduction", reduction}};
  if (transposed) attributes.emplace_back("transposed", 1L);
  if (ignoring) attributes.emplace_back("ignore_index", ignored);
  return {
      "ProjectedCrossEntropy",
      {random_tensor(rows.rows, 1), labels(rows.rows, rows.classes, ignoring), random_tensor(w, 2)},
      attributes,
      outputs,
      "ai.ondine"};
}

// Loss and gradient of h, computed in steps by Gemm and the standard's loss.
std::vector<Value> whole(const OpCase& op_case) {
  const Tensor h = op_case.inputs[0].tensor();
  const Tensor target = op_case.inputs[1].tensor();
  const std::int64_t depth = h.shape().span().back();
  const bool transposed = graph::find(op_case.attributes, "transposed") != nullptr;
  graph::Attributes attributes;
  for (const auto& one : op_case.attributes) {
    if (one.name != "transposed") attributes.push_back(one);
  }
  const Tensor rows = h.reshaped({h.size() / depth, depth});
  const Tensor flat = target.reshaped({target.size()});
  const Tensor scores =
      run_op_tensor({"Gemm", {rows, op_case.inputs[2]}, {{"transB", transposed ? 1L : 0L}}});
  const auto loss = run_op({"SoftmaxCrossEntropyLoss", {scores, flat}, attributes, 2});
  const Tensor one = Tensor::scalar(1.0);
  const Tensor dscores = run_op_tensor(
      {"SoftmaxCrossEntropyLossGrad", {one, loss[1], flat}, attributes, 1, "ai.ondine"});
  const Tensor dh =
      run_op_tensor({"Gemm", {dscores, op_case.inputs[2]}, {{"transB", transposed ? 0L : 1L}}});
  return {loss[0], dh.reshaped(h.shape())};
}

// Fewer rows than are computed at once, more, and a last part of one row.
const std::vector<Rows> cases{{{5, 3}, 7}, {{2, 9, 4}, 33}, {{257, 2}, 5}, {{2, 3, 2, 4}, 6}};

}  // namespace

TEST_CASE("the loss of a product is that of its scores") {
  for (const Rows& rows : cases) {
    for (const bool transposed : {false, true}) {
      for (const std::string reduction : {"sum", "mean"}) {
        for (const bool ignoring : {false, true}) {
          INFO(rows.rows.to_string() << " " << transposed << reduction << ignoring);
          const OpCase one = projected(rows, transposed, reduction, ignoring);
          const auto expected = whole(one);
          const auto found = run_op(one);
          check_close(found[0].tensor(), expected[0].tensor());
          check_close(found[1].tensor(), expected[1].tensor());
          check_close(run_op_tensor(projected(rows, transposed, reduction, ignoring, 1)),
                      expected[0].tensor());
        }
      }
    }
  }
}

TEST_CASE("derivatives of the loss of a product, to the second order") {
  for (const bool transposed : {false, true}) {
    for (const bool ignoring : {false, true}) {
      check_gradient(projected({{2, 3, 4}, 5}, transposed, "mean", ignoring, 1),
                     {.variants = false});
      check_gradient(projected({{4, 3}, 5}, transposed, "sum", ignoring), {.variants = false});
      check_gradient(projected({{4, 3}, 5}, transposed, "mean", ignoring, 3), {.variants = false});
    }
  }
}

TEST_CASE("the loss of a product has the same bits for every number of rows beside it") {
  const OpCase all = projected({{40, 8}, 70}, false, "sum", false);
  const auto together = run_op(all);
  OpCase first = all;
  Tensor rows(DType::float64, {1, 8});
  std::copy_n(all.inputs[0].tensor().values<double>().begin(), 8,
              rows.mutable_values<double>().begin());
  first.inputs[0] = rows;
  first.inputs[1] = labels({1, 8}, 70, false);
  const Tensor alone = run_op(first)[1].tensor();
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(alone.values<double>()[i] == together[1].tensor().values<double>()[i]);
  }
}

TEST_CASE("where no label counts, the sum is 0 and nothing has a derivative") {
  OpCase none = projected({{3, 2}, 4}, false, "sum", true);
  none.inputs[1] = Tensor::of<std::int64_t>({3}, {ignored, ignored, ignored});
  const auto found = run_op(none);
  CHECK(found[0].tensor().values<double>()[0] == 0);
  check_close(found[1].tensor(), Tensor(DType::float64, {3, 2}));
}

TEST_CASE("the loss of a product takes its matrix as DequantizeLinear does, in several blocks") {
  const DType dtype = GENERATE(DType::int8, DType::uint8, DType::int4);
  const bool transposed = GENERATE(false, true);
  const std::int64_t axis = GENERATE(0, 1);
  const bool shifted = GENERATE(false, true);
  constexpr std::int64_t depth = 600;
  constexpr std::int64_t classes = 1770;
  constexpr std::int64_t block = 32;
  const Shape shape = transposed ? Shape{classes, depth} : Shape{depth, classes};
  Shape scales = shape;
  (axis == 0 ? scales = {(shape[0] + block - 1) / block, shape[1]}
             : scales = {shape[0], (shape[1] + block - 1) / block});
  const Tensor scale = random_floats(scales, 3, 0.01F, 0.03F);
  const Value zero = shifted ? Value(small_numbers(dtype, scales, 5)) : Value();
  const Tensor w = small_numbers(dtype, shape, 4);
  const graph::Attributes stored{{"axis", axis}, {"block_size", block}};
  graph::Attributes loss{{"ignore_index", ignored}, {"transposed", std::int64_t{transposed}}};
  const Tensor h = random_floats({20, depth}, 1);
  const Tensor target = labels({20, depth}, classes, true);
  const Tensor whole = run_op_tensor({"DequantizeLinear", {w, scale, zero}, stored});
  const auto want = run_op({"ProjectedCrossEntropy", {h, target, whole}, loss, 3, "ai.ondine"});
  loss.insert(loss.end(), stored.begin(), stored.end());
  const OpCase one{"ProjectedCrossEntropy", {h, target, w, scale, zero}, loss, 3, "ai.ondine"};
  const auto got = run_op(one);
  for (std::size_t i = 0; i < 3; ++i) check_close(got[i].tensor(), want[i].tensor(), {1e-4, 1e-5});
}

TEST_CASE("the loss of a product widens a matrix of float16") {
  const Tensor h = random_floats({5, 40}, 1);
  const Tensor target = labels({5, 40}, 50, true);
  const Tensor w = random_floats({40, 50}, 2);
  const graph::Attributes attributes{{"ignore_index", ignored}};
  const auto to = [](const Tensor& x, DType dtype) {
    return run_op_tensor({"Cast", {x}, {{"to", static_cast<std::int64_t>(dtype)}}});
  };
  const Tensor narrow = to(w, DType::float16);
  const auto got =
      run_op({"ProjectedCrossEntropy", {h, target, narrow}, attributes, 2, "ai.ondine"});
  const auto want = run_op({"ProjectedCrossEntropy",
                            {h, target, to(narrow, DType::float32)},
                            attributes,
                            2,
                            "ai.ondine"});
  for (std::size_t i = 0; i < 2; ++i) check_close(got[i].tensor(), want[i].tensor(), {1e-5, 1e-6});
}

TEST_CASE("the loss of a product refuses what does not fit") {
  OpCase wrong = projected({{3, 2}, 4}, false, "sum", false);
  wrong.inputs[1] = Tensor::of<std::int64_t>({3}, {0, 4, 1});
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("label 4 at position 1"));
  CHECK_THROWS_WITH(run_op(projected({{3, 2}, 4}, false, "none", false)),
                    Catch::Contains("reduced"));
  wrong.inputs[1] = Tensor::of<std::int64_t>({3, 1}, {0, 1, 1});
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("do not fit rows"));
}
