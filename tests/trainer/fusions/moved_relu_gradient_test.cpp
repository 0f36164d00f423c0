// The derivative of Relu moves before that of MaxPool, which changes speed and memory alone.
#include <ondine/build.h>
#include <ondine/model.h>
#include <ondine/prepare.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/support/fusions_run.h"
#include "tests/support/op_harness.h"
#include "tests/support/temporary_folder.h"

namespace ondine::test {
namespace {

struct Windows {
  std::int64_t size = 2;
  std::int64_t stride = 2;
  std::int64_t pad = 0;
  bool ceil = false;
};

// A convolution, Relu and MaxPool before a Gemm.
std::filesystem::path save_network(const TemporaryFolder& folder, const Windows& windows) {
  using Ints = std::vector<std::int64_t>;
  ModelBuilder b("pooled");
  const auto x = b.input("x", DType::float32, {"N", 2, 17, 19});
  const auto y = b.node("Conv", {x, b.initializer("w", random_floats({4, 2, 3, 3}, 1)),
                                 b.initializer("bias", random_floats({4}, 2))});
  const auto pooled = b.node("MaxPool", {b.node("Relu", {y})},
                             {{"kernel_shape", Ints(2, windows.size)},
                              {"strides", Ints(2, windows.stride)},
                              {"pads", Ints(4, windows.pad)},
                              {"ceil_mode", std::int64_t{windows.ceil ? 1 : 0}}});
  const auto mean = b.node("GlobalAveragePool", {b.node("Sin", {pooled})});
  b.output(b.node("MatMul",
                  {b.node("Flatten", {mean}), b.initializer("classes", random_floats({4, 3}, 3))}),
           DType::float32, {"N", 3});
  const auto file = folder / "pooled.onnx";
  b.save(file);
  PrepareOptions options;
  options.init = WeightInit::keep;
  options.loss = Loss::mse;
  options.optimizer = Sgd{.learning_rate = 0.5F};
  prepare(file, file, options);
  return file;
}

NamedValues batch(std::int64_t size = 3) {
  return {{"x", random_floats({size, 2, 17, 19}, 4)}, {"label", random_floats({size, 3}, 5)}};
}

}  // namespace

TEST_CASE("networks with pooled rectifiers train the same when the derivatives change places") {
  if (!fusions_run()) return;
  const TemporaryFolder folder;
  for (const Windows& windows : {Windows{}, Windows{3, 2, 1}, Windows{3, 1}, Windows{2, 3, 1, true},
                                 Windows{4, 3, 0, true}}) {
    const auto file = save_network(folder, windows);
    LoadOptions apart;
    apart.no_fusion = {Fusion::move_relu_gradient};
    Model moved = Model::load(file);
    Model plain = Model::load(file, apart);
    CAPTURE(windows.size, windows.stride, windows.pad, windows.ceil);
    moved.train_step(batch());
    plain.train_step(batch());
    check_close(moved.get_state("w"), plain.get_state("w"), {0, 0});
    check_close(moved.get_state("bias"), plain.get_state("bias"));
    for (int i = 0; i < 3; ++i) {
      moved.train_step(batch());
      plain.train_step(batch());
    }
    check_close(moved.get_state("w"), plain.get_state("w"), {1e-5, 1e-6});
  }
}

TEST_CASE("what a pooled rectifier gives is not kept for its derivative") {
  if (!fusions_run()) return;
  const TemporaryFolder folder;
  const auto file = save_network(folder, {});
  LoadOptions apart;
  apart.no_fusion = {Fusion::move_relu_gradient};
  const NamedValues feeds = batch(64);
  const std::vector<std::string> loss{"loss"};
  const std::uint64_t kept = std::uint64_t{64} * 4 * 15 * 17 * sizeof(float);
  CHECK(Model::load(file).plan(feeds, 0, loss).arena_bytes + kept / 2 <
        Model::load(file, apart).plan(feeds, 0, loss).arena_bytes);
}

}  // namespace ondine::test
