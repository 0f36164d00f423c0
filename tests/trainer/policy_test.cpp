// Update policies, fusion switches and memory budgets change memory and speed, not results.
#include <ondine/build.h>
#include <ondine/model.h>
#include <ondine/prepare.h>

#include <catch2/catch.hpp>

#include "tests/support/fusions_run.h"
#include "tests/support/models.h"
#include "tests/support/op_harness.h"
#include "tests/support/temporary_folder.h"

namespace ondine::test {
namespace {

NamedValues feeds(std::uint64_t seed, std::int64_t batch = 16) {
  Tensor labels(DType::int64, {batch});
  std::int64_t next = static_cast<std::int64_t>(seed);
  for (std::int64_t& label : labels.mutable_values<std::int64_t>()) label = next++ % 4;
  return {{"x", random_floats({batch, 8}, seed)}, {"label", labels}};
}

std::vector<float> trained(const LoadOptions& options) {
  Model model = Model::load(encode(dropout_classifier()), options);
  model.initialize(3);
  for (std::uint64_t i = 0; i < 5; ++i) model.train_step(feeds(i));
  return model.parameters();
}

std::vector<float> descended(const LoadOptions& options) {
  Model model = Model::load(encode(linear_regression(0.05F)), options);
  const NamedValues batch{{"x", Tensor::of<float>({2, 2}, {1, 2, 3, 4})},
                          {"t", Tensor::of<float>({2, 1}, {1, -1})}};
  for (int i = 0; i < 4; ++i) model.train_step(batch);
  return model.parameters();
}

const std::vector<std::string> loss_only{"loss"};

// Products with bounds between them: what a bound gives is needed again for the next product's
// weights, and follows from what its own derivative needs.
void write_chain(const std::filesystem::path& file, const Optimizer& optimizer = Sgd{}) {
  ModelBuilder builder("chain");
  builder.initializer("low", Tensor::scalar(-1.0F));
  builder.initializer("high", Tensor::scalar(1.0F));
  std::string x = builder.input("x", DType::float32, {"N", 32});
  for (std::uint64_t i = 0; i < 6; ++i) {
    const auto w =
        builder.initializer("w" + std::to_string(i), random_floats({32, 32}, i, -0.3F, 0.3F));
    x = builder.node("Clip", {builder.node("Gemm", {x, w}), "low", "high"});
  }
  builder.output(x, DType::float32, {"N", 32});
  builder.save(file);
  PrepareOptions options;
  options.train = {"w*"};
  options.optimizer = optimizer;
  prepare(file, file, options);
}

NamedValues chain_feeds(std::int64_t batch = 256) {
  Tensor labels(DType::int64, {batch});
  std::int64_t next = 0;
  for (std::int64_t& label : labels.mutable_values<std::int64_t>()) label = next++ % 32;
  return {{"x", random_floats({batch, 32}, 9)}, {"label", labels}};
}

std::uint64_t planned_bytes(const Model& model, std::int64_t batch = 256) {
  const PlanInfo plan = model.plan(chain_feeds(batch), 0, loss_only);
  return plan.arena_bytes + plan.constant_bytes + plan.state_bytes;
}

void check_near(const std::vector<float>& got, const std::vector<float>& want) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(want[i]).epsilon(1e-5));
}

}  // namespace

TEST_CASE("immediate updates give the bits of atomic ones and take less state") {
  LoadOptions immediate;
  immediate.updates = UpdatePolicy::immediate;
  CHECK(trained(immediate) == trained({}));
  CHECK(descended(immediate) == descended({}));
  const Model atomic = Model::load(encode(dropout_classifier()));
  const Model direct = Model::load(encode(dropout_classifier()), immediate);
  CHECK(direct.plan(feeds(1), 0, loss_only).state_bytes <
        atomic.plan(feeds(1), 0, loss_only).state_bytes);
}

TEST_CASE("gradients do not wait for the count of steps under immediate updates") {
  const TemporaryFolder folder;
  const auto file = folder / "chain.onnx";
  LoadOptions immediate;
  immediate.updates = UpdatePolicy::immediate;
  write_chain(file, Adam{});
  Model atomic = Model::load(file);
  Model direct = Model::load(file, immediate);
  const std::int64_t batch = 1;
  CHECK(direct.plan(chain_feeds(batch), 0, loss_only).arena_bytes <
        atomic.plan(chain_feeds(batch), 0, loss_only).arena_bytes / 2);
  for (Model* model : {&atomic, &direct}) {
    for (int i = 0; i < 3; ++i) model->train_step(chain_feeds(batch));
  }
  CHECK(direct.parameters() == atomic.parameters());
}

