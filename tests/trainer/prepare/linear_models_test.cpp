// Linear models of ai.onnx.ml train their coefficients, which the file keeps in attributes.
#include <algorithm>
#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/prepare.h>

#include "tests/support/random_tensor.h"

using namespace ondine;
using namespace ondine::test;
using Attributes = ModelBuilder::Attributes;

namespace {

const std::vector<float> coefficients{0.5F, -1, 0.25F, 1, -0.5F, 0.75F};  // [3, 2]
const std::vector<float> intercepts{0.1F, -0.2F, 0.3F};

std::vector<std::byte> classifier(const std::string& transform, Attributes labels) {
  ModelBuilder b("classifier", 15);
  const std::string x = b.input("x", DType::float32, {"N", 2});
  Attributes attributes{
      {"coefficients", coefficients}, {"intercepts", intercepts}, {"post_transform", transform}};
  attributes.insert(attributes.end(), labels.begin(), labels.end());
  b.node("LinearClassifier", "ai.onnx.ml", {x}, {"chosen", "scores"}, attributes);
  b.node("Normalizer", "ai.onnx.ml", {"scores"}, {"p"}, {{"norm", std::string("L1")}});
  b.output("p", DType::float32, {"N", 3});
  b.output("chosen", labels[0].first == "classlabels_ints" ? DType::int64 : DType::string, {"N"});
  return b.bytes();
}

std::vector<std::byte> plain() {
  ModelBuilder b("plain", 15);
  const std::string x = b.input("x", DType::float32, {"N", 2});
  const std::string w = b.initializer("w", Tensor::of({3, 2}, coefficients));
  b.node("Gemm", {x, w, b.initializer("b", Tensor::of({3}, intercepts))},
         {{"transB", std::int64_t{1}}}, "y");
  b.output("y", DType::float32, {"N", 3});
  return b.bytes();
}

NamedValues batch() {
  return {{"x", random_floats({4, 2}, 3)}, {"label", Tensor::of<std::int64_t>({4}, {0, 1, 2, 1})}};
}

std::vector<float> trained(Model& model) {
  for (int i = 0; i < 5; ++i) model.train_step(batch());
  return model.parameters();
}

}  // namespace

TEST_CASE("a linear classifier trains as the layer that it is") {
  const PrepareOptions options{.optimizer = Sgd{.learning_rate = 0.5F}};
  Model wanted_model = prepare(plain(), options);
  const std::vector<float> wanted = trained(wanted_model);
  const Attributes ints{{"classlabels_ints", std::vector<std::int64_t>{7, 8, 9}}};
  Model model = prepare(classifier("SOFTMAX", ints), options);
  const std::vector<float> found = trained(model);
  REQUIRE(found.size() == wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) CHECK(found[i] == Approx(wanted[i]).margin(1e-6));
  // Its labels follow.
  const NamedValues x{{"x", batch()[0].second}};
  const Results results = model.infer(x);
  const Tensor scores = wanted_model.infer(x)["y"].tensor();
  for (std::size_t row = 0; row < 4; ++row) {
    const auto first = scores.values<float>().begin() + static_cast<std::ptrdiff_t>(3 * row);
    const auto best = std::max_element(first, first + 3) - first;
    CHECK(results["chosen"].tensor().values<std::int64_t>()[row] == 7 + best);
  }
}

TEST_CASE("a classifier with names of classes and independent scores trains") {
  const Attributes names{{"classlabels_strings", std::vector<std::string>{"a", "b", "c"}}};
  const auto bytes = classifier("LOGISTIC", names);
  const NamedValues x{{"x", batch()[0].second}};
  const Tensor before = Model::load(bytes).infer(x)["p"].tensor();
  Model model = prepare(bytes, {.loss = Loss::nll, .optimizer = Sgd{.learning_rate = 0.5F}});
  const Tensor same = model.infer(x)["p"].tensor();
  for (std::size_t i = 0; i < 12; ++i) {
    CHECK(same.values<float>()[i] == Approx(before.values<float>()[i]).epsilon(1e-5));
  }
  const double first = model.train_step(batch()).scalar("loss");
  CHECK(trained(model) != std::vector<float>());
  CHECK(model.train_step(batch()).scalar("loss") < first);
  CHECK(model.infer(x)["chosen"].tensor().dtype() == DType::string);
}

TEST_CASE("a linear regression trains") {
  ModelBuilder b("regressor", 15);
  const std::string x = b.input("x", DType::float32, {"N", 2});
  b.node("LinearRegressor", "ai.onnx.ml", {x}, {"y"},
         {{"coefficients", std::vector<float>{0.5F, -1}}, {"intercepts", std::vector<float>{2}}});
  b.output("y", DType::float32, {"N", 1});
  Model model = prepare(b.bytes(), {.loss = Loss::mse, .optimizer = Sgd{.learning_rate = 0.1F}});
  const NamedValues one{{"x", Tensor::of<float>({1, 2}, {1, 2})},
                        {"label", Tensor::of<float>({1, 1}, {0})}};
  // y = 0.5 - 2 + 2 = 0.5: the gradient is 2 y (x, 1).
  model.train_step(one);
  const std::vector<float> found = model.parameters();
  REQUIRE(found.size() == 3);
  CHECK(found[0] == Approx(0.4));
  CHECK(found[1] == Approx(-1.2));
  CHECK(found[2] == Approx(1.9));
}
