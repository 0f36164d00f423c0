// DynamicQuantizeLSTM: X is rounded to 8 bits as a whole, and h of all samples before each step.
#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/kernels/contrib/waves.h"
#include "tests/support/op_harness.h"
#include "tests/support/standard_form.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Row = std::vector<double>;

// Rounded to 256 numbers of the range, which holds 0.
Row rounded(const Row& x) {
  double low = 0, high = 0;
  for (const double v : x) {
    low = std::min(low, v);
    high = std::max(high, v);
  }
  const double scale = high > low ? (high - low) / 255 : 1;
  const double zero = std::clamp(std::nearbyint(-low / scale), 0.0, 255.0);
  Row y;
  for (const double v : x) {
    const double q = std::clamp(std::nearbyint(v / scale) + zero, 0.0, 255.0);
    y.push_back((q - zero) * scale);
  }
  return y;
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

// One LSTM: sizes, what it reads and how.
struct Network {
  std::size_t steps = 5, samples = 3, inputs = 4, hidden = 2;
  std::string direction = "forward";
  bool columns = false;  // a scale for each column
  bool signed_weights = true;
  bool peepholes = false, initial = false, input_forget = false;
  std::vector<std::int32_t> lengths = {};
  bool keeps_ended = false;  // without Y: ended samples count with their last h

  std::size_t directions() const { return direction == "bidirectional" ? 2 : 1; }
  std::size_t width() const { return 4 * hidden; }
  bool backwards(std::size_t d) const { return direction == "reverse" || d == 1; }

  std::size_t length(std::size_t b) const {
    return lengths.empty() ? steps : static_cast<std::size_t>(lengths[b]);
  }
};

Shape shape(std::initializer_list<std::size_t> dims) {
  std::vector<std::int64_t> list;
  for (const std::size_t dim : dims) list.push_back(static_cast<std::int64_t>(dim));
  return Shape(std::span<const std::int64_t>(list));
}

template <class T>
Tensor bytes(const Shape& of, int start) {
  Tensor tensor(std::is_signed_v<T> ? DType::int8 : DType::uint8, of);
  int x = start;
  for (T& value : tensor.mutable_values<T>()) {
    x = (x * 37 + 11) % 201;
    value = static_cast<T>(std::is_signed_v<T> ? x - 100 : x + 20);
  }
  return tensor;
}

class Case {
 public:
  explicit Case(const Network& network) : n(network) {
    const std::size_t d = n.directions(), h = n.hidden;
    const auto weights = [&](std::size_t rows, int start) {
      const Shape of = shape({d, rows, n.width()});
      return n.signed_weights ? bytes<std::int8_t>(of, start) : bytes<std::uint8_t>(of, start);
    };
    const Shape each = n.columns ? shape({d, n.width()}) : shape({d});
    x = random_tensor(shape({n.steps, n.samples, n.inputs}), 1);
    w = weights(n.inputs, 3);
    r = weights(h, 5);
    b = random_tensor(shape({d, 2 * n.width()}), 2);
    w_scale = random_tensor(each, 3, 0.002, 0.01);
    r_scale = random_tensor(each, 4, 0.002, 0.02);
    point = Tensor(n.signed_weights ? DType::int8 : DType::uint8, each);
    if (!n.signed_weights) {
      for (std::uint8_t& value : point.mutable_values<std::uint8_t>()) value = 128;
    }
    if (n.initial) {
      h0 = random_tensor(shape({d, n.samples, h}), 5);
      c0 = random_tensor(shape({d, n.samples, h}), 6);
    }
    if (n.peepholes) p = random_tensor(shape({d, 3 * h}), 7);
    if (!n.lengths.empty()) {
      lengths = Tensor::of<std::int32_t>(shape({n.samples}), n.lengths);
    }
  }

  OpCase op(std::size_t outputs = 3) const {
    const auto given = [](const Tensor& tensor) {
      return tensor.defined() ? Value(tensor) : Value();
    };
    return {"DynamicQuantizeLSTM",
            {x, w, r, b, given(lengths), given(h0), given(c0), given(p), w_scale, point, r_scale,
             point},
            {{"hidden_size", static_cast<std::int64_t>(n.hidden)},
             {"direction", n.direction},
             {"input_forget", std::int64_t{n.input_forget}}},
            outputs,
            contrib};
  }

  // Y, Y_h and Y_c.
  std::vector<Tensor> want() const {
    const std::size_t d = n.directions(), h = n.hidden;
    std::vector<Tensor> results{Tensor(DType::float64, shape({n.steps, d, n.samples, h})),
                                Tensor(DType::float64, shape({d, n.samples, h})),
                                Tensor(DType::float64, shape({d, n.samples, h}))};
    for (std::size_t k = 0; k < d; ++k) run(k, results);
    return results;
  }

  Network n;
  Tensor x, w, r, b, w_scale, r_scale, point, h0, c0, p, lengths;

 private:
  // Weights that the integers of all directions stand for.
  Row weights(const Tensor& q, const Tensor& scale) const {
    const auto rows = static_cast<std::size_t>(q.shape()[1]);
    const Row scales = as_doubles(scale);
    Row values = as_doubles(q);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::size_t d = i / n.width() / rows;
      values[i] = (values[i] - (n.signed_weights ? 0 : 128)) *
                  scales[n.columns ? d * n.width() + i % n.width() : d];
    }
    return values;
  }

  std::size_t most_steps() const {
    std::size_t most = 0;
    for (std::size_t s = 0; s < n.samples; ++s) most = std::max(most, n.length(s));
    return most;
  }

  Row gates(std::size_t d, const Row& input, const Row& state, const Row& ws, const Row& rs,
            const Row& bias) const {
    Row z(n.width());
    for (std::size_t j = 0; j < n.width(); ++j) {
      z[j] = bias[d * 2 * n.width() + j] + bias[d * 2 * n.width() + n.width() + j];
      for (std::size_t i = 0; i < n.inputs; ++i) {
        z[j] += input[i] * ws[(d * n.inputs + i) * n.width() + j];
      }
      for (std::size_t i = 0; i < n.hidden; ++i) {
        z[j] += state[i] * rs[(d * n.hidden + i) * n.width() + j];
      }
    }
    return z;
  }

  void cell(std::size_t d, const Row& z, double* h, double* c) const {
    const Row peephole = p.defined() ? as_doubles(p) : Row(n.directions() * 3 * n.hidden);
    for (std::size_t k = 0; k < n.hidden; ++k) {
      const double* const own = peephole.data() + d * 3 * n.hidden + k;
      const double in = sigmoid(z[k] + own[0] * c[k]);
      const double forget =
          n.input_forget ? 1 - in : sigmoid(z[2 * n.hidden + k] + own[2 * n.hidden] * c[k]);
      c[k] = forget * c[k] + in * std::tanh(z[3 * n.hidden + k]);
      h[k] = sigmoid(z[n.hidden + k] + own[n.hidden] * c[k]) * std::tanh(c[k]);
    }
  }

  void run(std::size_t d, std::vector<Tensor>& results) const {
    const std::size_t count = n.samples * n.hidden, most = most_steps();
    const Row ws = weights(w, w_scale), rs = weights(r, r_scale), bias = as_doubles(b);
    const auto start = [&](const Tensor& initial) {
      if (!initial.defined()) return Row(count);
      const Row all = as_doubles(initial);
      return Row(all.begin() + static_cast<std::ptrdiff_t>(d * count),
                 all.begin() + static_cast<std::ptrdiff_t>((d + 1) * count));
    };
    Row h = start(h0), c = start(c0);
    Row all = as_doubles(x);
    all.resize(most * n.samples * n.inputs);
    all = rounded(all);
    const auto out = [&](std::size_t i) { return results[i].mutable_values<double>(); };
    for (std::size_t i = 0; i < most; ++i) {
      const Row seen = rounded(h);
      for (std::size_t s = 0; s < n.samples; ++s) {
        const std::size_t first = s * n.hidden;
        if (i >= n.length(s)) {
          if (n.keeps_ended && n.length(s) > 0) continue;
          std::fill_n(h.begin() + static_cast<std::ptrdiff_t>(first), n.hidden, 0.0);
          continue;
        }
        const std::size_t t = n.backwards(d) ? n.length(s) - 1 - i : i;
        const std::size_t at = (t * n.samples + s) * n.inputs;
        const Row input(all.begin() + static_cast<std::ptrdiff_t>(at),
                        all.begin() + static_cast<std::ptrdiff_t>(at + n.inputs));
        const Row state(seen.begin() + static_cast<std::ptrdiff_t>(first),
                        seen.begin() + static_cast<std::ptrdiff_t>(first + n.hidden));
        cell(d, gates(d, input, state, ws, rs, bias), h.data() + first, c.data() + first);
        for (std::size_t k = 0; k < n.hidden; ++k) {
          out(0)[((t * n.directions() + d) * n.samples + s) * n.hidden + k] = h[first + k];
          out(1)[d * count + first + k] = h[first + k];
          out(2)[d * count + first + k] = c[first + k];
        }
      }
    }
  }
};

