#include <array>
#include <cmath>
#include <functional>

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;

namespace {

std::int64_t steps = 3;
std::int64_t batch = 2;
constexpr std::int64_t input = 2;
std::int64_t hidden = 3;

// Other dims until the end of a test.
struct OtherDims {
  OtherDims(std::int64_t s, std::int64_t b, std::int64_t h) { set(s, b, h); }
  ~OtherDims() { set(3, 2, 3); }
  OtherDims(const OtherDims&) = delete;
  OtherDims& operator=(const OtherDims&) = delete;
  static void set(std::int64_t s, std::int64_t b, std::int64_t h) {
    steps = s;
    batch = b;
    hidden = h;
  }
};

double at(const Tensor& t, std::int64_t i) {
  return t.values<double>()[static_cast<std::size_t>(i)];
}
double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

struct Setting {
  std::string op;
  std::int64_t gates;
  std::int64_t directions = 1;
  bool bias = true;
  bool lengths = false;
  bool initial = true;
  bool peephole = false;
  graph::Attributes attributes = {};
};

std::int64_t flag(const Setting& s, std::string_view name) {
  const auto* a = graph::find(s.attributes, name);
  return a != nullptr ? std::get<std::int64_t>(a->data) : 0;
}
// Value x as the activation of a gate sees it: clipped if `clip` is set.
double clipped(const Setting& s, double x) {
  const auto* a = graph::find(s.attributes, "clip");
  if (a == nullptr) return x;
  const double bound = double{std::get<float>(a->data)};
  return std::clamp(x, -bound, bound);
}
std::string direction(const Setting& s) {
  const auto* a = graph::find(s.attributes, "direction");
  return a != nullptr ? std::get<std::string>(a->data) : "forward";
}

std::vector<Value> operands(const Setting& s) {
  const bool batch_first = flag(s, "layout") != 0;
  const Shape x = batch_first ? Shape{batch, steps, input} : Shape{steps, batch, input};
  const Shape state =
      batch_first ? Shape{batch, s.directions, hidden} : Shape{s.directions, batch, hidden};
  std::vector<Value> in(8);
  in[0] = random_tensor(x, 1);
  in[1] = random_tensor({s.directions, s.gates * hidden, input}, 2, -1, 1);
  in[2] = random_tensor({s.directions, s.gates * hidden, hidden}, 3, -1, 1);
  if (s.bias) in[3] = random_tensor({s.directions, 2 * s.gates * hidden}, 4, -1, 1);
  if (s.lengths) {
    in[4] = Tensor(DType::int32, {batch});
    for (std::int64_t b = 0; b < batch; ++b) {
      in[4].tensor().mutable_values<std::int32_t>()[static_cast<std::size_t>(b)] =
          static_cast<std::int32_t>(std::min<std::int64_t>(steps, 2 + b));
    }
  }
  if (s.initial) in[5] = random_tensor(state, 5, -1, 1);
  if (s.initial && s.gates == 4) in[6] = random_tensor(state, 6, -1, 1);
  if (s.peephole) in[7] = random_tensor({s.directions, 3 * hidden}, 7, -1, 1);
  while (in.back().kind() == Value::Kind::none) in.pop_back();
  return in;
}

// Y, Y_h and Y_c sample by sample, from the equations, with the default activations.
std::vector<Tensor> expected(const Setting& s) {
  auto in = operands(s);
  in.resize(8);
  const bool batch_first = flag(s, "layout") != 0;
  const auto value = [&](std::size_t i, std::int64_t k) {
    return in[i].kind() == Value::Kind::none ? 0.0 : at(in[i].tensor(), k);
  };
  const Shape state =
      batch_first ? Shape{batch, s.directions, hidden} : Shape{s.directions, batch, hidden};
  Tensor y(DType::float64, batch_first ? Shape{batch, steps, s.directions, hidden}
                                       : Shape{steps, s.directions, batch, hidden});
  Tensor y_h(DType::float64, state);
  Tensor y_c(DType::float64, state);
  for (std::int64_t d = 0; d < s.directions; ++d) {
    const bool backwards = d == 1 || direction(s) == "reverse";
    for (std::int64_t b = 0; b < batch; ++b) {
      const std::int64_t length =
          s.lengths ? in[4].tensor().item<std::int32_t>(static_cast<std::size_t>(b)) : steps;
      const std::int64_t at_state = (batch_first ? b * s.directions + d : d * batch + b) * hidden;
      std::vector<double> h, c;
      for (std::int64_t k = 0; k < hidden; ++k) {
        h.push_back(value(5, at_state + k));
        c.push_back(value(6, at_state + k));
      }
      for (std::int64_t i = 0; i < length; ++i) {
        const std::int64_t t = backwards ? length - 1 - i : i;
        const std::int64_t row = (batch_first ? b * steps + t : t * batch + b) * input;
        const auto w = [&](std::int64_t g, std::int64_t k) {
          double sum = value(3, d * 2 * s.gates * hidden + g * hidden + k);
          for (std::int64_t j = 0; j < input; ++j) {
            sum += value(0, row + j) * value(1, ((d * s.gates + g) * hidden + k) * input + j);
          }
          return sum;
        };
        const auto r = [&](std::int64_t g, std::int64_t k, const std::vector<double>& v) {
          double sum = value(3, (d * 2 + 1) * s.gates * hidden + g * hidden + k);
          for (std::int64_t j = 0; j < hidden; ++j) {
            sum += v[static_cast<std::size_t>(j)] *
                   value(2, ((d * s.gates + g) * hidden + k) * hidden + j);
          }
          return sum;
        };
        const auto p = [&](std::int64_t g, std::int64_t k) {
          return value(7, (d * 3 + g) * hidden + k);
        };
        const auto gate_of = [&](double x) { return sigmoid(clipped(s, x)); };
        const auto squash = [&](double x) { return std::tanh(clipped(s, x)); };
        std::vector<double> next_h = h, next_c = c, reset = h;
        if (s.gates == 3) {
          for (std::int64_t k = 0; k < hidden; ++k) {
            reset[static_cast<std::size_t>(k)] *= gate_of(w(1, k) + r(1, k, h));
          }
        }
        for (std::int64_t k = 0; k < hidden; ++k) {
          const auto u = static_cast<std::size_t>(k);
          if (s.gates == 1) {
            next_h[u] = squash(w(0, k) + r(0, k, h));
          } else if (s.gates == 3) {
            const double z = gate_of(w(0, k) + r(0, k, h));
            const double gate = gate_of(w(1, k) + r(1, k, h));
            const double inner =
                flag(s, "linear_before_reset") != 0 ? gate * r(2, k, h) : r(2, k, reset);
            next_h[u] = (1 - z) * squash(w(2, k) + inner) + z * h[u];
          } else {
            const double i_gate = gate_of(w(0, k) + r(0, k, h) + p(0, k) * c[u]);
            const double f_gate = flag(s, "input_forget") != 0
                                      ? 1 - i_gate
                                      : gate_of(w(2, k) + r(2, k, h) + p(2, k) * c[u]);
            next_c[u] = f_gate * c[u] + i_gate * squash(w(3, k) + r(3, k, h));
            const double o_gate = gate_of(w(1, k) + r(1, k, h) + p(1, k) * next_c[u]);
            next_h[u] = o_gate * std::tanh(next_c[u]);
          }
        }
        h = next_h;
        c = next_c;
        const std::int64_t to = (batch_first ? (b * steps + t) * s.directions + d
                                             : (t * s.directions + d) * batch + b) *
                                hidden;
        for (std::size_t k = 0; k < h.size(); ++k) {
          y.mutable_values<double>()[static_cast<std::size_t>(to) + k] = h[k];
        }
      }
      for (std::size_t k = 0; k < h.size(); ++k) {
        y_h.mutable_values<double>()[static_cast<std::size_t>(at_state) + k] = h[k];
        y_c.mutable_values<double>()[static_cast<std::size_t>(at_state) + k] = c[k];
      }
    }
  }
  if (s.gates == 4) return {y, y_h, y_c};
  return {y, y_h};
}

std::vector<Setting> settings() {
  std::vector<Setting> result;
  for (const auto& [op, gates] :
       {std::pair<std::string, std::int64_t>{"RNN", 1}, {"GRU", 3}, {"LSTM", 4}}) {
    result.push_back({op, gates});
    result.push_back({.op = op, .gates = gates, .bias = false, .initial = false});
    result.push_back({.op = op,
                      .gates = gates,
                      .lengths = true,
                      .attributes = {{"direction", std::string("reverse")}}});
    result.push_back(
        {.op = op,
         .gates = gates,
         .directions = 2,
         .lengths = true,
         .attributes = {{"direction", std::string("bidirectional")}, {"hidden_size", hidden}}});
    result.push_back({.op = op,
                      .gates = gates,
                      .directions = 2,
                      .attributes = {{"direction", std::string("bidirectional")}, {"layout", 1L}}});
  }
  result.push_back({.op = "GRU", .gates = 3, .attributes = {{"linear_before_reset", 1L}}});
  result.push_back({.op = "GRU",
                    .gates = 3,
                    .directions = 2,
                    .lengths = true,
                    .attributes = {{"linear_before_reset", 1L},
                                   {"layout", 1L},
                                   {"direction", std::string("bidirectional")}}});
  result.push_back({.op = "LSTM", .gates = 4, .peephole = true});
  // Inputs of the gates and cells beyond the clip, which bounds the former alone.
  result.push_back({.op = "RNN", .gates = 1, .attributes = {{"clip", 0.5F}}});
  result.push_back({.op = "GRU", .gates = 3, .attributes = {{"clip", 0.5F}}});
  result.push_back({.op = "LSTM", .gates = 4, .attributes = {{"clip", 0.25F}}});
  result.push_back({.op = "LSTM", .gates = 4, .peephole = true, .attributes = {{"clip", 0.5F}}});
  result.push_back(
      {.op = "LSTM",
       .gates = 4,
       .directions = 2,
       .lengths = true,
       .peephole = true,
       .attributes = {{"input_forget", 1L}, {"direction", std::string("bidirectional")}}});
  return result;
}

OpCase op_case(const Setting& s) {
  return {s.op, operands(s), s.attributes, static_cast<std::size_t>(s.gates == 4 ? 3 : 2)};
}

}  // namespace

