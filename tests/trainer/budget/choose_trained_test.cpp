// Parameters chosen for a budget of memory.
#include <ondine/train_budget.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "tests/trainer/adapters/network.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

constexpr std::uint64_t plenty = std::uint64_t{1} << 40;

PrepareOptions options_with(Optimizer optimizer) {
  PrepareOptions options;
  options.optimizer = std::move(optimizer);
  options.init = WeightInit::keep;
  return options;
}

Model network() { return Model::load(three_layers()); }

Dataset six_rows() { return Dataset::from(batch_of_six()); }

// The whole of the rows is one batch.
TrainBudget budget_of(std::uint64_t bytes) { return {.bytes = bytes, .rows = 6, .batches = 1}; }

TrainChoice choice_of(std::uint64_t bytes, const PrepareOptions& options = options_with(Sgd{})) {
  return choose_trained(network(), six_rows(), options, budget_of(bytes));
}

std::uint64_t bytes_of_step(const std::vector<std::string>& trained, PrepareOptions options) {
  options.train = trained;
  PlanRequest request{.shapes = {}, .algorithm = 0};
  for (const auto& [name, value] : batch_of_six()) {
    request.shapes.emplace_back(name, value.tensor().shape());
  }
  const PlanReport plan = prepare(network(), options).plan_report(request);
  return plan.arena_bytes + plan.state_bytes + plan.constant_bytes;
}

// The shares of all parameters in the sum of `of` over their derivatives.
std::map<std::string, double> shares(const PrepareOptions& options,
                                     const std::function<double(double)>& of) {
  std::map<std::string, double> result;
  double total = 0;
  for (const auto& [name, value] : prepare(network(), options).gradients(batch_of_six())) {
    for (const float g : value.tensor().values<float>()) {
      result[name] += of(static_cast<double>(g));
      total += of(static_cast<double>(g));
    }
  }
  for (auto& [name, share] : result) share /= total;
  return result;
}

std::string refusal(const PrepareOptions& options, std::uint64_t bytes, ErrorCode code) {
  try {
    choice_of(bytes, options);
  } catch (const Error& error) {
    CHECK(error.code() == code);
    return error.message();
  }
  return {};
}

}  // namespace

TEST_CASE("With memory for everything all parameters train") {
  const TrainChoice choice = choice_of(plenty);
  CHECK(choice.train.size() == 5);
  CHECK(choice.gain == Approx(1));
  CHECK(choice.bytes == choice.all_bytes);
  CHECK(choice.bytes == bytes_of_step(choice.train, options_with(Sgd{})));
}

TEST_CASE("The gain of a parameter is its share in the fall of the loss") {
  const PrepareOptions plain = options_with(Sgd{});
  const PrepareOptions adaptive = options_with(Adam{});
  const auto squares = shares(plain, [](double g) { return g * g; });
  const auto sizes = shares(adaptive, [](double g) { return std::abs(g); });
  for (const ParameterGain& one : choice_of(plenty, plain).parameters) {
    CHECK(one.gain == Approx(squares.at(one.name)));
  }
  const TrainChoice choice = choice_of(plenty, adaptive);
  for (const ParameterGain& one : choice.parameters) CHECK(one.gain == Approx(sizes.at(one.name)));
  CHECK(std::is_sorted(choice.parameters.begin(), choice.parameters.end(),
                       [](const auto& a, const auto& b) { return a.gain > b.gain; }));
}

TEST_CASE("What is chosen fits the budget, and gains nearly as much as any set of parameters") {
  const PrepareOptions options = options_with(Adam{});
  const TrainChoice all = choice_of(plenty, options);
  std::vector<std::pair<std::uint64_t, double>> sets;  // bytes and gain
  for (unsigned set = 1; set < 32; ++set) {
    std::vector<std::string> names;
    double gain = 0;
    for (std::size_t i = 0; i < 5; ++i) {
      if ((set >> i & 1U) == 0) continue;
      names.push_back(all.parameters[i].name);
      gain += all.parameters[i].gain;
    }
    sets.emplace_back(bytes_of_step(names, options), gain);
  }
  const std::uint64_t least = std::min_element(sets.begin(), sets.end())->first;
  bool leaves_out = false;
  for (int part = 0; part <= 8; ++part) {
    const std::uint64_t bytes = least + (all.bytes - least) * static_cast<std::uint64_t>(part) / 8;
    CAPTURE(bytes);
    double best = 0;
    for (const auto& [needed, gain] : sets) best = needed <= bytes ? std::max(best, gain) : best;
    const TrainChoice choice = choice_of(bytes, options);
    CHECK(choice.bytes <= bytes);
    CHECK(choice.bytes == bytes_of_step(choice.train, options));
    CHECK(choice.gain >= 0.8 * best);
    leaves_out |= choice.train.size() < 5;
  }
  CHECK(leaves_out);
}

