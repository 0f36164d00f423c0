// Settings of losses that are refused, and what losses need of a model.
#include <catch2/catch.hpp>
#include <limits>

#include <ondine/build.h>
#include <ondine/losses.h>

#include "tests/support/random_tensor.h"
#include "tests/trainer/losses/loss_run.h"

using namespace ondine;
using namespace ondine::test;

namespace {

void refuse(const PrepareOptions& options, const std::string& text, const Shape& shape = {2, 3}) {
  INFO(text);
  CHECK_THROWS_WITH(prepare(given_numbers(shape), options), Catch::Contains(text));
}

// h -> op -> y, of any batch.
std::vector<std::byte> ending(const std::string& op, std::int64_t axis, std::int64_t opset = 17) {
  ModelBuilder b("ending", opset);
  const std::string x = b.input("x", DType::float32, {"N", "T", 4});
  b.node("MatMul", {x, b.initializer("w", random_floats({4, 3}, 1))}, {}, "h");
  if (op == "Sigmoid") b.node(op, {"h"}, {}, "y");
  if (op != "Sigmoid") b.node(op, {"h"}, {{"axis", axis}}, "y");
  b.output("y", DType::float32, {"N", "T", 3});
  return b.bytes();
}

std::string prediction_of(const std::vector<std::byte>& model, Loss loss) {
  PrepareReport report;
  prepare(model, {.loss = loss}, {}, &report);
  return report.prediction;
}

}  // namespace

TEST_CASE("settings of losses that are out of range are refused") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const float e : {-0.1F, 1.0F, nan}) {
    refuse({.label_smoothing = e}, "label smoothing must be in [0, 1)");
  }
  refuse({.class_weights = {1, -1, 1}}, "class weights must not be negative, found -1");
  refuse({.class_weights = {0, 0, 0}}, "all class weights are 0");
  refuse({.class_weights = {1, 1}}, "2 class weights for 3 classes in 'y'");
  refuse({.class_weights = {1, 1}, .soft_labels = true}, "2 class weights for 3 classes");
  refuse({.loss = Loss::focal, .class_weights = {1, 1}}, "2 class weights for 3 classes");
  refuse({.loss = Loss::huber, .huber_delta = 0}, "the Huber delta must be positive");
  refuse({.loss = Loss::focal, .focal_gamma = -1}, "focal gamma");
  refuse({.loss = Loss::triplet, .margin = 0}, "margin must be a positive number, found 0");
  refuse({.loss = Loss::ctc, .ctc_blank = -1}, "blank");
  refuse({.loss = Loss::ctc, .ctc_blank = 4}, "blank 4 is none of the 4 classes", {2, 3, 4});
}

TEST_CASE("settings of another loss are refused") {
  refuse({.loss = Loss::mse, .huber_delta = 2},
         "the Huber delta belongs to the loss huber, the loss is mse");
  refuse({.loss = Loss::bce_with_logits, .focal_gamma = 1},
         "the focal gamma belongs to the loss focal, the loss is bce");
  refuse({.loss = Loss::cosine, .margin = 2},
         "the margin belongs to the loss triplet or contrastive, the loss is cosine");
  refuse({.loss = Loss::nll, .ctc_blank = 1},
         "the CTC blank belongs to the loss ctc, the loss is nll");
  refuse({.loss = Loss::mse, .label_smoothing = 0.1F}, "the loss is mse");
  refuse({.loss = Loss::focal, .ignore_index = 1}, "the loss is focal");
  refuse({.loss = Loss::kl, .soft_labels = true},
         "soft labels belong to the loss "
         "softmax-cross-entropy, the loss is kl");
  refuse({.loss = Loss::kl, .class_weights = {1, 1, 1}}, "softmax-cross-entropy or focal");
  refuse({.ignore_index = 1, .soft_labels = true}, "no index");
}

TEST_CASE("a number that is no loss is refused") {
  refuse({.loss = static_cast<Loss>(99)}, "there is no loss with number 99");
  CHECK(loss_name(static_cast<Loss>(99)).empty());
}

TEST_CASE("losses refuse predictions of a rank that they cannot read") {
  refuse({.loss = Loss::kl}, "needs logits of rank 2 or more, found rank 1", {3});
  refuse({.soft_labels = true}, "needs logits of rank 2 or more, found rank 1", {3});
  refuse({.loss = Loss::focal}, "needs logits of rank 2 or more, found rank 1", {3});
  refuse({.loss = Loss::dice}, "rank of 2 or more, found rank 1", {3});
  refuse({.loss = Loss::triplet}, "found rank 3 in 'y'", {2, 3, 4});
  refuse({.loss = Loss::contrastive}, "found rank 1 in 'y'", {3});
  refuse({.loss = Loss::ctc}, "needs logits [batch, steps, classes], found rank 2", {2, 3});
}

