#include "tests/trainer/prepare/optimizers/reference.h"

#include <catch2/catch.hpp>

#include <ondine/build.h>

namespace ondine::test::optimizers {
namespace {

// Spread over (-1, 1), different for each seed.
double spread(std::size_t i, double seed) {
  const double x = std::sin(static_cast<double>(i + 1) * 12.9898 + seed * 78.233) * 43758.5453;
  return 2 * (x - std::floor(x)) - 1;
}

Numbers numbers(std::size_t count, double seed, double size) {
  Numbers result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = size * spread(i, seed);
  return result;
}

Tensor tensor(const Numbers& values, const Shape& shape) {
  Tensor result(DType::float64, shape);
  std::copy(values.begin(), values.end(), result.mutable_values<double>().begin());
  return result;
}

std::int64_t to_int(std::size_t value) { return static_cast<std::int64_t>(value); }

}  // namespace

Variables Network::start() const {
  Variables result;
  for (std::size_t l = 0; l + 1 < sizes.size(); ++l) {
    const std::string number = std::to_string(l);
    const auto seed = static_cast<double>(l);
    const double size = 1 / std::sqrt(static_cast<double>(sizes[l]));
    const bool turned = convolves && l == 0;
    const std::size_t in = turned ? sizes[l + 1] : sizes[l];
    const std::size_t out = turned ? sizes[l] : sizes[l + 1];
    result.push_back({"w" + number, in, out, false, numbers(in * out, seed + 1, size)});
    result.push_back({"b" + number, 1, sizes[l + 1], true, numbers(sizes[l + 1], seed + 9, 0.5)});
  }
  return result;
}

std::vector<std::byte> Network::model() const {
  ModelBuilder b("layers", opset);
  const Variables variables = start();
  const auto in = to_int(sizes[0]);
  std::string value = "x";
  if (convolves) {
    b.input("x", DType::float64, {"N", 2, 1, in / 2});
  } else {
    b.input("x", DType::float64, {"N", in});
  }
  for (std::size_t l = 0; l + 1 < sizes.size(); ++l) {
    const Variable& w = variables[2 * l];
    const Variable& bias = variables[2 * l + 1];
    const std::string c = b.initializer(bias.name, tensor(bias.w, {to_int(bias.columns)}));
    if (convolves && l == 0) {
      const std::string k = b.initializer(w.name, tensor(w.w, {to_int(w.rows), 2, 1, in / 2}));
      value = b.node("Flatten", {b.node("Conv", {value, k, c})});
      continue;
    }
    const std::string k = b.initializer(w.name, tensor(w.w, {to_int(w.rows), to_int(w.columns)}));
    value = b.node("Add", {b.node("MatMul", {value, k}), c});
  }
  b.output(b.node("Identity", {value}, {}, "y"), DType::float64, {"N", to_int(sizes.back())});
  return b.bytes();
}

NamedValues Network::feeds() const {
  const Numbers x = numbers(rows * sizes[0], 31, 1);
  const Numbers t = numbers(rows * sizes.back(), 47, 2);
  const auto n = to_int(rows);
  const auto in = to_int(sizes[0]);
  return {{"x", tensor(x, convolves ? Shape{n, 2, 1, in / 2} : Shape{n, in})},
          {"label", tensor(t, {n, to_int(sizes.back())})}};
}

double Network::weight(const Variables& at, std::size_t l, std::size_t i, std::size_t o) const {
  return convolves && l == 0 ? at[0].at(o, i) : at[2 * l].at(i, o);
}

std::vector<Numbers> Network::activations(const Variables& at) const {
  const std::size_t layers = sizes.size() - 1;
  std::vector<Numbers> h{numbers(rows * sizes[0], 31, 1)};
  for (std::size_t l = 0; l < layers; ++l) {
    Numbers next(rows * sizes[l + 1]);
    for (std::size_t n = 0; n < rows; ++n) {
      for (std::size_t o = 0; o < sizes[l + 1]; ++o) {
        double sum = at[2 * l + 1].w[o];
        for (std::size_t i = 0; i < sizes[l]; ++i)
          sum += h[l][n * sizes[l] + i] * weight(at, l, i, o);
        next[n * sizes[l + 1] + o] = sum;
      }
    }
    h.push_back(next);
  }
  return h;
}

double Network::loss(const Variables& at) const {
  const Numbers y = activations(at).back();
  const Numbers t = numbers(rows * sizes.back(), 47, 2);
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) sum += (y[i] - t[i]) * (y[i] - t[i]);
  return sum / static_cast<double>(y.size());
}

