// Clipped gradients and noise, against gradients of single rows that a model without privacy
// computes one after the other.
#include <catch2/catch.hpp>
#include <cmath>
#include <map>

#include <ondine/build.h>
#include <ondine/prepare.h>

#include "tests/support/random_tensor.h"
#include "tests/support/tensors.h"
#include "tests/trainer/privacy/private_models.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

using Values = std::map<std::string, std::vector<double>>;

Values state_of(const Model& model) {
  Values result;
  for (const StateInfo& one : model.state()) {
    const Tensor value = model.get_state(one.name);
    const auto numbers = value.values<double>();
    result[one.name] = {numbers.begin(), numbers.end()};
  }
  return result;
}

// Amounts that a step with rate 1 subtracts from each variable.
Values step_of(Model& model, Feeds feeds) {
  const Values before = state_of(model);
  model.train_step(feeds);
  Values result;
  for (const auto& [name, after] : state_of(model)) {
    const std::vector<double>& old = before.at(name);
    for (std::size_t i = 0; i < old.size(); ++i) result[name].push_back(old[i] - after[i]);
  }
  return result;
}

Tensor row(const Tensor& all, std::int64_t index) {
  std::vector<std::int64_t> dims(all.shape().begin(), all.shape().end());
  const std::size_t bytes = all.bytes() / static_cast<std::size_t>(dims[0]);
  dims[0] = 1;
  Tensor result(all.dtype(), Shape(dims));
  const auto* from = static_cast<const std::byte*>(all.data());
  std::copy_n(from + static_cast<std::size_t>(index) * bytes, bytes,
              static_cast<std::byte*>(result.mutable_data()));
  return result;
}

double norm_of(const Values& gradient) {
  double sum = 0;
  for (const auto& [name, values] : gradient) {
    for (const double one : values) sum += one * one;
  }
  return std::sqrt(sum);
}

struct Reference {
  Values sum;
  int clipped = 0;  // rows that were
};

// The sum of the clipped gradients of rows 0 to `rows`, each from a model of its own.
Reference clipped_sum(const std::vector<std::byte>& net, const PrepareOptions& options,
                      const NamedValues& data, std::int64_t rows, double clip,
                      const NamedValues& state = {}) {
  Reference result;
  for (std::int64_t i = 0; i < rows; ++i) {
    Model model = prepare(net, options);
    model.set_state(state);
    NamedValues feeds;
    for (const auto& [name, value] : data) feeds.emplace_back(name, row(value.tensor(), i));
    const Values gradient = step_of(model, feeds);
    const double norm = norm_of(gradient);
    if (norm > clip) ++result.clipped;
    for (const auto& [name, values] : gradient) {
      std::vector<double>& sum = result.sum[name];
      sum.resize(values.size());
      for (std::size_t k = 0; k < values.size(); ++k) {
        sum[k] += values[k] * std::min(1.0, clip / norm);
      }
    }
  }
  return result;
}

void compare(const Values& found, const Values& wanted, double divisor) {
  REQUIRE(found.size() == wanted.size());
  for (const auto& [name, values] : wanted) {
    INFO(name);
    const std::vector<double>& other = found.at(name);
    REQUIRE(other.size() == values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      CHECK(other[i] == Approx(values[i] / divisor).margin(1e-11).epsilon(1e-10));
    }
  }
}

constexpr std::int64_t rows = 6;

Tensor labels() { return int64s({0, 2, 1, 1, 0, 2}); }

// Some rows, not all, must be clipped.
void check_network(const std::vector<std::byte>& net, const NamedValues& data, float clip) {
  Model model = prepare(net, private_options(clip, 0, 4));
  const Reference wanted = clipped_sum(net, plain_options(), data, rows, static_cast<double>(clip));
  CHECK(wanted.clipped > 0);
  CHECK(wanted.clipped < rows);
  compare(step_of(model, data), wanted.sum, 4);
}

NamedValues features(const Shape& shape) {
  return {{"x", random_tensor(shape, 5)}, {"label", labels()}};
}

}  // namespace

TEST_CASE("linear layers take the sum of gradients that are clipped for each row") {
  check_network(two_layers(), features({rows, 5}), 1.2F);
}

TEST_CASE("convolutions take the sum of gradients that are clipped for each row") {
  check_network(convolutions(), features({rows, 2, 9, 8}), 6);
}

