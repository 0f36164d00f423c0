#include "kernels/recurrent/recurrent_attributes.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>

#include "kernels/common/infer_checks.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

namespace {

using Kind = CellActivation::Kind;

struct Known {
  std::string_view name;  // lower case
  Kind kind;
  bool takes_alpha;
  bool takes_beta;
  double alpha;
  double beta;
};
constexpr std::array known_activations{
    Known{"sigmoid", Kind::sigmoid, false, false, 0, 0},
    Known{"tanh", Kind::tanh, false, false, 0, 0},
    Known{"relu", Kind::relu, false, false, 0, 0},
    Known{"affine", Kind::affine, true, true, 1, 0},
    Known{"leakyrelu", Kind::leaky_relu, true, false, 0.01, 0},
    Known{"thresholdedrelu", Kind::thresholded_relu, true, false, 1, 0},
    Known{"scaledtanh", Kind::scaled_tanh, true, true, 1, 1},
    Known{"hardsigmoid", Kind::hard_sigmoid, true, true, 0.2, 0.5},
    Known{"elu", Kind::elu, true, false, 1, 0},
    Known{"softsign", Kind::softsign, false, false, 0, 0},
    Known{"softplus", Kind::softplus, false, false, 0, 0},
};

std::vector<CellActivation> read_activations(const NodeView& node, std::size_t directions) {
  const std::int64_t gates = gates_of(node);
  std::vector<std::string> defaults{"Tanh"};
  if (gates == 3) defaults = {"Sigmoid", "Tanh"};
  if (gates == 4) defaults = {"Sigmoid", "Tanh", "Tanh"};
  std::vector<std::string> names = node.attr_strings("activations");
  if (names.empty()) {
    for (std::size_t d = 0; d < directions; ++d) {
      names.insert(names.end(), defaults.begin(), defaults.end());
    }
  }
  // The default list of RNN is written for two directions.
  const std::size_t wanted = defaults.size() * directions;
  if (names.size() > wanted && gates == 1) names.resize(wanted);
  if (names.size() != wanted) {
    fail(ErrorCode::mismatch, "activations has ", names.size(), " names, ", wanted, " are needed");
  }
  const auto alphas = node.attr_floats("activation_alpha");
  const auto betas = node.attr_floats("activation_beta");
  const double clip = node.attr_float("clip", 0);
  if (!(clip >= 0)) fail(ErrorCode::mismatch, "clip is ", clip, ", must not be negative");
  std::size_t next_alpha = 0;
  std::size_t next_beta = 0;
  std::vector<CellActivation> result;
  for (const std::string& name : names) {
    std::string lower = name;
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const auto at = std::find_if(known_activations.begin(), known_activations.end(),
                                 [&](const Known& k) { return k.name == lower; });
    if (at == known_activations.end()) {
      fail(ErrorCode::invalid_model, "unknown activation ", ondine::quoted(name));
    }
    CellActivation activation{at->kind, at->alpha, at->beta, clip};
    if (at->takes_alpha && next_alpha < alphas.size()) {
      activation.alpha = double{alphas[next_alpha++]};
    }
    if (at->takes_beta && next_beta < betas.size()) activation.beta = double{betas[next_beta++]};
    result.push_back(activation);
  }
  return result;
}

std::int64_t direction_count(const NodeView& node, bool* reverse) {
  const std::string direction = node.attr_string("direction", "forward");
  *reverse = direction == "reverse";
  if (direction == "forward" || direction == "reverse") return 1;
  if (direction == "bidirectional") return 2;
  fail(ErrorCode::invalid_model, "direction must be forward, reverse or bidirectional, found ",
       ondine::quoted(direction));
}

}  // namespace