std::vector<Network> networks() {
  return {{},
          {.direction = "reverse"},
          {.direction = "bidirectional"},
          {.direction = "bidirectional", .columns = true, .initial = true},
          {.columns = true, .signed_weights = false},
          {.peepholes = true, .initial = true},
          {.input_forget = true},
          {.initial = true, .lengths = {5, 2, 3}},
          {.direction = "reverse", .initial = true, .lengths = {4, 2, 3}},
          {.direction = "bidirectional", .lengths = {4, 0, 1}},
          {.steps = 40, .samples = 9, .inputs = 70, .hidden = 33}};
}

}  // namespace

TEST_CASE("DynamicQuantizeLSTM rounds X and the states of all samples of a step") {
  for (const Network& network : networks()) {
    CAPTURE(network.direction, network.columns, network.signed_weights, network.lengths.size());
    const Case one(network);
    const auto got = run_op(one.op());
    const auto want = one.want();
    for (std::size_t i = 0; i < 3; ++i) {
      CAPTURE(i);
      check_close(got[i].tensor(), want[i], {1e-6, 1e-6});
    }
  }
}

TEST_CASE("QuantizedLSTM counts samples that have ended as their last state where they are kept") {
  for (Network network : networks()) {
    if (network.lengths.empty()) continue;
    CAPTURE(network.direction);
    network.keeps_ended = true;
    const Case one(network);
    OpCase op = one.op();
    op.op = "QuantizedLSTM";
    op.domain = graph::ondine_domain;
    op.attributes.emplace_back("keeps_ended", std::int64_t{1});
    const auto got = run_op(op);
    const auto want = one.want();
    for (std::size_t i = 0; i < 3; ++i) check_close(got[i].tensor(), want[i], {1e-6, 1e-6});
    if (network.direction != "forward") continue;
    const OwnOperator own{op.op, op.inputs, op.attributes, {}, op.domain, 3};
    check_standard_form(own, {1e-9, 1e-9});
  }
}