std::vector<Numbers> Network::gradients(const Variables& at) const {
  const std::size_t layers = sizes.size() - 1;
  const std::vector<Numbers> h = activations(at);
  const Numbers t = numbers(rows * sizes.back(), 47, 2);
  Numbers d = h[layers];
  for (std::size_t i = 0; i < d.size(); ++i)
    d[i] = 2 * (d[i] - t[i]) / static_cast<double>(d.size());
  std::vector<Numbers> result(2 * layers);
  for (std::size_t l = layers; l-- > 0;) {
    const std::size_t in = sizes[l];
    const std::size_t out = sizes[l + 1];
    Numbers w(in * out, 0);
    Numbers bias(out, 0);
    Numbers before(rows * in, 0);
    for (std::size_t n = 0; n < rows; ++n) {
      for (std::size_t o = 0; o < out; ++o) {
        bias[o] += d[n * out + o];
        for (std::size_t i = 0; i < in; ++i) {
          const std::size_t place = convolves && l == 0 ? o * in + i : i * out + o;
          w[place] += h[l][n * in + i] * d[n * out + o];
          before[n * in + i] += d[n * out + o] * weight(at, l, i, o);
        }
      }
    }
    result[2 * l] = w;
    result[2 * l + 1] = bias;
    d = before;
  }
  return result;
}

void check_rule(const Network& network, const PrepareOptions& options, const Rule& rule,
                const Look& look) {
  PrepareOptions asked = options;
  asked.loss = Loss::mse;
  asked.init = WeightInit::keep;
  Model model = prepare(network.model(), asked);
  Variables variables = network.start();
  const Variables first = variables;
  const NamedValues feeds = network.feeds();
  for (int t = 1; t <= 20; ++t) {
    model.train_step(feeds);
    if (look) look(model);
    rule(variables, t, network);
    for (std::size_t v = 0; v < variables.size(); ++v) {
      const Tensor got = model.get_state(variables[v].name);
      const auto elements = got.values<double>();
      REQUIRE(elements.size() == variables[v].w.size());
      double largest = 0;
      double moved = 0;
      for (std::size_t i = 0; i < elements.size(); ++i) {
        largest = std::max(largest, std::abs(elements[i] - variables[v].w[i]));
        moved = std::max(moved, std::abs(elements[i] - first[v].w[i]));
      }
      INFO("step " << t << ", " << variables[v].name);
      CHECK(largest <= 1e-6);
      CHECK(moved > 1e-4);
    }
  }
}

void adamw_step(Variable& variable, const Numbers& g, double t, AdamState& state, double rate,
                double decay, double beta1, double beta2, double epsilon) {
  state.mean.resize(g.size());
  state.squares.resize(g.size());
  const double corrected = rate * std::sqrt(1 - std::pow(beta2, t)) / (1 - std::pow(beta1, t));
  for (std::size_t i = 0; i < g.size(); ++i) {
    state.mean[i] = beta1 * state.mean[i] + (1 - beta1) * g[i];
    state.squares[i] = beta2 * state.squares[i] + (1 - beta2) * g[i] * g[i];
    variable.w[i] -= corrected * state.mean[i] / (std::sqrt(state.squares[i]) + epsilon) +
                     rate * decay * variable.w[i];
  }
}

}  // namespace ondine::test::optimizers