TEST_CASE("losses on logits find them behind probabilities") {
  for (const Loss loss : {Loss::kl, Loss::focal, Loss::ctc}) {
    CHECK(prediction_of(ending("Softmax", 2), loss) == "h");
  }
  CHECK(prediction_of(ending("LogSoftmax", -1), Loss::ctc) == "h");
  for (const Loss loss : {Loss::dice, Loss::hinge}) {
    CHECK(prediction_of(ending("Sigmoid", 0), loss) == "h");
  }
  for (const Loss loss : {Loss::cosine, Loss::mse}) {
    CHECK(prediction_of(ending("Sigmoid", 0), loss) == "y");
  }
  CHECK_THROWS_WITH(prepare(ending("Softmax", 1), {.loss = Loss::ctc}),
                    Catch::Contains("are axis 1; CTC needs logits"));
}

TEST_CASE("label probabilities have the shape of the output where its classes are last") {
  const auto bytes = ending("Softmax", 2);
  const Model model = prepare(bytes, {.soft_labels = true});
  const PortInfo label = model.algorithm(0).inputs[1];
  CHECK(label.name == "label");
  CHECK((*label.dims)[2] == 3);
  Model trained = prepare(bytes, {.soft_labels = true, .init = WeightInit::keep});
  const Tensor x = random_floats({2, 5, 4}, 2);
  Tensor t(DType::float32, {2, 5, 3});
  Tensor classes(DType::int64, {2, 5});
  for (std::size_t i = 0; i < 10; ++i) {
    t.mutable_values<float>()[i * 3 + i % 3] = 1;
    classes.mutable_values<std::int64_t>()[i] = static_cast<std::int64_t>(i % 3);
  }
  Model hard = prepare(bytes, {.init = WeightInit::keep});
  CHECK(trained.train_step({{"x", x}, {"label", t}}).scalar("loss") ==
        Approx(hard.train_step({{"x", x}, {"label", classes}}).scalar("loss")).epsilon(1e-6));
}

TEST_CASE("losses train models of older and newer operator sets, of any batch") {
  const std::int64_t opset = GENERATE(12, 13, 17, 21);
  const auto loss = GENERATE(Loss::kl, Loss::focal, Loss::dice, Loss::cosine, Loss::hinge,
                             Loss::triplet, Loss::contrastive, Loss::ctc);
  const bool of_embeddings = loss == Loss::triplet || loss == Loss::contrastive;
  ModelBuilder b("any", opset);
  const std::string x = b.input("x", DType::float32, {"N", "T", 4});
  b.node("MatMul", {x, b.initializer("w", random_floats({4, 3}, 1))}, {}, "h");
  if (of_embeddings) b.node("Flatten", {"h"}, {}, "y");
  if (!of_embeddings) b.node("Identity", {"h"}, {}, "y");
  b.output("y", DType::float32,
           of_embeddings ? std::vector<ModelBuilder::Dim>{"N", "D"}
                         : std::vector<ModelBuilder::Dim>{"N", "T", 3});
  Model model = prepare(b.bytes(), {.loss = loss, .label_smoothing = 0});
  NamedValues feeds{{"x", random_floats({2, 5, 4}, 2)}};
  if (loss == Loss::ctc) {
    feeds.emplace_back("label", Tensor::of<std::int64_t>({2, 2}, {1, 2, 1, 0}));
    feeds.emplace_back("label_lengths", Tensor::of<std::int64_t>({2}, {2, 1}));
    feeds.emplace_back("label_input_lengths", Tensor::of<std::int64_t>({2}, {5, 4}));
  } else if (of_embeddings) {
    feeds.emplace_back("label", Tensor::of<std::int64_t>({2}, {0, 0}));
  } else if (loss == Loss::focal) {
    feeds.emplace_back("label", Tensor::of<std::int64_t>({2, 5}, {0, 2, 2, 1, 1, 0, 1, 2, 0, 1}));
  } else {
    feeds.emplace_back("label", random_floats({2, 5, 3}, 3, 0.1F, 0.9F));
  }
  const double first = model.train_step(feeds).scalar("loss");
  for (int i = 0; i < 10; ++i) model.train_step(feeds);
  const double later = model.train_step(feeds).scalar("loss");
  CAPTURE(opset, static_cast<int>(loss), first);
  if (loss == Loss::triplet) {
    CHECK(later == 0);  // two rows of one label have no triplet
  } else {
    CHECK(later < first);
  }
}
