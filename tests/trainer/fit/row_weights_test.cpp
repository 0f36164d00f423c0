// Training and evaluation with weights of rows, against data in which rows are there more often.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>

#include <ondine/build.h>
#include <ondine/data_record.h>
#include <ondine/prepare.h>
#include <ondine/trainer.h>

#include "tests/support/random_tensor.h"
#include "tests/support/temporary_folder.h"
#include "tests/trainer/metrics/scored_model.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

constexpr std::size_t rows = 12;
const std::vector<double> weights{1, 0, 3, 1, 2, 0, 1, 1, 2, 4, 1, 1};

struct Pair {
  Dataset weighed;
  Dataset repeated;  // each row as often as its weight says
};

Tensor repeated(const Tensor& all) {
  std::vector<std::int64_t> dims(all.shape().begin(), all.shape().end());
  dims[0] = 0;
  for (const double one : weights) dims[0] += static_cast<std::int64_t>(one);
  Tensor result(all.dtype(), Shape(dims));
  const std::size_t bytes = all.bytes() / rows;
  auto* to = static_cast<std::byte*>(result.mutable_data());
  for (std::size_t row = 0; row < rows; ++row) {
    for (int i = 0; i < static_cast<int>(weights[row]); ++i, to += bytes) {
      std::copy_n(static_cast<const std::byte*>(all.data()) + row * bytes, bytes, to);
    }
  }
  return result;
}

Pair pair_of(const Tensor& x, const Tensor& label) {
  DatasetOptions options;
  options.weights = "w";
  const Tensor w = Tensor::of(Shape{static_cast<std::int64_t>(rows)}, weights);
  return {Dataset::from({{"x", x}, {"label", label}, {"w", w}}, {}, options),
          Dataset::from({{"x", repeated(x)}, {"label", repeated(label)}})};
}

void compare(const Model& model, const Pair& data, const std::vector<std::string>& names) {
  const EvaluateOptions options{.batch_size = 5, .metrics = names};
  const Evaluation weighed = evaluate(model, data.weighed, options);
  const Evaluation repeated = evaluate(model, data.repeated, options);
  CHECK(weighed.rows == rows);
  CHECK(weighed.metrics.size() == repeated.metrics.size());
  for (const auto& [name, value] : repeated.metrics) {
    INFO(name);
    CHECK(weighed.metrics[name] == Approx(value).epsilon(1e-9));
  }
}

// y = w x + b of two columns, by mse with weights of rows.
Model line(bool takes_weights) {
  ModelBuilder b("line", 17);
  const std::string x = b.input("x", DType::float32, {"N", 2});
  b.node("Gemm",
         {x, b.initializer("w", Tensor(DType::float32, {2, 1})),
          b.initializer("b", Tensor(DType::float32, {1}))},
         {}, "out");
  b.output("out", DType::float32, {"N", 1});
  PrepareOptions options{
      .loss = Loss::mse, .optimizer = Sgd{.learning_rate = 0.1F}, .init = WeightInit::keep};
  options.row_weights = takes_weights;
  return prepare(b.bytes(), options);
}

Pair numbers() {
  return pair_of(random_floats({rows, 2}, 1, -1, 1), random_floats({rows, 1}, 2, -1, 1));
}

std::vector<float> values_of(const Model& model, const char* name) {
  const Tensor state = model.get_state(name);
  const auto numbers = state.values<float>();
  return {numbers.begin(), numbers.end()};
}

}  // namespace

TEST_CASE("every metric of classes counts rows by their weights") {
  std::vector<std::int64_t> labels;
  for (std::size_t i = 0; i < rows; ++i) labels.push_back(static_cast<std::int64_t>(i * 7 % 3));
  const Pair data = pair_of(random_floats({rows, 3}, 3, -1, 1), Tensor::of(Shape{rows}, labels));
  compare(passing_model(3, Loss::softmax_cross_entropy), data,
          {"accuracy", "top2", "precision", "recall", "f1", "iou", "f1_micro", "recall_per_class",
           "roc_auc", "average_precision", "perplexity"});
}