TEST_CASE("the derivative of DynamicQuantizeLSTM takes rounding as the identity") {
  // States of zeros are rounded to themselves: one step has the derivative of its cells.
  for (const bool columns : {false, true}) {
    const Case one(
        {.steps = 1, .direction = "bidirectional", .columns = columns, .peepholes = true});
    check_gradient(one.op(), {.order = 1, .elements = 4, .variants = false, .skip = {0}});
  }
}

TEST_CASE("QuantizedLSTM rounds in standard operators as by its kernel") {
  for (Network network : networks()) {
    CAPTURE(network.direction, network.columns, network.signed_weights, network.lengths.size());
    if (network.hidden > 2) network = {.steps = 9};
    const Case one(network);
    OpCase op = one.op();
    const OwnOperator own{
        "QuantizedLSTM", op.inputs, op.attributes, {}, std::string(graph::ondine_domain), 3};
    if (network.direction != "forward" && !network.lengths.empty()) {
      CHECK_THROWS_WITH(run_standard_form(own), Catch::Contains("runs backwards"));
      continue;
    }
    check_standard_form(own, {1e-9, 1e-9});
  }
}

TEST_CASE("DynamicQuantizeLSTM refuses operands of other sizes") {
  const auto refuses = [](const auto& change, const std::string& text) {
    Case one({.peepholes = true, .initial = true, .lengths = {5, 2, 3}});
    change(one);
    CHECK_THROWS_WITH(run_op(one.op()), Catch::Contains(text));
  };
  refuses([](Case& c) { c.b = random_tensor({1, 8}, 1); }, "B");
  refuses([](Case& c) { c.h0 = random_tensor({1, 2, 2}, 1); }, "initial_h");
  refuses([](Case& c) { c.c0 = random_tensor({2, 3, 2}, 1); }, "initial_c");
  refuses([](Case& c) { c.p = random_tensor({1, 8}, 1); }, "P");
  refuses([](Case& c) { c.w_scale = random_tensor({1, 5}, 1); }, "the scale of W");
  refuses([](Case& c) { c.r_scale = random_tensor({2}, 1); }, "the scale of R");
  refuses([](Case& c) { c.lengths = Tensor::of<std::int32_t>({3}, {5, 6, 1}); }, "sequence_lens");
  refuses([](Case& c) { c.n.direction = "bidirectional"; }, "directions of W");
}
