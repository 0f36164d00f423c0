// Plans are kept for the shapes that were used last, within bounds that follow from the arena and
// from the limits.
#include <algorithm>
#include <numeric>
#include <thread>

#include <catch2/catch.hpp>

#include <ondine/model.h>

#include "tests/support/models.h"
#include "tests/support/op_harness.h"
#include "tests/support/random_tensor.h"
#include "trainer/model/assemble.h"

namespace ondine::test {
namespace {

constexpr std::uint64_t mebibyte = std::uint64_t{1} << 20;

LoadOptions with_limit(std::uint64_t arena_bytes) {
  LoadOptions options;
  options.limits.arena_bytes = arena_bytes;
  return options;
}

// A model's functions with a runtime that tests can look into.
class Kept {
 public:
  explicit Kept(const graph::ModelDef& model, const LoadOptions& options = {})
      : functions_(trainer::assemble(model, options)),
        inference_(trainer::assemble_inference(model, functions_, functions_.variables, options)) {
    runtime.limits = options.limits;
    runtime.memory_budget = options.memory_budget;
    runtime.budget = std::make_shared<MemoryBudget>(options.limits.arena_bytes);
  }

  trainer::Call& infer() { return inference_.function.call(names(inference_.function), runtime); }
  trainer::Call& step() {
    const trainer::Function& step = functions_.algorithms.at(0).step;
    return step.call(names(step), runtime);
  }
  void forget_inference() { inference_.forget_calls(); }

  // Zeros for `rows` rows of the inputs.
  std::vector<Value> inference(std::int64_t rows) { return inputs(inference_.function, rows); }
  std::vector<Value> training(std::int64_t rows) {
    return inputs(functions_.algorithms.at(0).step, rows);
  }
  std::weak_ptr<const trainer::Plan> plan(std::int64_t rows) {
    return infer().plan(inference(rows));
  }

  std::uint64_t used() const { return runtime.budget->used(); }
  std::uint64_t bytes() const { return runtime.plans->bytes(); }
  std::size_t plans() const { return runtime.plans->size(); }

  trainer::Runtime runtime;

 private:
  static std::span<const std::string> names(const trainer::Function& function) {
    return function.default_outputs;
  }

  std::vector<Value> inputs(const trainer::Function& function, std::int64_t rows) const {
    std::vector<Value> values;
    for (std::size_t i = 0; i < function.inputs.size(); ++i) {
      const trainer::InputSource& source = function.inputs[i];
      const std::string& name = function.input_names[i];
      if (source.variable != trainer::InputSource::no_variable) {
        values.emplace_back(functions_.variables[source.variable].initial);
      } else if (source.fallback->defined()) {
        values.emplace_back(*source.fallback);
      } else if (name == "label") {
        values.emplace_back(Tensor(DType::int64, {rows}));
      } else {
        values.emplace_back(Tensor(DType::float32, {rows, features(function, i)}));
      }
    }
    return values;
  }

  static std::int64_t features(const trainer::Function& function, std::size_t i) {
    return (*function.graph)[function.graph->inputs[i]].declared->dims->at(1).size();
  }

