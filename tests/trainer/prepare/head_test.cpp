// New heads for old models.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include <ondine/build.h>
#include <ondine/data_record.h>
#include <ondine/prepare.h>
#include <ondine/trainer.h>

#include "tests/support/models.h"
#include "tests/support/random_tensor.h"

using namespace ondine;
using namespace ondine::test;

namespace {

// Conv -> Relu -> GlobalAveragePool -> Flatten -> Gemm -> Softmax, 7 classes.
ModelBuilder classifier() {
  ModelBuilder b("classifier");
  const std::string x = b.input("x", DType::float32, {"N", 2, 5, 5});
  b.node("Conv", {x, b.initializer("conv.w", random_floats({4, 2, 3, 3}, 1))}, {}, "maps");
  b.node("Relu", {"maps"}, {}, "active");
  b.node("GlobalAveragePool", {"active"}, {}, "pooled");
  b.node("Flatten", {"pooled"}, {}, "features");
  b.node("Gemm",
         {"features", b.initializer("fc.w", random_floats({4, 7}, 2)),
          b.initializer("fc.b", random_floats({7}, 3))},
         {}, "scores");
  b.node("Softmax", {"scores"}, {}, "p");
  b.output("p", DType::float32, {"N", 7});
  return b;
}

Tensor images() { return random_floats({6, 2, 5, 5}, 4); }

Tensor classes(std::int64_t count) {
  Tensor labels(DType::int64, {6});
  for (std::int64_t i = 0; i < 6; ++i) {
    labels.mutable_values<std::int64_t>()[static_cast<std::size_t>(i)] = i % count;
  }
  return labels;
}

}  // namespace

TEST_CASE("a head of other classes takes the place of the last layer and learns") {
  PrepareReport report;
  Model model = prepare(classifier().bytes(),
                        {.optimizer = Adam{.learning_rate = 0.05F},
                         .head = NewHead{.classes = 3, .names = {"rose", "tulip", "daisy"}},
                         .init = WeightInit::keep},
                        {.seed = 5}, &report);
  CHECK(report.head == "logits");
  CHECK(report.cut == "features");
  CHECK(report.prediction == "logits");
  CHECK(report.trained == std::vector<std::string>{"conv.w", "head.weight", "head.bias"});
  CHECK(data_record(model).class_count == 3);
  CHECK(class_names(model) == std::vector<std::string>{"rose", "tulip", "daisy"});
  REQUIRE(model.outputs().size() == 1);
  CHECK(model.outputs()[0].dims == std::vector<std::int64_t>{-1, 3});
  // Weights before the head stay; the head is drawn within 1 / sqrt(4) by the seed.
  CHECK(model.get_state("conv.w").identical(random_floats({4, 2, 3, 3}, 1)));
  const Tensor first = model.get_state("head.weight");
  float largest = 0;
  for (const float w : first.values<float>()) largest = std::max(largest, std::abs(w));
  CHECK(largest > 0.3F);
  CHECK(largest <= 0.5F);
  model.initialize(6);
  CHECK_FALSE(model.get_state("head.weight").identical(first));
  model.initialize(5);
  CHECK(model.get_state("head.weight").identical(first));

  const NamedValues batch{{"x", images()}, {"label", classes(3)}};
  const double before = model.eval_step(batch).scalar("loss");
  for (int i = 0; i < 30; ++i) model.train_step(batch);
  CHECK(model.eval_step(batch).scalar("loss") < 0.7 * before);
  const Model exported = Model::load(model.export_inference());
  CHECK(exported.infer({{"x", images()}})["logits"].tensor().shape() == Shape{6, 3});
  CHECK(data_record(exported).class_count == 3);
}

TEST_CASE("the head computes a linear layer of the features before it") {
  ModelBuilder open = classifier();
  open.output("features", DType::float32, {"N", 4});
  const Model old = Model::load(open.bytes());
  Model model = prepare(classifier().bytes(), {.head = NewHead{.classes = 2}});
  const Tensor w = model.get_state("head.weight");
  const auto x = images();
  const Tensor got = model.infer({{"x", x}})["logits"].tensor();
  const Tensor features = old.infer({{"x", x}})["features"].tensor();
  for (std::size_t n = 0; n < 6; ++n) {
    for (std::size_t c = 0; c < 2; ++c) {
      double sum = 0;
      for (std::size_t i = 0; i < 4; ++i) {
        sum += double{features.values<float>()[n * 4 + i]} * double{w.values<float>()[c * 4 + i]};
      }
      CHECK(got.values<float>()[n * 2 + c] == Approx(sum).margin(1e-5));
    }
  }
}

TEST_CASE("a head on maps of features is a 1x1 convolution and the mean over positions") {
  PrepareReport report;
  Model model =
      prepare(classifier().bytes(),
              {.last_layers = 1, .head = NewHead{.classes = 3, .cut = "active"}}, {}, &report);
  CHECK(report.cut == "active");
  CHECK(report.trained == std::vector<std::string>{"head.weight", "head.bias"});
  CHECK(model.get_state("head.weight").shape() == Shape{3, 4, 1, 1});
  CHECK(model.infer({{"x", images()}})["logits"].tensor().shape() == Shape{6, 3});
  // The mean and a linear layer commute.
  Model pooled = prepare(classifier().bytes(), {.head = NewHead{.classes = 3}});
  const Tensor w = model.get_state("head.weight");
  pooled.set_state("head.weight", Tensor::of<float>({3, 4}, w.values<float>()));
  const Tensor a = model.infer({{"x", images()}})["logits"].tensor();
  const Tensor b = pooled.infer({{"x", images()}})["logits"].tensor();
  for (std::size_t i = 0; i < 18; ++i) {
    CHECK(a.values<float>()[i] == Approx(b.values<float>()[i]).margin(1e-5));
  }
}

