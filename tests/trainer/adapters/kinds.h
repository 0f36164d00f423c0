// Checks that hold for every kind of adapter.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include <ondine/adapters.h>
#include <ondine/gradcheck.h>

#include "tests/support/temporary_folder.h"
#include "tests/trainer/adapters/network.h"

namespace ondine::test {

// Convolutions of 3 x 3 with a stride, 1 x 1, and dilated; then a linear layer.
inline std::vector<std::byte> image_network() {
  ModelBuilder b("images", 17);
  const auto weight = [&](const char* name, const Shape& shape, std::uint64_t seed) {
    return b.initializer(name, random_floats(shape, seed, -0.5F, 0.5F));
  };
  std::string x = b.input("x", DType::float32, {"N", 3, 9, 9});
  x = b.node("Conv", {x, weight("conv1.weight", {6, 3, 3, 3}, 1), weight("conv1.bias", {6}, 2)},
             {{"strides", std::vector<std::int64_t>{2, 2}},
              {"pads", std::vector<std::int64_t>{1, 1, 1, 1}}});
  x = b.node("Tanh", {x});
  x = b.node("Conv", {x, weight("conv2.weight", {5, 6, 1, 1}, 3)});
  x = b.node("Tanh", {x});
  x = b.node("Conv", {x, weight("conv3.weight", {4, 5, 2, 2}, 4), weight("conv3.bias", {4}, 5)},
             {{"dilations", std::vector<std::int64_t>{2, 2}}});
  x = b.node("Flatten", {b.node("GlobalAveragePool", {b.node("Tanh", {x})})});
  x = b.node("Gemm", {x, weight("head.weight", {4, 4}, 6), weight("head.bias", {4}, 7)});
  b.output(x, DType::float32, {"N", 4});
  return b.bytes();
}

inline NamedValues images() { return {{"x", random_floats({6, 3, 9, 9}, 9)}, batch_of_six()[1]}; }

// Rows of a table, a linear layer with a bias that is added, the mean over tokens, a last layer.
inline std::vector<std::byte> text_network() {
  ModelBuilder b("texts", 17);
  const auto weight = [&](const char* name, const Shape& shape, std::uint64_t seed) {
    return b.initializer(name, random_floats(shape, seed, -0.8F, 0.8F));
  };
  b.input("ids", DType::int64, {"N", "T"});
  std::string x = b.node("Gather", {weight("words.weight", {11, 6}, 1), "ids"});
  x = b.node("MatMul", {x, weight("key.weight", {6, 5}, 2)});
  x = b.node("Tanh", {b.node("Add", {weight("key.bias", {5}, 3), x})});
  x = b.node("ReduceMean", {x}, {{"axes", std::vector<std::int64_t>{1}}, {"keepdims", 0L}});
  x = b.node("MatMul", {x, weight("head.weight", {5, 4}, 4)});
  b.output(b.node("Add", {x, weight("head.bias", {4}, 5)}), DType::float32, {"N", 4});
  return b.bytes();
}

inline NamedValues texts() {
  Tensor ids(DType::int64, {6, 4});
  for (std::size_t i = 0; i < 24; ++i) {
    ids.mutable_values<std::int64_t>()[i] = static_cast<std::int64_t>(i * 7 % 11);
  }
  return {{"ids", ids}, batch_of_six()[1]};
}

inline NamedValues sequences() { return {{"x", random_floats({6, 3, 8}, 9)}, batch_of_six()[1]}; }

inline std::vector<float> first_output(const Model& model, const NamedValues& feeds) {
  const auto results = model.infer({feeds[0]});
  const auto values = results[0].second.tensor().values<float>();
  return {values.begin(), values.end()};
}

inline std::string cat_number(std::size_t number) { return "@" + std::to_string(number); }

// Nothing changes at first; steps change the result; an export with merged weights gives the same
// result and has the nodes of the network; initialize() goes back, from an exported training model
// too. Returns the model after the steps.
inline Model check_kind(const std::vector<std::byte>& network, const PrepareOptions& options,
                        const NamedValues& feeds) {
  const std::vector<float> before = first_output(Model::load(network), feeds);
  Model model = prepare(network, options);
  CHECK(distance(before, first_output(model, feeds)) < 2e-6);
  for (int i = 0; i < 5; ++i) model.train_step(feeds);
  const std::vector<float> tuned = first_output(model, feeds);
  CHECK(distance(before, tuned) > 0.01);
  const std::vector<std::byte> bytes = model.export_inference();
  const Model merged = Model::load(bytes);
  CHECK(adapters(merged).empty());
  CHECK(distance(tuned, first_output(merged, feeds)) < 1e-5);
  CHECK(bytes.size() < network.size() + 700);  // the data record

  const TemporaryFolder folder;
  model.export_training(folder / "train.onnx");
  Model again = Model::load(folder / "train.onnx");
  CHECK(distance(tuned, first_output(again, feeds)) == 0);
  again.initialize(3);
  CHECK(distance(before, first_output(again, feeds)) < 2e-6);
  return model;
}

// Checks the gradients of every trained parameter, in double, after two steps.
inline void check_gradients(const std::vector<std::byte>& network, const PrepareOptions& options,
                            const NamedValues& feeds) {
  Model model = prepare(network, options);
  for (int i = 0; i < 2; ++i) model.train_step(feeds);
  const TemporaryFolder folder;
  model.export_training(folder / "train.onnx");
  const ondine::GradientCheck check(folder / "train.onnx", GradcheckOptions{});
  REQUIRE(check.widened());
  NamedValues wide = feeds;
  if (wide[0].second.tensor().dtype() == DType::float32) {
    wide[0].second = random_tensor(wide[0].second.tensor().shape(), 9);
  }
  const auto results = check.run(wide);
  CHECK_FALSE(results.empty());
  for (const GradcheckResult& one : results) {
    INFO(one.variable << ": " << one.analytic << " and " << one.numeric);
    CHECK(one.passed);
    CHECK(one.numeric != 0);
  }
}

}  // namespace ondine::test
