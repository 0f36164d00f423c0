// State variables that come from a file are in memory once: what seeds them is given back.
#include <catch2/catch.hpp>

#include <atomic>
#include <filesystem>
#include <thread>

#include <ondine/build.h>
#include <ondine/model.h>
#include <ondine/prepare.h>

#include "tests/support/random_tensor.h"
#include "tests/support/resident_bytes.h"
#include "tests/support/temporary_folder.h"

namespace ondine::test {
namespace {

constexpr std::int64_t width = 1024;
constexpr int layers = 6;
constexpr std::size_t weight_bytes = layers * width * width * sizeof(float);

// The length of the name decides where the weights lie in the file, and so whether they are read
// there or copied.
void write_network(const std::filesystem::path& file, std::size_t length) {
  ModelBuilder builder(std::string(length, 'n'));
  std::string x = builder.input("x", DType::float32, {"N", width});
  for (std::uint64_t i = 0; i < layers; ++i) {
    const auto w =
        builder.initializer("w" + std::to_string(i), random_floats({width, width}, i, -0.1F, 0.1F));
    x = builder.node("Gemm", {x, w});
  }
  builder.output(x, DType::float32, {"N", width});
  builder.save(file);
  PrepareOptions options;
  options.init = WeightInit::keep;
  prepare(file, file, options);
}

NamedValues feeds() {
  return {{"x", random_floats({2, width}, 9)}, {"label", Tensor::of<std::int64_t>({2}, {1, 2})}};
}

}  // namespace

TEST_CASE("trained weights are resident once, wherever they lie in their file") {
  for (std::size_t length = 1; length <= 8; ++length) {
    const TemporaryFolder folder;
    const auto file = folder / "network.onnx";
    write_network(file, length);
    LoadOptions options;
    options.updates = UpdatePolicy::immediate;
    const std::size_t before = resident_bytes();
    Model model = Model::load(file, options);
    const Results evaluated = model.eval_step(feeds());
    model.train_step(feeds());
    model.train_step(feeds());
    const PlanInfo plan = model.plan(feeds(), 0);
    const std::size_t most = plan.arena_bytes + plan.state_bytes + weight_bytes / 2;
    CHECK(resident_bytes() < before + most);
    model.initialize();
    model.train_step(feeds());
    CHECK(resident_bytes() < before + most);
  }
}

TEST_CASE("initialize gives trained weights the values of their file again") {
  for (std::size_t length = 1; length <= 8; ++length) {
    const TemporaryFolder folder;
    const auto file = folder / "network.onnx";
    write_network(file, length);
    Model model = Model::load(file);
    const Tensor first = model.get_state("w0");
    CHECK(first.identical(random_floats({width, width}, 0, -0.1F, 0.1F)));
    for (int round = 0; round < 2; ++round) {
      model.train_step(feeds());
      CHECK_FALSE(model.get_state("w0").identical(first));
      model.initialize();
      CHECK(model.get_state("w0").identical(first));
    }
  }
}

TEST_CASE("inference beside the first step sees the weights of before or after it") {
  for (std::size_t length = 1; length <= 8; ++length) {
    const TemporaryFolder folder;
    const auto file = folder / "network.onnx";
    write_network(file, length);
    Model model = Model::load(file);
    const Tensor x = random_floats({2, width}, 9);
    const Tensor old = Model::load(file).infer({{"x", x}})[0].second.tensor();
    std::atomic<bool> done{false};
    std::atomic<int> wrong{0};
    std::vector<Tensor> seen;
    std::thread reader([&] {
      do {
        seen.push_back(model.infer({{"x", x}})[0].second.tensor().clone());
      } while (!done);
    });
    model.train_step(feeds());
    done = true;
    reader.join();
    const Tensor now = model.infer({{"x", x}})[0].second.tensor();
    for (const Tensor& y : seen) {
      if (!y.identical(old) && !y.identical(now)) ++wrong;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("the zeros that adapters begin with are resident once, as state") {
  const TemporaryFolder folder;
  const auto file = folder / "network.onnx";
  ModelBuilder builder("network");
  const std::string x = builder.input("x", DType::float32, {"N", width});
  std::string y = x;
  for (int i = 0; i < layers; ++i) {
    const auto w =
        builder.initializer("w" + std::to_string(i), random_floats({width, width}, 1, -0.1F, 0.1F));
    y = builder.node("MatMul", {y, w});
  }
  builder.output(y, DType::float32, {"N", width});
  builder.save(file);
  PrepareOptions options;
  options.optimizer = Sgd{};
  options.lora = Lora{.rank = width / 2, .targets = {"w*"}};
  prepare(file, file, options);
  const std::size_t before = resident_bytes();
  Model model = Model::load(file);
  model.initialize();
  model.train_step(feeds());
  const PlanInfo plan = model.plan(feeds(), 0);
  const std::size_t planned = plan.arena_bytes + plan.constant_bytes + plan.state_bytes;
  constexpr std::size_t zeros = weight_bytes / 2;
  CHECK(resident_bytes() < before + planned + zeros * 3 / 4);
}

}  // namespace ondine::test