TEST_CASE("every metric of labels and of numbers counts rows by their weights") {
  Tensor labels(DType::float32, {rows, 2});
  for (std::size_t i = 0; i < 2 * rows; ++i) {
    labels.mutable_values<float>()[i] = i * 5 % 7 < 3 ? 1.0F : 0.0F;
  }
  const Tensor x = random_floats({rows, 2}, 4, -1, 1);
  compare(passing_model(2, Loss::bce_with_logits), pair_of(x, labels),
          {"accuracy", "f1", "roc_auc", "average_precision"});
  compare(passing_model(2, Loss::mse), pair_of(x, random_floats({rows, 2}, 5, -1, 1)),
          {"mse", "mae", "rmse", "r2"});
}

TEST_CASE("a run with weights ends where one on repeated rows does") {
  const Pair data = numbers();
  Model weighed = line(true);
  Model plain = line(false);
  // A batch is all of the data, so that both take the same mean.
  const FitReport first =
      Trainer(weighed, {.epochs = 20, .batch_size = rows}).fit(data.weighed, data.weighed);
  const FitReport second =
      Trainer(plain, {.epochs = 20, .batch_size = 100}).fit(data.repeated, data.repeated);
  for (const char* name : {"w", "b"}) {
    const std::vector<float> a = values_of(weighed, name);
    const std::vector<float> b = values_of(plain, name);
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == Approx(b[i]).epsilon(1e-4));
  }
  CHECK(first.last->training["loss"] == Approx(second.last->training["loss"]).epsilon(1e-4));
  for (const char* name : {"loss", "mse", "mae"}) {
    CHECK(first.last->validation[name] == Approx(second.last->validation[name]).epsilon(1e-4));
  }
}

TEST_CASE("losses of small batches are weighed means over the epoch") {
  const Pair data = numbers();
  Model weighed = line(true);
  Model plain = line(false);
  Trainer trainer(weighed, {.epochs = 1, .batch_size = 5, .learning_rate = 0.0F});
  const FitReport report = trainer.fit(data.weighed, data.weighed);
  Trainer other(plain, {.epochs = 1, .batch_size = 5, .learning_rate = 0.0F});
  const double loss = other.evaluate(data.repeated).metrics["loss"];
  CHECK(report.last->training["loss"] == Approx(loss).epsilon(1e-5));
  CHECK(report.last->validation["loss"] == Approx(loss).epsilon(1e-5));
  CHECK(trainer.evaluate(data.weighed).metrics["loss"] == Approx(loss).epsilon(1e-5));
}

TEST_CASE("the data record keeps the column of weights for evaluation") {
  const TemporaryFolder folder;
  std::ofstream(folder / "t.csv") << "a,b,w,y\n1,2,1,3\n2,1,0,9\n3,1,3,4\n0,1,4,1\n";
  std::ofstream(folder / "repeated.csv")
      << "a,b,y\n1,2,3\n3,1,4\n3,1,4\n3,1,4\n0,1,1\n0,1,1\n0,1,1\n0,1,1\n";
  DatasetOptions options;
  options.weights = "w";
  Model model = line(true);
  Trainer(model, {.epochs = 2}).fit(Dataset::open(folder / "t.csv", options));
  const Model tuned = Model::load(model.export_inference());
  const DatasetOptions recorded = recorded_options(tuned, DataUse::evaluation);
  CHECK(recorded.weights == "w");
  const Evaluation weighed = evaluate(tuned, Dataset::open(folder / "t.csv", recorded));
  CHECK(weighed.note.empty());
  const Evaluation plain = evaluate(tuned, Dataset::open(folder / "repeated.csv", recorded));
  CHECK(plain.metrics["mse"] == Approx(weighed.metrics["mse"]).epsilon(1e-6));
  CHECK_THAT(plain.note, Contains("the data have no weights, as training had"));
  const DatasetOptions served = recorded_options(tuned, DataUse::inference);
  const Dataset rows_to_infer = Dataset::open(folder / "t.csv", served);
  CHECK(rows_to_infer.table()->features == std::vector<std::string>{"a", "b"});
  CHECK(rows_to_infer.notes().empty());
}

TEST_CASE("a loss without weights, and data without, are refused where the other has them") {
  const Pair data = numbers();
  Model weighed = line(true);
  Model plain = line(false);
  CHECK_THROWS_WITH(Trainer(plain, {}).fit(data.weighed),
                    Contains("which the model's loss does not take") && Contains("--row-weights"));
  CHECK_THROWS_WITH(Trainer(weighed, {}).fit(data.repeated),
                    Contains("'label_weights'") && Contains("--weight-column"));
  CHECK_THROWS_WITH(Trainer(weighed, {}).fit(data.weighed, data.repeated),
                    Contains("--weight-column"));
}
