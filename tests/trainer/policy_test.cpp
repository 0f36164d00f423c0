// Update policies, fusion switches and memory budgets change memory and speed, not results.
#include <ondine/model.h>

#include <catch2/catch.hpp>

#include "tests/support/models.h"
#include "tests/support/op_harness.h"

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
  CHECK(direct.plan(feeds(1), 0).state_bytes < atomic.plan(feeds(1), 0).state_bytes);
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
    options.no_fusion = {name};
    check_near(trained(options), all_on);
    check_near(descended(options), descent_on);
  }
  LoadOptions wrong;
  wrong.no_fusion = {"fuse_nothing"};
  CHECK_THROWS_WITH(trained(wrong), Catch::Contains("fuse_nothing"));
}

TEST_CASE("gradient descent is fused into the product that gives the gradient") {
  Model model = Model::load(encode(linear_regression(0.1F)));
  CHECK(model.inspect("optimized").find("Descent") != std::string::npos);
  LoadOptions options;
  options.no_fusion = {"all"};
  Model plain = Model::load(encode(linear_regression(0.1F)), options);
  CHECK(plain.inspect("optimized").find("Descent") == std::string::npos);
}

TEST_CASE("a budget is met with the same bits, or refused with what is needed") {
  const NamedValues batch = feeds(1, 256);
  Model free_model = Model::load(encode(dropout_classifier()));
  const auto bytes = [&](const Model& model) {
    const PlanInfo plan = model.plan(batch, 0);
    return plan.arena_bytes + plan.constant_bytes + plan.state_bytes;
  };
  const std::uint64_t whole = bytes(free_model);
  LoadOptions options;
  options.memory_budget = whole - 1;
  Model lean = Model::load(encode(dropout_classifier()), options);
  REQUIRE(bytes(lean) < whole);
  for (int i = 0; i < 3; ++i) {
    free_model.train_step(batch);
    lean.train_step(batch);
  }
  CHECK(lean.parameters() == free_model.parameters());
  options.memory_budget = 1000;
  Model tiny = Model::load(encode(dropout_classifier()), options);
  CHECK_THROWS_WITH(tiny.train_step(batch), Catch::Contains("1000 bytes does not suffice"));
}

}  // namespace ondine::test
