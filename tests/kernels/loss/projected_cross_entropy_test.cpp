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

OpCase projected(const Rows& rows, bool transposed, const std::string& reduction, bool ignoring,
                 std::size_t outputs = 2) {
  const std::int64_t depth = *(rows.rows.end() - 1);
  const Shape w = transposed ? Shape{rows.classes, depth} : Shape{depth, rows.classes};
  graph::Attributes attributes{{"reduction", reduction}};
  if (transposed) attributes.emplace_back("transposed", 1L);
  if (ignoring) attributes.emplace_back("ignore_index", ignored);
  return {
      "ProjectedCrossEntropy",
      {random_tensor(rows.rows, 1), random_tensor(w, 2), labels(rows.rows, rows.classes, ignoring)},
      attributes,
      outputs,
      "ai.ondine"};
}

// Loss and gradient of h, computed in steps by Gemm and the standard's loss.
std::vector<Value> whole(const OpCase& op_case) {
  const Tensor h = op_case.inputs[0].tensor();
  const Tensor target = op_case.inputs[2].tensor();
  const std::int64_t depth = h.shape().span().back();
  const bool transposed = graph::find(op_case.attributes, "transposed") != nullptr;
  graph::Attributes attributes;
  for (const auto& one : op_case.attributes) {
    if (one.name != "transposed") attributes.push_back(one);
  }
  const Tensor rows = h.reshaped({h.size() / depth, depth});
  const Tensor flat = target.reshaped({target.size()});
  const Tensor scores =
      run_op_tensor({"Gemm", {rows, op_case.inputs[1]}, {{"transB", transposed ? 1L : 0L}}});
  const auto loss = run_op({"SoftmaxCrossEntropyLoss", {scores, flat}, attributes, 2});
  const Tensor one = Tensor::scalar(1.0);
  const Tensor dscores = run_op_tensor(
      {"SoftmaxCrossEntropyLossGrad", {one, loss[1], flat}, attributes, 1, "ai.ondine"});
  const Tensor dh =
      run_op_tensor({"Gemm", {dscores, op_case.inputs[1]}, {{"transB", transposed ? 0L : 1L}}});
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
  first.inputs[2] = labels({1, 8}, 70, false);
  const Tensor alone = run_op(first)[1].tensor();
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(alone.values<double>()[i] == together[1].tensor().values<double>()[i]);
  }
}

TEST_CASE("where no label counts, the sum is 0 and nothing has a derivative") {
  OpCase none = projected({{3, 2}, 4}, false, "sum", true);
  none.inputs[2] = Tensor::of<std::int64_t>({3}, {ignored, ignored, ignored});
  const auto found = run_op(none);
  CHECK(found[0].tensor().values<double>()[0] == 0);
  check_close(found[1].tensor(), Tensor(DType::float64, {3, 2}));
}

TEST_CASE("the loss of a product refuses what does not fit") {
  OpCase wrong = projected({{3, 2}, 4}, false, "sum", false);
  wrong.inputs[2] = Tensor::of<std::int64_t>({3}, {0, 4, 1});
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("label 4 at position 1"));
  CHECK_THROWS_WITH(run_op(projected({{3, 2}, 4}, false, "none", false)),
                    Catch::Contains("reduced"));
  wrong.inputs[2] = Tensor::of<std::int64_t>({3, 1}, {0, 1, 1});
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("do not fit rows"));
}