TEST_CASE("RNN, GRU and LSTM follow their equations") {
  std::size_t index = 0;
  for (const Setting& s : settings()) {
    INFO(s.op << " setting " << index++);
    const auto got = run_op(op_case(s));
    const auto want = expected(s);
    for (std::size_t k = 0; k < want.size(); ++k) check_close(got[k].tensor(), want[k]);
  }
}

TEST_CASE("Derivatives of RNN, GRU and LSTM") {
  std::size_t index = 0;
  for (const Setting& s : settings()) {
    INFO(s.op << " setting " << index++);
    check_gradient(op_case(s), {.order = 1, .elements = 6});
  }
}

TEST_CASE("Chunks of a batch and blocks of steps do not change recurrent operators") {
  for (const auto [s, b, h] : {std::array<std::int64_t, 3>{2, 11, 5}, {25, 8, 3}, {13, 17, 20}}) {
    const OtherDims dims(s, b, h);
    std::size_t index = 0;
    for (const Setting& setting : settings()) {
      INFO(setting.op << " setting " << index++ << " batch " << b);
      const auto got = run_op(op_case(setting));
      const auto want = expected(setting);
      for (std::size_t k = 0; k < want.size(); ++k) check_close(got[k].tensor(), want[k]);
      if (h > 10) continue;
      check_gradient(op_case(setting), {.order = 1, .dynamic_dims = false, .elements = 2});
    }
  }
}

