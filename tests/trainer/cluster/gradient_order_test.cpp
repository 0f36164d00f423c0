// Gradients of a micro-shard in the order in which they are computed.
#include "trainer/cluster/sharded_step.h"

#include <algorithm>
#include <catch2/catch.hpp>

#include "tests/trainer/fit/small_task.h"

using namespace ondine;
using namespace ondine::test;
using cluster::Numbers;
using cluster::ShardedStep;

namespace {

struct Computed {
  Numbers numbers;
  ShardedStep::Progress progress;
  std::vector<std::size_t> told;
};

Computed compute(const ShardedStep& step, const NamedValues& rows) {
  Computed result;
  result.numbers = step.zeros();
  result.progress.computed = [&](std::size_t count) { result.told.push_back(count); };
  step.compute(rows, {0, 0, 16, nullptr}, 1.0, result.numbers, &result.progress);
  return result;
}

std::vector<float> gradient(const ShardedStep& step, const Numbers& numbers, std::size_t i) {
  const std::size_t begin = i == 0 ? 0 : step.gradient_ends()[i - 1];
  const auto first = numbers.floats.begin() + static_cast<std::ptrdiff_t>(step.first_gradient());
  return {first + static_cast<std::ptrdiff_t>(begin),
          first + static_cast<std::ptrdiff_t>(step.gradient_ends()[i])};
}

}  // namespace

TEST_CASE("gradients in the order of their computation are each told as soon as they are there") {
  Model model = classifier_model();
  const std::vector<std::string> rows{"x", "label"};
  const std::vector<std::string> fetched{"loss"};
  ShardedStep step(model, 0, rows, fetched, {});
  const NamedValues batch = classes_data(16);
  const Computed before = compute(step, batch);
  const std::vector<std::size_t>& order = before.progress.order;
  const std::size_t count = step.gradient_ends().size();
  REQUIRE(count >= 2);
  REQUIRE(order.size() == count);
  std::vector<std::vector<float>> gradients;
  for (const std::size_t i : order) gradients.push_back(gradient(step, before.numbers, i));

  step.reorder_gradients(order);
  const Computed after = compute(step, batch);
  CHECK(std::is_sorted(after.progress.order.begin(), after.progress.order.end()));
  std::vector<std::size_t> told = after.told;
  told.erase(std::unique(told.begin(), told.end()), told.end());
  CHECK(told == step.gradient_ends());
  for (std::size_t i = 0; i < count; ++i) CHECK(gradient(step, after.numbers, i) == gradients[i]);

  // The other way round, none is told before the last one is there.
  std::vector<std::size_t> backward(count);
  for (std::size_t i = 0; i < count; ++i) backward[i] = count - 1 - i;
  step.reorder_gradients(backward);
  const Computed last = compute(step, batch);
  CHECK(last.told.front() == step.gradient_ends().back());
  for (std::size_t i = 0; i < count; ++i) {
    CHECK(gradient(step, last.numbers, i) == gradients[count - 1 - i]);
  }
}

TEST_CASE("an update reads each gradient by its name, in any order of the gradients") {
  const auto trained = [](bool reorders) {
    Model model = classifier_model();
    const std::vector<std::string> rows{"x", "label"};
    const std::vector<std::string> fetched{"loss"};
    ShardedStep step(model, 0, rows, fetched, {});
    const NamedValues batch = classes_data(16);
    if (reorders) step.reorder_gradients(compute(step, batch).progress.order);
    const Computed computed = compute(step, batch);
    NamedValues results{{"loss", Value()}};
    step.update(computed.numbers, 16, {}, results);
    return model;
  };
  CHECK(same_state(trained(false), trained(true)));
}