TEST_CASE("a block of a transformer takes the sum of gradients that are clipped for each row") {
  const Tensor ids = Tensor::of<std::int64_t>(
      {rows, 4}, std::vector<std::int64_t>{0,  1, 1, 6,  2, 2, 2, 2, 3, 4, 5, 6,
                                           -1, 6, 0, -7, 1, 2, 3, 4, 5, 5, 0, 0});
  check_network(attention_block(), {{"ids", ids}, {"label", labels()}}, 1.6F);
}

TEST_CASE("adapters take the sum of gradients that are clipped for each row") {
  const NamedValues data = features({rows, 5});
  PrepareOptions plain = plain_options();
  plain.lora = Lora{.rank = 2, .targets = {"*"}};
  PrepareOptions own = private_options(0.3F, 0, 4);
  own.lora = plain.lora;
  Model model = prepare(two_layers(), own);
  NamedValues state;
  std::uint64_t seed = 20;
  for (const StateInfo& one : model.state()) {
    state.emplace_back(one.name, random_tensor(model.get_state(one.name).shape(), ++seed, -1, 1));
  }
  model.set_state(state);
  const Reference wanted = clipped_sum(two_layers(), plain, data, rows, 0.3F, state);
  CHECK(wanted.clipped > 0);
  compare(step_of(model, data), wanted.sum, 4);
}

TEST_CASE("rows that do not count add nothing, and loss and accuracy are those of the others") {
  NamedValues data = features({rows, 5});
  Model model = prepare(two_layers(), private_options(1.2F, 0, 4));
  const Reference wanted = clipped_sum(two_layers(), plain_options(), data, 2, 1.2F);
  NamedValues first;
  for (const auto& [name, value] : data) {
    const Tensor a = row(value.tensor(), 0), b = row(value.tensor(), 1);
    std::vector<std::int64_t> dims(a.shape().begin(), a.shape().end());
    dims[0] = 2;
    Tensor both(a.dtype(), Shape(dims));
    auto* to = static_cast<std::byte*>(both.mutable_data());
    std::copy_n(static_cast<const std::byte*>(a.data()), a.bytes(), to);
    std::copy_n(static_cast<const std::byte*>(b.data()), b.bytes(), to + a.bytes());
    first.emplace_back(name, both);
  }
  const Model plain = prepare(two_layers(), plain_options());
  const Results expected = plain.eval_step(first);
  data.emplace_back("label_counted",
                    Tensor::of<double>({rows}, std::vector<double>{1, 1, 0, 0, 0, 0}));
  const Results found = model.eval_step(data);
  CHECK(found.scalar("loss") == Approx(expected.scalar("loss")).epsilon(1e-12));
  CHECK(found.scalar("accuracy") == Approx(expected.scalar("accuracy")));
  compare(step_of(model, data), wanted.sum, 4);
}

TEST_CASE("noise has the deviation that was asked for and differs by step and parameter") {
  ModelBuilder b("wide", 17);
  const std::string x = b.input("x", DType::float64, {"N", 80});
  const std::string hidden =
      b.node("MatMul", {x, b.initializer("w1", random_tensor({80, 80}, 1, -1, 1))});
  b.node("MatMul", {hidden, b.initializer("w2", random_tensor({80, 80}, 2, -1, 1))}, {}, "out");
  b.output("out", DType::float64, {"N", 80});
  PrepareOptions options = private_options(0.5F, 3, 4);
  options.loss = Loss::mse;
  Model model = prepare(b.bytes(), options);
  const NamedValues data{{"x", random_tensor({2, 80}, 3)},
                         {"label", random_tensor({2, 80}, 4)},
                         {"label_counted", Tensor::of<double>({2}, std::vector<double>{0, 0})}};
  const Values first = step_of(model, data);
  const Values second = step_of(model, data);
  const double wanted = 0.5 * 3 / 4;
  for (const auto& [name, values] : first) {
    double mean = 0, square = 0;
    for (const double one : values) {
      mean += one / 6400;
      square += one * one / 6400;
    }
    CHECK(std::abs(mean) < 4 * wanted / 80);
    CHECK(std::sqrt(square) == Approx(wanted).epsilon(0.04));
    CHECK(second.at(name) != values);
  }
  CHECK(first.at("w1") != first.at("w2"));
  Model again = prepare(b.bytes(), options);
  CHECK(step_of(again, data) == first);
  LoadOptions other;
  other.seed = 7;
  Model seeded = prepare(b.bytes(), options, other);
  CHECK(step_of(seeded, data) != first);
}
