// Losses given as ONNX models.
#include <catch2/catch.hpp>
#include <cmath>

#include <ondine/build.h>
#include <ondine/data_record.h>

#include "tests/support/random_tensor.h"
#include "tests/support/temporary_folder.h"
#include "tests/trainer/losses/loss_run.h"

using namespace ondine;
using namespace ondine::test;

namespace {

const std::vector<std::int64_t> axis_1{1};

// x -> BatchNormalization -> h -> Gemm -> y, and z = tanh(h).
std::vector<std::byte> two_outputs(std::int64_t opset = 17) {
  ModelBuilder b("main", opset);
  const std::string x = b.input("x", DType::float32, {"N", 3});
  b.node("BatchNormalization",
         {x, b.initializer("scale", Tensor::of<float>({3}, {1, 2, 0.5F})),
          b.initializer("shift", Tensor::of<float>({3}, {0.5F, 0, 0.25F})),
          b.initializer("mean", Tensor(DType::float32, {3})),
          b.initializer("var", Tensor::of<float>({3}, {1, 1, 1}))},
         {}, "h");
  b.node("Gemm",
         {"h", b.initializer("w", random_floats({3, 2}, 1)),
          b.initializer("b", random_floats({2}, 2))},
         {}, "y");
  b.node("Tanh", {"h"}, {}, "z");
  b.output("y", DType::float32, {"N", 2});
  b.output("z", DType::float32, {"N", 3});
  return b.bytes();
}

NamedValues batch() {
  return {{"x", random_floats({5, 3}, 3)}, {"target", random_floats({5, 2}, 4)}};
}

// mean((y - target)^2), without names of dims.
ModelBuilder squares(std::int64_t opset = 17) {
  ModelBuilder b("loss", opset);
  b.input("y", DType::float32, {"batch", 2});
  b.input("target", DType::float32, {"batch", 2});
  b.node("Sub", {"y", "target"}, {}, "d");
  b.node("Mul", {"d", "d"}, {}, "each");
  b.node("ReduceMean", {"each"}, {{"keepdims", std::int64_t{0}}}, "loss");
  return b;
}

std::vector<std::byte> squares_model(std::int64_t opset = 17) {
  ModelBuilder b = squares(opset);
  b.output("loss", DType::float32, {});
  return b.bytes();
}

std::vector<float> after_steps(Model model, const NamedValues& feeds) {
  for (int i = 0; i < 3; ++i) model.train_step(feeds);
  return model.parameters();
}

// A loss model whose y has this type, with these outputs.
std::vector<std::byte> other_loss(DType dtype, std::vector<ModelBuilder::Dim> dims,
                                  std::vector<ModelBuilder::Dim> loss_dims, bool second = false) {
  ModelBuilder b("loss");
  b.input("y", dtype, std::move(dims));
  b.node("ReduceMean", {"y"}, {{"keepdims", std::int64_t{loss_dims.empty() ? 0 : 1}}}, "loss");
  b.output("loss", dtype, std::move(loss_dims));
  if (second) {
    b.node("Identity", {"loss"}, {}, "copy");
    b.output("copy", dtype, {});
  }
  return b.bytes();
}

}  // namespace

TEST_CASE("a loss model trains as the loss that prepare writes, whatever operator sets it has") {
  const std::int64_t opset = GENERATE(13, 17, 18);
  const TemporaryFolder folder;
  const auto want =
      after_steps(prepare(two_outputs(), {.loss = Loss::mse, .label = "target"}), batch());
  PrepareReport report;
  Model model = prepare(two_outputs(), {.loss_model = squares_model(opset)}, {}, &report);
  CHECK(report.prediction == "y");
  CHECK(report.prediction_reason == "inputs of the loss model: 'y'");
  CHECK(data_record(model).prediction.loss == "model");
  CHECK(data_record(model).prediction.label == "target");
  // Through a file.
  model.export_training(folder / "train.onnx");
  CHECK(after_steps(std::move(model), batch()) == want);
  CHECK(after_steps(Model::load(folder / "train.onnx"), batch()) == want);
}