// Weights are read in place there, not transposed before the first step.
TEST_CASE("Few steps of few samples of recurrent operators follow the equations") {
  for (const auto [s, b] : {std::array<std::int64_t, 2>{1, 1}, {4, 4}, {16, 1}, {17, 1}, {2, 5}}) {
    const OtherDims dims(s, b, 20);
    std::size_t index = 0;
    for (const Setting& setting : settings()) {
      INFO(setting.op << " setting " << index++ << " steps " << s << " batch " << b);
      const auto got = run_op(op_case(setting));
      const auto want = expected(setting);
      for (std::size_t k = 0; k < want.size(); ++k) check_close(got[k].tensor(), want[k]);
    }
  }
}

TEST_CASE("Second derivatives of RNN, GRU and LSTM") {
  for (const Setting& s : {Setting{"RNN", 1}, Setting{"GRU", 3},
                           Setting{.op = "LSTM", .gates = 4, .lengths = true, .peephole = true}}) {
    INFO(s.op);
    check_gradient(op_case(s), {.order = 2, .dynamic_dims = false, .elements = 3});
  }
}

TEST_CASE("Every activation of recurrent operators, clipped") {
  struct Activation {
    std::string name;
    std::vector<float> alpha, beta;
    std::function<double(double)> f;
  };
  const std::vector<Activation> all{
      {"Relu", {}, {}, [](double x) { return std::max(x, 0.0); }},
      {"affine", {0.5F}, {0.25F}, [](double x) { return 0.5 * x + 0.25; }},
      {"LeakyRelu", {}, {}, [](double x) { return x < 0 ? double{0.01F} * x : x; }},
      {"ThresholdedRelu", {0.25F}, {}, [](double x) { return x > 0.25 ? x : 0; }},
      {"ScaledTanh", {0.5F}, {2.0F}, [](double x) { return 0.5 * std::tanh(2 * x); }},
      {"HardSigmoid",
       {0.25F},
       {0.5F},
       [](double x) { return std::min(1.0, std::max(0.0, 0.25 * x + 0.5)); }},
      {"Elu", {0.5F}, {}, [](double x) { return x < 0 ? 0.5 * (std::exp(x) - 1) : x; }},
      {"Softsign", {}, {}, [](double x) { return x / (1 + std::abs(x)); }},
      {"Softplus", {}, {}, [](double x) { return std::log(1 + std::exp(x)); }},
      {"Sigmoid", {}, {}, sigmoid},
      {"TANH", {}, {}, [](double x) { return std::tanh(x); }},
  };
  // One step without a recurrent part: y = f(clip(w x)).
  const Tensor x = random_tensor({1, 1, 6}, 1, -3, 3);
  Tensor w(DType::float64, {1, 6, 6});
  for (std::size_t i = 0; i < 6; ++i) w.mutable_values<double>()[i * 7] = 1;
  const Tensor r(DType::float64, {1, 6, 6});
  for (const auto& a : all) {
    INFO(a.name);
    graph::Attributes attributes{{"activations", std::vector<std::string>{a.name}}, {"clip", 2.0F}};
    if (!a.alpha.empty()) attributes.emplace_back("activation_alpha", a.alpha);
    if (!a.beta.empty()) attributes.emplace_back("activation_beta", a.beta);
    const OpCase one{"RNN", {x, w, r}, attributes};
    Tensor want(DType::float64, {1, 1, 1, 6});
    for (std::size_t i = 0; i < 6; ++i) {
      want.mutable_values<double>()[i] = a.f(std::clamp(x.values<double>()[i], -2.0, 2.0));
    }
    check_close(run_op_tensor(one), want, {1e-6, 1e-6});
    check_gradient(one, {.order = 1, .elements = 12});
  }
}