TEST_CASE("immediate updates leave the initial values for initialize") {
  LoadOptions options;
  options.updates = UpdatePolicy::immediate;
  Model model = Model::load(encode(linear_regression(0.1F)), options);
  const Tensor before = model.get_state("w");
  const NamedValues batch{{"x", Tensor::of<float>({1, 2}, {1, 2})},
                          {"t", Tensor::of<float>({1, 1}, {1})}};
  for (int i = 0; i < 3; ++i) model.train_step(batch);
  CHECK_FALSE(model.get_state("w").identical(before));
  model.initialize();
  CHECK(model.get_state("w").identical(before));
}

TEST_CASE("each fusion pass can be left out and the results agree") {
  const auto all_on = trained({});
  const auto descent_on = descended({});
  auto names = fusion_names();
  REQUIRE_FALSE(names.empty());
  names.emplace_back("all");
  for (const std::string& name : names) {
    INFO(name);
    LoadOptions options;
    options.no_fusion = fusions_from_name(name);
    check_near(trained(options), all_on);
    check_near(descended(options), descent_on);
  }
  CHECK_THROWS_WITH(fusions_from_name("fuse_nothing"), Catch::Contains("fuse_nothing"));
}

TEST_CASE("gradient descent is fused into the product that gives the gradient") {
  if (!fusions_run()) return;
  Model model = Model::load(encode(linear_regression(0.1F)));
  CHECK(model.inspect("optimized").find("SgdUpdate") != std::string::npos);
  LoadOptions options;
  options.no_fusion = fusions_from_name("all");
  Model plain = Model::load(encode(linear_regression(0.1F)), options);
  CHECK(plain.inspect("optimized").find("SgdUpdate") == std::string::npos);
}

TEST_CASE("a budget is met with the same bits, or refused with the bytes needed") {
  const TemporaryFolder folder;
  const auto file = folder / "chain.onnx";
  write_chain(file);
  Model ample = Model::load(file);
  const std::uint64_t whole = planned_bytes(ample);
  LoadOptions options;
  options.memory_budget = whole * 9 / 10;
  Model lean = Model::load(file, options);
  CHECK(planned_bytes(lean) <= *options.memory_budget);
  NamedValues results{{"loss", Value()}};
  for (int i = 0; i < 3; ++i) {
    ample.train_step_into(chain_feeds(), 0, results);
    lean.train_step_into(chain_feeds(), 0, results);
  }
  CHECK(lean.parameters() == ample.parameters());
  options.memory_budget = 1000;
  Model tiny = Model::load(file, options);
  std::string message;
  try {
    tiny.train_step_into(chain_feeds(), 0, results);
  } catch (const Error& error) {
    message = error.what();
  }
  CHECK_THAT(message, Catch::Contains("1000 bytes does not suffice"));
  const auto number_behind = [&](const std::string& words) {
    return std::stoull(message.substr(message.find(words) + words.size()));
  };
  CHECK(number_behind("the call needs ") < number_behind(", without "));
}

TEST_CASE("values that need more memory than is allowed are computed again, or refused by size") {
  const TemporaryFolder folder;
  const auto file = folder / "chain.onnx";
  write_chain(file);
  const auto arena = [&](std::uint64_t limit) {
    LoadOptions options;
    options.limits.arena_bytes = limit;
    return Model::load(file, options).plan(chain_feeds(), 0, loss_only).arena_bytes;
  };
  const std::uint64_t whole = arena(std::uint64_t{1} << 30);
  CHECK(arena(whole * 9 / 10) <= whole * 9 / 10);
  const std::string size = std::to_string(256 * 32 * sizeof(float));
  for (const std::uint64_t limit : {whole / 50, std::uint64_t{256} * 32 * sizeof(float)}) {
    CHECK_THROWS_WITH(arena(limit), Catch::Contains(std::to_string(limit) + " are allowed; the ") &&
                                        Catch::Contains(" with " + size));
  }
}

TEST_CASE("large plans recompute cheap values instead of storing them, unless a budget is met") {
  const TemporaryFolder folder;
  const auto file = folder / "chain.onnx";
  write_chain(file);
  const std::int64_t batch = 16384;
  Model lean = Model::load(file);
  LoadOptions options;
  options.memory_budget = std::uint64_t{1} << 40;
  Model ample = Model::load(file, options);
  const std::uint64_t whole = planned_bytes(ample, batch);
  CHECK(planned_bytes(lean, batch) < whole);
  // Below what clipped values give: products are computed again, too.
  options.memory_budget = whole * 6 / 10;
  Model tight = Model::load(file, options);
  CHECK(planned_bytes(tight, batch) <= *options.memory_budget);
  NamedValues results{{"loss", Value()}};
  for (Model* model : {&ample, &lean, &tight}) {
    model->train_step_into(chain_feeds(batch), 0, results);
  }
  CHECK(lean.parameters() == ample.parameters());
  CHECK(tight.parameters() == ample.parameters());
}

}  // namespace ondine::test