TEST_CASE("a loss model sums losses of several outputs, inner values and inputs") {
  const TemporaryFolder folder;
  ModelBuilder b = squares(13);
  b.input("z", DType::float32, {"batch", 3});
  b.input("h", DType::float32, {"rows", 3});
  b.input("x", DType::float32, {"rows", 3});
  b.input("wanted_z", DType::float32, {"batch", "width"});
  b.node("Sub", {"z", "wanted_z"}, {}, "z_difference");
  b.node("Abs", {"z_difference"}, {}, "z_distance");
  b.node("ReduceMean", {"z_distance"}, {{"keepdims", std::int64_t{0}}}, "z_loss");
  b.node("Sub", {"h", "x"}, {}, "change");
  b.node("Mul", {"change", "change"}, {}, "change_square");
  b.node("ReduceMean", {"change_square"}, {{"keepdims", std::int64_t{0}}}, "h_loss");
  b.node("Mul", {"z_loss", b.initializer("weight", Tensor::scalar(0.5F))}, {}, "z_part");
  b.node("Sum", {"loss", "z_part", "h_loss"}, {}, "total");
  b.output("total", DType::float32, {});
  b.save(folder / "loss.onnx");

  PrepareReport report;
  Model model = prepare(two_outputs(), {.loss_model = folder / "loss.onnx"}, {}, &report);
  CHECK(report.trained == std::vector<std::string>{"scale", "shift", "w", "b"});
  NamedValues feeds = batch();
  feeds.emplace_back("wanted_z", random_floats({5, 3}, 6));
  const double loss = model.train_step(feeds).scalar("loss");

  // Batch normalization trains: the values are those with statistics of the batch.
  const Tensor x = random_floats({5, 3}, 3);
  const Tensor w = random_floats({3, 2}, 1);
  const Tensor bias = random_floats({2}, 2);
  const std::vector<double> scale{1, 2, 0.5};
  const std::vector<double> shift{0.5, 0, 0.25};
  std::vector<double> h(15);
  for (std::size_t c = 0; c < 3; ++c) {
    double mean = 0;
    double square = 0;
    for (std::size_t n = 0; n < 5; ++n) mean += double{x.values<float>()[n * 3 + c]} / 5;
    for (std::size_t n = 0; n < 5; ++n) {
      square += std::pow(double{x.values<float>()[n * 3 + c]} - mean, 2) / 5;
    }
    for (std::size_t n = 0; n < 5; ++n) {
      const double normal =
          (double{x.values<float>()[n * 3 + c]} - mean) / std::sqrt(square + 1e-5);
      h[n * 3 + c] = normal * scale[c] + shift[c];
    }
  }
  double want = 0;
  const Tensor target = random_floats({5, 2}, 4);
  const Tensor wanted_z = random_floats({5, 3}, 6);
  for (std::size_t n = 0; n < 5; ++n) {
    for (std::size_t k = 0; k < 2; ++k) {
      double y{bias.values<float>()[k]};
      for (std::size_t c = 0; c < 3; ++c) y += h[n * 3 + c] * double{w.values<float>()[c * 2 + k]};
      want += std::pow(y - double{target.values<float>()[n * 2 + k]}, 2) / 10;
    }
    for (std::size_t c = 0; c < 3; ++c) {
      const std::size_t at = n * 3 + c;
      want += 0.5 * std::fabs(std::tanh(h[at]) - double{wanted_z.values<float>()[at]}) / 15;
      want += std::pow(h[at] - double{x.values<float>()[at]}, 2) / 15;
    }
  }
  CHECK(loss == Approx(want).epsilon(1e-5));
  double later = loss;
  for (int i = 0; i < 20; ++i) later = model.train_step(feeds).scalar("loss");
  CHECK(later < loss);
}

TEST_CASE("a loss model that does not fit is refused with what does not") {
  const auto refuse = [](std::vector<std::byte> loss, const std::string& text) {
    INFO(text);
    CHECK_THROWS_WITH(prepare(two_outputs(), {.loss_model = std::move(loss)}),
                      Catch::Contains(text));
  };
  refuse(other_loss(DType::float32, {"N", 2}, {}, true),
         "has 2 outputs ('loss', 'copy'), needed: one");
  refuse(other_loss(DType::float32, {"N", 2}, {1, 1}),
         "has rank 2, a loss is one number of rank 0");
  refuse(other_loss(DType::float64, {"N", 2}, {}),
         "'y' of the loss model is double, the value of this name in the model is float");
  refuse(other_loss(DType::float32, {"N", 2, 2}, {}), "is of rank 3");
  refuse(other_loss(DType::float32, {"N", 4}, {}), "is 4 along axis 1");
  ModelBuilder integer("loss");
  integer.input("y", DType::float32, {"N", 2});
  integer.node("Shape", {"y"}, {}, "loss");
  integer.output("loss", DType::int64, {2});
  refuse(integer.bytes(), "'loss' of the loss model is no floating point tensor");
  ModelBuilder strange("loss");
  strange.input("prediction", DType::float32, {"N", 2});
  strange.node("ReduceMean", {"prediction"}, {{"keepdims", std::int64_t{0}}}, "loss");
  strange.output("loss", DType::float32, {});
  refuse(strange.bytes(),
         "(it has 'prediction') has the name of a value of the model, whose "
         "outputs are 'y', 'z'");
  refuse(prepare(two_outputs(), {.loss = Loss::mse}).export_training(), "training information");
  CHECK_THROWS_WITH(prepare(two_outputs(), {.output = "z", .loss_model = squares_model()}),
                    Catch::Contains("names the values that it reads"));
  CHECK_THROWS_WITH(prepare(two_outputs(), {.loss_model = std::filesystem::path("none.onnx")}),
                    Catch::Contains("none.onnx"));
}

TEST_CASE("a model is prepared again with another loss model after it was exported") {
  const Model first = prepare(two_outputs(), {.loss_model = squares_model()});
  const Model again =
      prepare(Model::load(first.export_inference()), {.loss_model = squares_model(13)});
  CHECK(after_steps(prepare(Model::load(first.export_inference()), {.loss_model = squares_model()}),
                    batch()) ==
        after_steps(prepare(two_outputs(), {.loss_model = squares_model()}), batch()));
}

TEST_CASE("a loss model is read under the limits of the model") {
  ModelBuilder b = squares();
  b.initializer("large", Tensor(DType::float32, {5000}));
  b.node("ReduceSum", {"large"}, {{"keepdims", std::int64_t{0}}}, "nothing");
  b.node("Add", {"loss", "nothing"}, {}, "sum");
  b.output("sum", DType::float32, {});
  const TemporaryFolder folder;
  b.save(folder / "loss.onnx");
  const auto model = two_outputs();
  LoadOptions load;
  prepare(model, {.loss_model = b.bytes()}, load);
  load.limits.model_bytes = model.size() + 100;
  prepare(model, {.loss = Loss::mse, .output = "y"}, load);
  CHECK_THROWS_WITH(prepare(model, {.loss_model = b.bytes()}, load), Catch::Contains("loss model"));
  CHECK_THROWS_WITH(prepare(model, {.loss_model = folder / "loss.onnx"}, load),
                    Catch::Contains("loss.onnx"));
}
