// AdamW with moments of 8 bits, against plain loops in double that round in the same way.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include <ondine/error.h>

#include "tests/trainer/prepare/optimizers/reference.h"

using namespace ondine;
using namespace ondine::test::optimizers;

namespace {

// 64 x 70 elements are 20 blocks of 224; the others keep moments of full precision.
const Network network{{64, 70, 3}};
constexpr std::size_t block = 224;

double rounded(float value) { return static_cast<double>(value); }

// The levels of a moment: s c |c| or s c^4.
struct Levels {
  double power = 2;
  double most = 127;

  double value(double c) const { return std::pow(std::abs(c), power); }
  // The level for a value in units of the scale: the one above where it has passed the part 1 - u.
  double code(double units, double u) const {
    double low = 0;
    while (low < most && value(low + 1) <= units * (1 + 1e-12)) ++low;
    const double part = (units - value(low)) / (value(low + 1) - value(low));
    return std::min(most, part + u >= 1 ? low + 1 : low);
  }
};
const Levels of_mean{2, 127};
const Levels of_squares{4, 255};

// Replaces each element by what its code stands for.
void round_blocks(Numbers& moment, const Levels& levels, double u) {
  for (std::size_t first = 0; first < moment.size(); first += block) {
    double largest = 0;
    for (std::size_t i = first; i < first + block; ++i) {
      largest = std::max(largest, std::abs(moment[i]));
    }
    const double scale = std::max(largest / levels.value(levels.most), 1e-37);
    for (std::size_t i = first; i < first + block; ++i) {
      const double code = levels.code(std::abs(moment[i]) / scale, u);
      moment[i] = std::copysign(scale * levels.value(code), moment[i]);
    }
  }
}

Rule adamw8(const AdamW8& settings) {
  AdamState blocks;
  std::vector<AdamState> others;
  return [=](Variables& variables, double t, const Network& net) mutable {
    const auto gradients = net.gradients(variables);
    others.resize(variables.size());
    const double rate = rounded(settings.learning_rate);
    const double decay = rounded(settings.weight_decay);
    const double beta1 = rounded(settings.beta1);
    const double beta2 = rounded(settings.beta2);
    const double epsilon = rounded(settings.epsilon);
    for (std::size_t v = 1; v < variables.size(); ++v) {
      adamw_step(variables[v], gradients[v], t, others[v], rate, decay, beta1, beta2, epsilon);
    }
    const Numbers& g = gradients[0];
    Numbers& w = variables[0].w;
    blocks.mean.resize(g.size());
    blocks.squares.resize(g.size());
    for (std::size_t i = 0; i < g.size(); ++i) {
      double& m = blocks.mean[i];
      double& s = blocks.squares[i];
      m = beta1 * m + (1 - beta1) * g[i];
      s = beta2 * s + (1 - beta2) * g[i] * g[i];
      const double corrected = m / (1 - std::pow(beta1, t));
      const double root = std::sqrt(s / (1 - std::pow(beta2, t)));
      w[i] -= rate * (corrected / (root + epsilon) + decay * w[i]);
    }
    const double turns = t * 0.61803398874989485;
    const double u = turns - std::floor(turns);
    round_blocks(blocks.mean, of_mean, u);
    round_blocks(blocks.squares, of_squares, u);
  };
}

}  // namespace

TEST_CASE("8-bit AdamW takes the steps of AdamW with rounded moments") {
  for (const float decay : {0.0F, 0.5F}) {
    const AdamW8 settings{.learning_rate = 0.01F, .epsilon = 1e-6F, .weight_decay = decay};
    check_rule(network, {.optimizer = settings}, adamw8(settings));
  }
}

TEST_CASE("moments of 8 bits take two bytes for each element and two numbers for each block") {
  Model model = prepare(network.model(), {.loss = Loss::mse, .optimizer = AdamW8{}});
  model.train_step(network.feeds());
  std::map<std::string, Tensor> states;
  for (const StateInfo& one : model.state()) states.emplace(one.name, model.get_state(one.name));
  CHECK(states.at("w0.mean.codes").dtype() == DType::int8);
  CHECK(states.at("w0.mean.codes").shape() == Shape{20, 224});
  CHECK(states.at("w0.squares.codes").dtype() == DType::uint8);
  CHECK(states.at("w0.squares.codes").shape() == Shape{20, 224});
  CHECK(states.at("w0.mean.scales").shape() == Shape{20, 1});
  CHECK(states.at("w0.squares.scales").shape() == Shape{20, 1});
  CHECK(states.at("w1.mean").dtype() == DType::float64);
  CHECK_FALSE(states.contains("w0.mean"));
}

// Steps of v are smaller than the distance of two levels.
TEST_CASE("over many steps rounded moments of squares keep their mean") {
  Network net{{64, 70, 3}};
  Model rounds = prepare(
      net.model(),
      {.loss = Loss::mse, .optimizer = AdamW8{.learning_rate = 1e-9F}, .init = WeightInit::keep});
  Model whole = prepare(
      net.model(),
      {.loss = Loss::mse, .optimizer = AdamW{.learning_rate = 1e-9F}, .init = WeightInit::keep});
  for (int i = 0; i < 2000; ++i) {
    rounds.train_step(net.feeds());
    whole.train_step(net.feeds());
  }
  const Tensor codes = rounds.get_state("w0.squares.codes");
  const Tensor scales = rounds.get_state("w0.squares.scales");
  const Tensor wanted = whole.get_state("w0.squares");
  double got_sum = 0;
  double wanted_sum = 0;
  for (std::size_t i = 0; i < 64 * 70; ++i) {
    const double scale = scales.values<double>()[i / block];
    got_sum += std::sqrt(scale) * std::pow(codes.values<std::uint8_t>()[i], 2);
    wanted_sum += std::sqrt(wanted.values<double>()[i]);
  }
  CHECK(got_sum == Approx(wanted_sum).epsilon(0.01));
}