TEST_CASE("Of a weight that is too large as a whole the channels with the largest gain train") {
  const PrepareOptions options = options_with(Adam{});
  // The Gemm's weight is [10, 36], with a row for each output.
  const Tensor derivative =
      prepare(network(), options).gradients(batch_of_six())["body.fc2.weight"].tensor();
  std::vector<std::pair<double, std::int64_t>> gains;
  for (std::int64_t channel = 0; channel < 36; ++channel) {
    double gain = 0;
    for (std::int64_t output = 0; output < 10; ++output) {
      const auto at = static_cast<std::size_t>(output * 36 + channel);
      gain += std::abs(static_cast<double>(derivative.values<float>()[at]));
    }
    gains.emplace_back(-gain, channel);
  }
  std::ranges::sort(gains);
  PrepareOptions only = options;
  only.train = {"body.fc2.weight"};
  const std::uint64_t all = choice_of(plenty, only).bytes;
  std::set<std::size_t> counts;
  for (std::uint64_t bytes = all - 1; bytes > all / 2; bytes -= 256) {
    TrainChoice choice;
    try {
      choice = choice_of(bytes, only);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::limit);
      break;
    }
    REQUIRE(choice.parameters.size() == 1);
    const ParameterGain& one = choice.parameters[0];
    std::set<std::int64_t> largest;
    double gain = 0;
    double total = 0;
    for (std::size_t i = 0; i < gains.size(); ++i) {
      if (i < one.channels.size()) largest.insert(gains[i].second);
      if (i < one.channels.size()) gain -= gains[i].first;
      total -= gains[i].first;
    }
    CHECK(one.trained);
    CHECK(std::set<std::int64_t>(one.channels.begin(), one.channels.end()) == largest);
    CHECK(one.trained_gain == Approx(gain / total));
    CHECK(choice.gain == Approx(gain / total));
    CHECK(choice.bytes <= bytes);
    CHECK(choice.bytes == bytes_of_step(choice.train, options));
    CHECK_THAT(to_string(choice), Contains("1 of 1 parameters train, 1 of them in some channels"));
    counts.insert(one.channels.size());
  }
  CHECK(counts == std::set<std::size_t>{5, 9, 18});
}

TEST_CASE("Of parameters that the options freeze none is chosen, and a new head always is") {
  PrepareOptions options = options_with(Sgd{});
  options.freeze = {"body.fc2.*"};
  for (const ParameterGain& one : choice_of(plenty, options).parameters) {
    CHECK_FALSE(one.name.starts_with("body.fc2."));
  }
  options = options_with(Sgd{});
  options.head = NewHead{.classes = 4};
  options.train = {"head.weight", "head.bias"};
  const std::uint64_t head_alone = choice_of(plenty, options).bytes;
  options.train.clear();
  const TrainChoice choice = choice_of(head_alone, options);
  CHECK(std::ranges::count(choice.train, "head.weight") == 1);
  CHECK(std::ranges::count(choice.train, "head.bias") == 1);
}

TEST_CASE("Budgets that nothing fits, networks that have not learned and adapters are refused") {
  CHECK_THAT(refusal(options_with(Sgd{}), 100, ErrorCode::limit),
             Contains("a step takes at least") && Contains("--train-budget) is 100"));
  PrepareOptions drawn = options_with(Sgd{});
  drawn.init = WeightInit::he_uniform;
  CHECK_THAT(refusal(drawn, plenty, ErrorCode::mismatch), Contains("initialization would draw"));
  PrepareOptions adapted = options_with(Sgd{});
  adapted.lora = Lora{.rank = 2};
  CHECK_THAT(refusal(adapted, plenty, ErrorCode::mismatch), Contains("--lora"));
  CHECK_THAT(refusal(options_with(Sgd{}), 0, ErrorCode::invalid_option), Contains("bytes"));
}

TEST_CASE("a choice is told in parameters, their gain and the bytes of a step") {
  TrainChoice choice;
  choice.train = {"w", "b"};
  choice.parameters.resize(8);
  choice.gain = 0.9354;
  choice.bytes = 1258291;
  choice.all_bytes = 900;
  CHECK(to_string(choice) ==
        "2 of 8 parameters train, with 93.5 % of the gain; a step takes 1.2 MiB, one of all 900 B");
}