TEST_CASE("Recurrent operators reject what does not fit") {
  const auto throws = [](std::size_t i, Value value, graph::Attributes attributes = {}) {
    auto in = operands({"LSTM", 4});
    in.resize(8);
    in[i] = std::move(value);
    CHECK_THROWS_AS(run_op({"LSTM", in, std::move(attributes)}), Error);
  };
  throws(0, random_tensor({3, 2}, 1));
  throws(0, random_tensor({3, 2, 5}, 1));
  throws(1, random_tensor({1, 11, 2}, 1));
  throws(2, random_tensor({1, 12, 2}, 1));
  throws(3, random_tensor({1, 12}, 1));
  throws(4, Tensor::of<std::int32_t>({2}, {2, 4}));
  throws(4, Tensor::of<std::int32_t>({2}, {-1, 3}));
  throws(5, random_tensor({2, 2, 3}, 1));
  throws(7, random_tensor({1, 8}, 1));
  throws(7, Value(), {{"direction", std::string("sideways")}});
  throws(7, Value(), {{"direction", std::string("bidirectional")}});
  throws(7, Value(), {{"hidden_size", 4L}});
  throws(7, Value(), {{"activations", std::vector<std::string>{"Tanh"}}});
  throws(7, Value(), {{"activations", std::vector<std::string>{"Tanh", "Tanh", "Magic"}}});
  throws(7, Value(), {{"clip", -1.0F}});
  throws(7, Value(), {{"layout", 2L}});
}

TEST_CASE("Recurrent operators over no steps give the initial state") {
  auto in = operands({"GRU", 3});
  in[0] = Tensor(DType::float64, {0, 2, 2});
  const auto got = run_op({"GRU", in, {}, 2});
  CHECK(got[0].tensor().shape() == Shape{0, 1, 2, 3});
  check_close(got[1].tensor(), in[5].tensor());
}
