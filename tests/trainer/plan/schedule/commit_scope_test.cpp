// A commit section that takes most of the backward pass.
#include <ondine/build.h>
#include <ondine/model.h>
#include <ondine/prepare.h>

#include <catch2/catch.hpp>

#include "tests/support/op_harness.h"
#include "tests/support/temporary_folder.h"

namespace ondine::test {
namespace {

constexpr std::int64_t width = 1024;
constexpr std::int64_t batch = 640;
constexpr int layers = 8;

// Layers whose gradients are smaller than what they are computed from.
void write_layers(const std::filesystem::path& file) {
  ModelBuilder b("layers");
  std::string x = b.input("x", DType::float32, {"N", width});
  for (int i = 0; i < layers; ++i) {
    const auto seed = static_cast<unsigned>(i + 1);
    const std::string w =
        b.initializer("w" + std::to_string(i), random_floats({width, width}, seed, -0.04F, 0.04F));
    x = b.node("Relu", {b.node("MatMul", {x, w})});
  }
  b.output(x, DType::float32, {"N", width});
  b.save(file);
  PrepareOptions options;
  options.optimizer = Adam{};
  options.loss = Loss::mse;
  prepare(file, file, options);
}

}  // namespace

TEST_CASE("gradients of a deep network do not wait for the end of the step") {
  const TemporaryFolder folder;
  const auto file = folder / "layers.onnx";
  write_layers(file);
  LoadOptions options;
  options.updates = UpdatePolicy::immediate;
  Model atomic = Model::load(file);
  Model immediate = Model::load(file, options);
  NamedValues feeds{{"x", random_floats({batch, width}, 90)},
                    {"label", random_floats({batch, width}, 91)}};
  const std::vector<std::string> loss{"loss"};
  constexpr std::uint64_t weights = layers * width * width * sizeof(float);
  const std::uint64_t needed = immediate.plan(feeds, 0, loss).arena_bytes;
  CHECK(atomic.plan(feeds, 0, loss).arena_bytes < needed + weights / 8);
  for (int i = 0; i < 2; ++i) {
    atomic.train_step(feeds);
    immediate.train_step(feeds);
  }
  for (const StateInfo& info : atomic.state()) {
    check_close(atomic.get_state(info.name), immediate.get_state(info.name), {0, 0});
  }
}

}  // namespace ondine::test
