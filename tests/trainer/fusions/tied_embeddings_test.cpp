// A table that is looked up and multiplied: its gradient is held once.
#include <ondine/build.h>
#include <ondine/model.h>
#include <ondine/prepare.h>

#include <catch2/catch.hpp>

#include "tests/support/fusions_run.h"
#include "tests/support/op_harness.h"
#include "tests/support/temporary_folder.h"

namespace ondine::test {
namespace {

constexpr std::int64_t words = 600;
constexpr std::int64_t width = 64;
constexpr std::uint64_t table_bytes = words * width * sizeof(float);

void write_tied(const std::filesystem::path& file, std::int64_t rows = words,
                const Optimizer& optimizer = Adam{}) {
  ModelBuilder b("tied");
  const std::string ids = b.input("ids", DType::int64, {"N"});
  const std::string table = b.initializer("table", random_floats({rows, width}, 1, -0.3F, 0.3F));
  const std::string x = b.node("Tanh", {b.node("Gather", {table, ids})});
  b.output(b.node("Gemm", {x, table}, {{"transB", std::int64_t{1}}}), DType::float32, {"N", rows});
  b.save(file);
  PrepareOptions options;
  options.train = {"table"};
  options.optimizer = optimizer;
  prepare(file, file, options);
}

NamedValues feeds() {
  return {{"ids", Tensor::of<std::int64_t>({4}, {5, 599, 5, 0})},
          {"label", Tensor::of<std::int64_t>({4}, {599, 1, 2, 5})}};
}

}  // namespace

TEST_CASE("the gradient of a tied table is summed in the memory of the product's") {
  if (!fusions_run()) return;
  const TemporaryFolder folder;
  const auto file = folder / "tied.onnx";
  write_tied(file);
  LoadOptions immediate;
  immediate.updates = UpdatePolicy::immediate;
  LoadOptions apart = immediate;
  apart.no_fusion = {Fusion::fuse_gather_gradient};
  Model model = Model::load(file, immediate);
  Model separate = Model::load(file, apart);
  const std::vector<std::string> loss{"loss"};
  const std::uint64_t once = model.plan(feeds(), 0, loss).arena_bytes;
  CHECK(once >= table_bytes);
  CHECK(once < 3 * table_bytes / 2);
  CHECK(separate.plan(feeds(), 0, loss).arena_bytes >= 2 * table_bytes);
  for (int i = 0; i < 3; ++i) {
    model.train_step(feeds());
    separate.train_step(feeds());
  }
  check_close(model.get_state("table"), separate.get_state("table"), {1e-5, 1e-6});
}

TEST_CASE("the gradient of a large tied table is never held as a whole, with the same bits") {
  if (!fusions_run()) return;
  const TemporaryFolder folder;
  const auto file = folder / "tied.onnx";
  constexpr std::int64_t many = 20'000;
  const std::vector<Optimizer> optimizers{Adam{}, AdamW{}, Momentum{}, Nesterov{}, Adagrad{}};
  for (const Optimizer& optimizer : optimizers) {
    CAPTURE(optimizer.index());
    write_tied(file, many, optimizer);
    LoadOptions options;
    options.no_fusion = {Fusion::fuse_gemm_update};
    Model model = Model::load(file);
    Model separate = Model::load(file, options);
    const std::vector<std::string> loss{"loss"};
    const std::uint64_t large = many * width * sizeof(float);
    CHECK(model.plan(feeds(), 0, loss).arena_bytes < large * 3 / 4);
    CHECK(separate.plan(feeds(), 0, loss).arena_bytes >= large);
    for (int i = 0; i < 3; ++i) {
      model.train_step(feeds());
      separate.train_step(feeds());
    }
    check_close(model.get_state("table"), separate.get_state("table"), {0, 0});
  }
}

TEST_CASE("the decay of a large table takes no second table, with the same bits") {
  if (!fusions_run()) return;
  const TemporaryFolder folder;
  const auto file = folder / "tied.onnx";
  constexpr std::int64_t many = 20'000;
  write_tied(file, many, AdamW{.weight_decay = 0.1F});
  constexpr std::uint64_t large = many * width * sizeof(float);
  const std::vector<std::string> loss{"loss"};
  // The table is a head, too: as such, and as any product.
  for (const char* const names : {"", "recognize_projected_loss"}) {
    LoadOptions options;
    if (*names != '\0') options.no_fusion = fusions_from_name(names);
    LoadOptions apart = options;
    apart.no_fusion.push_back(Fusion::fuse_gemm_update);
    Model model = Model::load(file, options);
    Model separate = Model::load(file, apart);
    CHECK(model.plan(feeds(), 0, loss).arena_bytes < large * 3 / 4);
    for (int i = 0; i < 3; ++i) {
      model.train_step(feeds());
      separate.train_step(feeds());
    }
    check_close(model.get_state("table"), separate.get_state("table"), {0, 0});
  }
}

}  // namespace ondine::test