TEST_CASE("a head of a network that gives scores for every position does so too") {
  ModelBuilder b("segmentation");
  const std::string x = b.input("x", DType::float32, {"N", 2, "H", "W"});
  b.node("Conv", {x, b.initializer("w", random_floats({4, 2, 1, 1}, 1))}, {}, "maps");
  b.node("Conv", {"maps", b.initializer("v", random_floats({9, 4, 1, 1}, 2))}, {}, "y");
  b.output("y", DType::float32, {"N", 9, "H", "W"});
  Model model = prepare(b.bytes(), {.head = NewHead{.classes = 3}});
  CHECK(model.infer({{"x", images()}})["logits"].tensor().shape() == Shape{6, 3, 5, 5});
  model.train_step({{"x", images()}, {"label", Tensor(DType::int64, {6, 5, 5})}});
}

TEST_CASE("a head for every word has its classes last, and the loss knows") {
  ModelBuilder b("words");
  const std::string x = b.input("x", DType::float32, {"N", 5, 4});
  b.node("MatMul", {x, b.initializer("w", random_floats({4, 6}, 1))}, {}, "hidden");
  b.node("Tanh", {"hidden"}, {}, "active");
  b.node("MatMul", {"active", b.initializer("v", random_floats({6, 9}, 2))}, {}, "y");
  b.output("y", DType::float32, {"N", 5, 9});
  Model model = prepare(b.bytes(), {.head = NewHead{.classes = 3}});
  const NamedValues batch{
      {"x", random_floats({2, 5, 4}, 3)},
      {"label", Tensor::of<std::int64_t>({2, 5}, {0, 1, 2, 0, 1, 2, 0, 1, 2, 0})}};
  const double loss = model.eval_step(batch).scalar("loss");
  const Tensor scores = model.infer({{"x", batch[0].second}})["logits"].tensor();
  CHECK(scores.shape() == Shape{2, 5, 3});
  double want = 0;
  for (std::size_t i = 0; i < 10; ++i) {
    const float* row = scores.values<float>().data() + 3 * i;
    const double sum = std::exp(row[0]) + std::exp(row[1]) + std::exp(row[2]);
    want += std::log(sum) - double{row[i % 3]};
  }
  CHECK(loss == Approx(want / 10).epsilon(1e-4));
}

TEST_CASE("outputs beside the head stay, what only the old head needed goes") {
  ModelBuilder b = classifier();
  b.node("ArgMax", {"p"}, {{"axis", std::int64_t{1}}}, "best");
  b.output("best", DType::int64, {"N", 1});
  b.node("ReduceMean", {"active"}, {{"axes", std::vector<std::int64_t>{1, 2, 3}}}, "level");
  b.output("level", DType::float32, {"N", 1, 1, 1});
  const Model model = prepare(b.bytes(), {.head = NewHead{.classes = 3}});
  std::vector<std::string> names;
  for (const PortInfo& port : model.outputs()) names.push_back(port.name);
  CHECK(names == std::vector<std::string>{"logits", "level"});
  CHECK_THROWS(model.get_state("fc.w"));
}

TEST_CASE("where no head can be put the reason is given") {
  PrepareOptions options{.head = NewHead{.classes = 3, .cut = "nothing"}};
  CHECK_THROWS_WITH(prepare(classifier().bytes(), options), Catch::Contains("'nothing'"));
  options.head->cut = "fc.w";
  CHECK_THROWS_WITH(prepare(classifier().bytes(), options), Catch::Contains("'fc.w'"));
  options.head = NewHead{.classes = 0};
  CHECK_THROWS_WITH(prepare(classifier().bytes(), options), Catch::Contains("at least one class"));
  options.head = NewHead{.classes = 2, .names = {"one"}};
  CHECK_THROWS_WITH(prepare(classifier().bytes(), options), Catch::Contains("1 names"));
  options.head = NewHead{.classes = 2};

  ModelBuilder none("none");
  const std::string x = none.input("x", DType::float32, {"N", 4});
  none.node("Add", {x, none.initializer("b", random_floats({4}, 1))}, {}, "y");
  none.output("y", DType::float32, {"N", 4});
  CHECK_THROWS_WITH(prepare(none.bytes(), options), Catch::Contains("no layer with parameters"));

  // A residual connection goes around the last layer.
  ModelBuilder residual("residual");
  residual.input("x", DType::float32, {"N", 4});
  residual.node("MatMul", {"x", residual.initializer("a", random_floats({4, 4}, 1))}, {}, "h");
  residual.node("MatMul", {"h", residual.initializer("b", random_floats({4, 4}, 2))}, {}, "f");
  residual.node("Add", {"h", "f"}, {}, "y");
  residual.output("y", DType::float32, {"N", 4});
  CHECK_THROWS_WITH(prepare(residual.bytes(), options),
                    Catch::Contains("reaches it around its last layer") && Catch::Contains("cut"));
  options.head->cut = "h";
  CHECK(prepare(residual.bytes(), options).outputs()[0].dims == std::vector<std::int64_t>{-1, 2});
}