template <class C>
void CellActivation::apply(const C* x, C* y, std::int64_t n) const {
  const auto& v = math::vector_kernels<C>();
  if (clip > 0) {
    const auto bound = static_cast<C>(clip);
    v.min.vs(y, x, bound, n);
    v.max.vs(y, y, -bound, n);
    x = y;
  }
  const auto each = [&](auto f) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = f(x[i]);
  };
  const auto a = static_cast<C>(alpha);
  const auto b = static_cast<C>(beta);
  switch (kind) {
    case Kind::sigmoid:
      return v.sigmoid(y, x, n);
    case Kind::tanh:
      return v.tanh(y, x, n);
    case Kind::relu:
      return v.relu(y, x, n);
    case Kind::affine:
      return each([&](C t) { return a * t + b; });
    case Kind::leaky_relu:
      return each([&](C t) { return t >= 0 ? t : a * t; });
    case Kind::thresholded_relu:
      return each([&](C t) { return t > a ? t : C{0}; });
    case Kind::scaled_tanh:
      return each([&](C t) { return a * std::tanh(b * t); });
    case Kind::hard_sigmoid:
      return each([&](C t) { return std::clamp(a * t + b, C{0}, C{1}); });
    case Kind::elu:
      return each([&](C t) { return t >= 0 ? t : a * std::expm1(t); });
    case Kind::softsign:
      return each([&](C t) { return t / (1 + std::abs(t)); });
    case Kind::softplus:
      return v.softplus(y, x, n);
  }
}

template <class C>
void CellActivation::gradient(const C* x, const C* y, const C* dy, C* dx, std::int64_t n) const {
  const auto a = static_cast<C>(alpha);
  const auto b = static_cast<C>(beta);
  const auto bound = static_cast<C>(clip);
  if (clip == 0 && kind == Kind::sigmoid) {
    return math::vector_kernels<C>().sigmoid_gradient(dx, dy, y, n);
  }
  if (clip == 0 && kind == Kind::tanh) {
    return math::vector_kernels<C>().tanh_gradient(dx, dy, y, n);
  }
  const auto slope = [&](C t, C f) -> C {
    switch (kind) {
      case Kind::sigmoid:
        return f * (1 - f);
      case Kind::tanh:
        return 1 - f * f;
      case Kind::relu:
        return f > 0 ? C{1} : C{0};
      case Kind::affine:
        return a;
      case Kind::leaky_relu:
        return t >= 0 ? C{1} : a;
      case Kind::thresholded_relu:
        return t > a ? C{1} : C{0};
      case Kind::scaled_tanh:
        return a != 0 ? b * (a - f * f / a) : C{0};
      case Kind::hard_sigmoid:
        return f > 0 && f < 1 ? a : C{0};
      case Kind::elu:
        return t >= 0 ? C{1} : f + a;
      case Kind::softsign:
        return 1 / ((1 + std::abs(t)) * (1 + std::abs(t)));
      case Kind::softplus:
        return 1 - std::exp(-f);
    }
    return 0;
  };
  for (std::int64_t i = 0; i < n; ++i) {
    const bool clipped = bound > 0 && !(std::abs(x[i]) <= bound);
    dx[i] = clipped ? C{0} : dy[i] * slope(x[i], y[i]);
  }
}

template void CellActivation::apply(const float*, float*, std::int64_t) const;
template void CellActivation::apply(const double*, double*, std::int64_t) const;
template void CellActivation::gradient(const float*, const float*, const float*, float*,
                                       std::int64_t) const;
template void CellActivation::gradient(const double*, const double*, const double*, double*,
                                       std::int64_t) const;

std::int64_t gates_of(const NodeView& node) {
  const std::string_view name = node.node().op->name;
  return name.starts_with("LSTM") ? 4 : name.starts_with("GRU") ? 3 : 1;
}

std::int64_t saved_width(const NodeView& node) { return gates_of(node) == 1 ? 1 : 4; }

