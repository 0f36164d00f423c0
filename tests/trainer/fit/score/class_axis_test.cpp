// The axis of the classes: recorded by prepare, chosen by shape, or given.
#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/data_record.h>
#include <ondine/prepare.h>

#include "tests/support/random_tensor.h"
#include "tests/trainer/fit/small_task.h"
#include "trainer/fit/score/class_axis.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

using Dim = ModelBuilder::Dim;

// Probabilities [N, positions, 3] over the last axis, and a weight to train.
ModelBuilder last_axis(std::int64_t positions, bool softmax) {
  ModelBuilder b("last_axis", 17);
  std::string x = b.input("x", DType::float32, {"N", positions, 3});
  const Tensor w = Tensor::of<float>({3, 3}, {1, 0.5F, 0, -0.25F, 1, 0, 0, 0.125F, 1});
  x = b.node("MatMul", {x, b.initializer("w", w)}, {}, softmax ? "" : "out");
  if (softmax) b.node("Softmax", {x}, {{"axis", std::int64_t{-1}}}, "out");
  b.output("out", DType::float32, {"N", positions, 3});
  return b;
}

// The share of positions whose largest of three neighbouring scores is the label.
double accuracy_along_last(const Tensor& scores, const Tensor& labels) {
  const auto s = scores.values<float>();
  const auto wanted = labels.values<std::int64_t>();
  double hits = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const float* three = &s[3 * i];
    const std::int64_t best = three[0] >= three[1] && three[0] >= three[2] ? 0
                              : three[1] >= three[2]                       ? 1
                                                                           : 2;
    hits += best == wanted[i] ? 1 : 0;
  }
  return hits / static_cast<double>(wanted.size());
}

NamedValues data_of(std::int64_t positions) {
  Tensor labels(DType::int64, {20, positions});
  std::size_t i = 0;
  for (std::int64_t& label : labels.mutable_values<std::int64_t>()) {
    label = static_cast<std::int64_t>(i++ * 7 % 5 % 3);
  }
  return {{"x", random_floats({20, positions, 3}, 9)}, {"label", labels}};
}

double expected(const Model& model, const NamedValues& data) {
  const Results out = model.infer({data[0]}, {"out"});
  return accuracy_along_last(out["out"].tensor(), data[1].second.tensor());
}

}  // namespace

TEST_CASE("accuracy counts along the axis that prepare recorded, also with as many positions") {
  for (const std::int64_t positions : {2, 3, 4}) {
    const ModelBuilder b = last_axis(positions, true);
    const Model prepared = prepare(b.bytes(), {.init = WeightInit::keep, .accuracy = false});
    const NamedValues data = data_of(positions);
    const double wanted = expected(prepared, data);
    REQUIRE(wanted > 0);
    const Evaluation result = evaluate(prepared, Dataset::from(data), {.batch_size = 6});
    CHECK(result.metrics["accuracy"] == Approx(wanted));
    const Model exported = Model::load(prepared.export_inference());
    CHECK(evaluate(exported, Dataset::from(data)).metrics["accuracy"] == Approx(wanted));

    // A validation computes the same.
    Model trained = prepare(b.bytes(), {.init = WeightInit::keep, .accuracy = false});
    Trainer trainer(trained, {.batch_size = 8});
    CHECK(trainer.evaluate(Dataset::from(data)).metrics["accuracy"] == Approx(wanted));
  }
}

TEST_CASE("prepare records the class axis and what has it, for losses with classes only") {
  const auto axis = [](const Model& model) { return data_record(model).prediction.class_axis; };
  const Model last = prepare(last_axis(3, true).bytes(), {});
  CHECK(axis(last) == 2);
  CHECK(data_record(last).prediction.class_axis_of == "out");
  const Model plain = prepare(last_axis(3, false).bytes(), {});
  CHECK(axis(plain) == 2);  // of a linear layer
  const Model numbers = prepare(last_axis(3, false).bytes(), {.loss = Loss::mse});
  CHECK_FALSE(axis(numbers));
  // A file that says one from an earlier loss.
  const Model again = prepare(Model::load(last.export_inference()), {.loss = Loss::mse});
  CHECK_FALSE(axis(again));
}

TEST_CASE("without a record the axis is the only one that leaves the labels' shape") {
  for (const std::int64_t positions : {2, 4}) {
    const Model model = Model::load(last_axis(positions, false).bytes());
    const NamedValues data = data_of(positions);
    CHECK(evaluate(model, Dataset::from(data)).metrics["accuracy"] ==
          Approx(expected(model, data)));
  }
}

TEST_CASE("where shapes leave two axes an evaluation is refused, and goes by the one given") {
  const Model model = Model::load(last_axis(3, false).bytes());
  const NamedValues data = data_of(3);
  CHECK_THROWS_WITH(evaluate(model, Dataset::from(data)),
                    Contains("axis 1 or 2") && Contains("--class-axis") && Contains("out"));
  const double wanted = expected(model, data);
  for (const std::int64_t axis : {2, -1}) {
    CHECK(evaluate(model, Dataset::from(data), {.class_axis = axis}).metrics["accuracy"] ==
          Approx(wanted));
  }
  CHECK_THROWS_WITH(evaluate(model, Dataset::from(data), {.class_axis = 3}), Contains("axis 3"));
  CHECK_THROWS_WITH(evaluate(model, Dataset::from(data), {.class_axis = -4}), Contains("axis -4"));
  CHECK_THROWS_WITH(evaluate(model, Dataset::from(data), {.class_axis = 0}), Contains("axis 0"));
}

TEST_CASE("labels may merge the positions of an output, in their order and whole") {
  using Axes = std::vector<std::size_t>;
  const Shape output{6, 4, 5, 5};
  CHECK(fit::possible_class_axes(output, {6, 25}) == Axes{1});
  CHECK(fit::possible_class_axes(output, {6, 5, 5}) == Axes{1});
  CHECK(fit::possible_class_axes(output, {6, 1, 25, 1}) == Axes{1});
  CHECK(fit::possible_class_axes(output, {6, 20}) == Axes{2, 3});
  CHECK(fit::possible_class_axes(output, {6, 4, 5}) == Axes{2, 3});
  CHECK(fit::possible_class_axes(output, {6, 5, 4}).empty());
  CHECK(fit::possible_class_axes(output, {6, 2, 10}).empty());
  CHECK(fit::possible_class_axes(output, {6, 24}).empty());
  // Rows that are merged too leave axis 1.
  CHECK(fit::possible_class_axes(output, {150}) == Axes{1});
  CHECK(fit::possible_class_axes(output, {120}).empty());
  // An axis of one class counts only where no other fits.
  CHECK(fit::possible_class_axes({6, 1, 3}, {6, 3}) == Axes{1});
  CHECK(fit::possible_class_axes({6, 1, 1}, {6}) == Axes{1});
  CHECK(fit::possible_class_axes({6, 1, 3}, {6}) == Axes{2});
  CHECK(fit::possible_class_axes({6}, {6}).empty());
  CHECK(fit::possible_class_axes({6, 3}, {}).empty());
}
