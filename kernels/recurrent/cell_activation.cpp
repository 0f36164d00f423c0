#include "kernels/recurrent/cell_activation.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string>

#include "kernels/elementwise/vector.h"

namespace ondine::kernels {
namespace {

using Kind = CellActivation::Kind;

struct NamedActivation {
  std::string_view name;  // lower case
  Kind kind;
  bool has_alpha;
  bool has_beta;
  double alpha;
  double beta;
};
constexpr std::array known_activations{
    NamedActivation{"sigmoid", Kind::sigmoid, false, false, 0, 0},
    NamedActivation{"tanh", Kind::tanh, false, false, 0, 0},
    NamedActivation{"relu", Kind::relu, false, false, 0, 0},
    NamedActivation{"affine", Kind::affine, true, true, 1, 0},
    NamedActivation{"leakyrelu", Kind::leaky_relu, true, false, 0.01, 0},
    NamedActivation{"thresholdedrelu", Kind::thresholded_relu, true, false, 1, 0},
    NamedActivation{"scaledtanh", Kind::scaled_tanh, true, true, 1, 1},
    NamedActivation{"hardsigmoid", Kind::hard_sigmoid, true, true, 0.2, 0.5},
    NamedActivation{"elu", Kind::elu, true, false, 1, 0},
    NamedActivation{"softsign", Kind::softsign, false, false, 0, 0},
    NamedActivation{"softplus", Kind::softplus, false, false, 0, 0},
};

std::vector<std::string> activation_names(const graph::NodeView& node,
                                          std::span<const std::string_view> defaults,
                                          std::int64_t directions) {
  std::vector<std::string> names = node.attr_strings("activations");
  if (names.empty()) {
    for (std::int64_t d = 0; d < directions; ++d) {
      names.insert(names.end(), defaults.begin(), defaults.end());
    }
  }
  const std::size_t needed = defaults.size() * static_cast<std::size_t>(directions);
  // The standard writes the default of RNN for two directions.
  if (names.size() > needed && defaults.size() == 1) names.resize(needed);
  if (names.size() != needed) {
    fail(ErrorCode::mismatch, "activations has ", names.size(), " names, ", needed, " are needed");
  }
  return names;
}

const NamedActivation& find_activation(const std::string& name) {
  std::string lower = name;
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  const auto found = std::find_if(known_activations.begin(), known_activations.end(),
                                  [&](const NamedActivation& k) { return k.name == lower; });
  if (found == known_activations.end()) {
    fail(ErrorCode::invalid_model, "unknown activation ", quoted(name));
  }
  return *found;
}

}  // namespace

std::vector<CellActivation> read_activations(const graph::NodeView& node,
                                             std::span<const std::string_view> defaults,
                                             std::int64_t directions) {
  const auto names = activation_names(node, defaults, directions);
  const auto alphas = node.attr_floats("activation_alpha");
  const auto betas = node.attr_floats("activation_beta");
  const double clip = node.attr_float("clip", 0);
  if (!(clip >= 0)) fail(ErrorCode::mismatch, "clip is ", clip, ", must not be negative");
  std::size_t next_alpha = 0;
  std::size_t next_beta = 0;
  std::vector<CellActivation> result;
  for (const std::string& name : names) {
    const NamedActivation& known = find_activation(name);
    CellActivation activation{known.kind, known.alpha, known.beta, clip};
    if (known.has_alpha && next_alpha < alphas.size()) {
      activation.alpha = double{alphas[next_alpha++]};
    }
    if (known.has_beta && next_beta < betas.size()) activation.beta = double{betas[next_beta++]};
    result.push_back(activation);
  }
  return result;
}

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

}  // namespace ondine::kernels