Recurrence read_recurrence(const NodeView& node, const Shape& x, const Shape& r) {
  Recurrence s;
  s.gates = gates_of(node);
  s.directions = direction_count(node, &s.reverse);
  s.batch_first = node.attr_int("layout", 0) != 0;
  s.linear_before_reset = node.attr_int("linear_before_reset", 0) != 0;
  s.input_forget = node.attr_int("input_forget", 0) != 0;
  s.peepholes = s.gates == 4 && node.has_input(7);
  s.activations = read_activations(node, static_cast<std::size_t>(s.directions));
  s.steps = x[s.batch_first ? 1 : 0];
  s.batch = x[s.batch_first ? 0 : 1];
  s.input = x[2];
  s.hidden = r[2];
  return s;
}

bool Recurrence::is_standard_lstm() const {
  if (gates != 4 || input_forget || peepholes) return false;
  for (std::size_t i = 0; i < activations.size(); ++i) {
    const Kind usual = i % 3 == 0 ? Kind::sigmoid : Kind::tanh;
    if (activations[i].kind != usual || activations[i].clip > 0) return false;
  }
  return true;
}

std::int64_t Recurrence::piece() const noexcept {
  constexpr std::int64_t block = 8;  // rows of the products
  const std::int64_t whole = std::max<std::int64_t>(1, batch);
  if (!small(hidden) || batch < block) return whole;
  const std::int64_t count = std::max<std::int64_t>(2, (batch + block - 1) / block);
  return (batch + count - 1) / count;
}

void infer_recurrent(InferContext& context) {
  require_same_dtype(context, {0, 1, 2, 3, 5, 6, 7});
  const std::int64_t gates = gates_of(context);
  const bool lstm = gates == 4;
  bool reverse = false;
  const std::int64_t directions = direction_count(context, &reverse);
  read_activations(context, static_cast<std::size_t>(directions));
  const auto layout = context.attr_int("layout", 0);
  if (layout != 0 && layout != 1) context.reject("layout must be 0 or 1, found ", layout);

  const Dims x = dims_of_rank(context, 0, 3, "X");
  const Dims w = dims_of_rank(context, 1, 3, "W");
  const Dims r = dims_of_rank(context, 2, 3, "R");
  Dim batch = x[layout == 1 ? 0 : 1];
  const Dim steps = x[layout == 1 ? 1 : 0];
  Dim hidden = r[2];
  if (context.has_attr("hidden_size")) {
    const auto size = context.attr_int("hidden_size", 0);
    if (size < 1) context.reject("hidden_size is ", size, ", must be 1 or more");
    hidden = unify(hidden, size, "hidden sizes of R and hidden_size");
  }
  const auto expect = [&](std::size_t i, std::string_view what, Dims want) {
    if (!context.has_input(i)) return;
    const Dims have = dims_of_rank(context, i, want.size(), what);
    for (std::size_t k = 0; k < want.size(); ++k) unify(have[k], want[k], cat("extents of ", what));
  };
  const Dim width = multiply(hidden, gates);
  expect(1, "W", {directions, width, x[2]});
  expect(2, "R", {directions, width, hidden});
  expect(3, "B", {directions, multiply(width, 2)});
  expect(4, "sequence_lens", {batch});
  if (context.has_input(4) && context.dtype(4) != DType::int32) {
    context.reject("sequence_lens must be int32");
  }
  const Dims state =
      layout == 1 ? Dims{batch, directions, hidden} : Dims{directions, batch, hidden};
  expect(5, "initial_h", state);
  if (lstm) {
    expect(6, "initial_c", state);
    expect(7, "P", {directions, multiply(hidden, 3)});
  }

  const DType dtype = context.dtype(0);
  const DType kept = dtype == DType::float64 ? dtype : DType::float32;
  const Dim rows = multiply(steps, batch);
  std::size_t next = 0;
  context.set_output(next++, dtype,
                     layout == 1 ? Dims{batch, steps, directions, hidden}
                                 : Dims{steps, directions, batch, hidden});
  context.set_output(next++, dtype, state);
  if (lstm) context.set_output(next++, dtype, state);
  context.set_output(next++, kept, Dims{directions, rows, multiply(hidden, saved_width(context))});
  if (lstm) context.set_output(next++, kept, Dims{directions, rows, hidden});
}

}  // namespace ondine::kernels