  trainer::Functions functions_;
  trainer::Inference inference_;
};

// The most that a pass over these numbers of rows takes: arena, plans and executors.
std::uint64_t peak_of(Kept& kept, const std::vector<std::int64_t>& lengths) {
  std::uint64_t peak = 0;
  for (const std::int64_t rows : lengths) {
    const auto lease = kept.step().acquire(kept.training(rows));
    peak = std::max(peak, kept.used());
  }
  return peak;
}

// Parameters after two passes over 30 numbers of rows.
std::vector<float> trained(const LoadOptions& options) {
  Model model = Model::load(encode(dropout_classifier()), options);
  for (int pass = 0; pass < 2; ++pass) {
    for (std::int64_t rows = 30; rows > 0; --rows) {
      Tensor labels(DType::int64, {rows});
      model.train_step({{"x", random_floats({rows, 8}, 1)}, {"label", labels}});
    }
  }
  return model.parameters();
}

}  // namespace

TEST_CASE("the least recently used plan is dropped when the kept ones take too many bytes") {
  Kept kept(linear_regression(0.1F));
  const auto first = kept.plan(1);
  const auto second = kept.plan(2);
  std::int64_t rows = 2;
  while (!second.expired() && rows < 1000) {
    CHECK(kept.plan(1).lock() == first.lock());  // used again, so that the second is the oldest
    kept.plan(++rows);
  }
  CHECK(second.expired());
  CHECK_FALSE(first.expired());
  CHECK(rows > 10);
  // All but the last of the call stay within the bound, and one more would not.
  const std::uint64_t one = kept.bytes() / kept.plans();
  CHECK(kept.bytes() < mebibyte + 2 * one);
  CHECK(kept.bytes() > mebibyte - 2 * one);
}

TEST_CASE("each call keeps its last plan, whatever other calls keep") {
  std::uint64_t one = 0;
  {
    Kept any(dropout_classifier());
    any.plan(3);
    one = any.bytes();
  }
  Kept kept(dropout_classifier(), with_limit(15 * one));  // a sixteenth holds no plan
  kept.step().plan(kept.training(3));
  const auto inference = kept.plan(3);
  kept.step().plan(kept.training(4));
  CHECK_FALSE(inference.expired());
  CHECK(kept.plans() == 2);
  kept.plan(5);
  CHECK(inference.expired());
  CHECK(kept.plans() == 2);
}

TEST_CASE("kept plans and their executors are charged, and given back with the calls") {
  Kept kept(linear_regression(0.1F));
  const auto first = kept.plan(1);
  const std::uint64_t one = kept.used();
  CHECK(one == kept.bytes());
  CHECK(one > 1000);
  kept.plan(2);
  CHECK(kept.used() == kept.bytes());
  CHECK(kept.used() > one);
  const std::uint64_t without_executor = kept.used();
  { const auto lease = kept.infer().acquire(kept.inference(2)); }
  CHECK(kept.bytes() > without_executor + sizeof(trainer::Executor));
  kept.forget_inference();
  CHECK(kept.plans() == 0);
  CHECK(first.expired());
  // Only the arena is left.
  CHECK(kept.used() < 1000);
}

TEST_CASE("a plan that fits alone takes the place of the others") {
  std::uint64_t one = 0;
  {
    Kept any(linear_regression(0.1F));
    any.plan(1);
    one = any.used();
  }
  Kept kept(linear_regression(0.1F), with_limit(one * 3 / 2));
  const auto first = kept.plan(1);
  const auto second = kept.plan(2);
  CHECK(first.expired());
  CHECK_FALSE(second.expired());
  Kept narrow(linear_regression(0.1F), with_limit(one / 2));
  CHECK_THROWS_WITH(narrow.plan(1), Catch::Contains("do not fit"));
  CHECK(narrow.used() == 0);
}

TEST_CASE("an arena takes the place of plans that are not in use") {
  const auto rows = std::int64_t{20'000};
  std::uint64_t largest = 0;
  {
    Kept any(dropout_classifier());
    const auto lease = any.step().acquire(any.training(rows));
    largest = any.used();
  }
  Kept kept(dropout_classifier(), with_limit(largest));
  kept.plan(3);
  kept.plan(4);
  {
    const auto lease = kept.step().acquire(kept.training(rows));
    CHECK(kept.used() == largest);
    CHECK(kept.plans() == 1);
  }
  CHECK_NOTHROW(kept.plan(3));
}

TEST_CASE("under a memory budget plans are kept in what it leaves") {
  LoadOptions options;
  options.memory_budget = std::uint64_t{3} << 20;
  Kept roomy(dropout_classifier(), options);
  for (std::int64_t rows = 1; rows < 5; ++rows) roomy.step().plan(roomy.training(rows));
  CHECK(roomy.plans() == 4);
  const std::uint64_t total = roomy.step().plan(roomy.training(4))->total_bytes;
  options.memory_budget = total;
  Kept tight(dropout_classifier(), options);
  for (std::int64_t rows = 1; rows < 5; ++rows) tight.step().plan(tight.training(rows));
  CHECK(tight.plans() == 1);
}

TEST_CASE("500 lengths take at most 1.15 times the memory of the longest alone") {
  constexpr std::int64_t unit = 1000;
  std::vector<std::int64_t> lengths(500);
  std::iota(lengths.begin(), lengths.end(), 1);
  for (std::int64_t& length : lengths) length *= unit;
  Kept alone(dropout_classifier());
  const auto longest = static_cast<double>(peak_of(alone, {lengths.back()}));
  Kept rising(dropout_classifier());
  CHECK(static_cast<double>(peak_of(rising, lengths)) < 1.15 * longest);
  CHECK(rising.plans() > 2);
  std::ranges::reverse(lengths);
  Kept falling(dropout_classifier());
  CHECK(static_cast<double>(peak_of(falling, lengths)) < 1.15 * longest);
}

TEST_CASE("steps have the same bits whether their plans were kept or made again") {
  const std::vector<float> wanted = trained({});
  for (const int threads : {1, 3}) {
    LoadOptions options = with_limit(3 * mebibyte);  // keeps few
    options.threads = threads;
    CHECK(trained(options) == wanted);
  }
}

TEST_CASE("threads that use many shapes at once share the kept plans") {
  LoadOptions options = with_limit(8 * mebibyte);
  const Model model = Model::load(encode(dropout_classifier()), options);
  const auto result = [&](std::int64_t rows) {
    const auto results = model.infer(NamedValues{{"x", random_floats({rows, 8}, 1)}});
    return results[0].second.tensor();
  };
  std::vector<Tensor> wanted;
  for (std::int64_t rows = 1; rows <= 60; ++rows) wanted.push_back(result(rows));
  std::vector<int> wrong(4);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t] {
      for (std::size_t i = 0; i < 240; ++i) {
        const std::size_t row = i * (2 * t + 1) % wanted.size();
        wrong[t] += result(static_cast<std::int64_t>(row) + 1).identical(wanted[row]) ? 0 : 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(std::accumulate(wrong.begin(), wrong.end(), 0) == 0);
}

}  // namespace ondine::test
