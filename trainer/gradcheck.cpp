#include <ondine/gradcheck.h>

#include <algorithm>
#include <cmath>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "core/random/random.h"
#include "graph/training/derivative_model.h"
#include "graph/training/prepare/parameters/parameters.h"
#include "proto/export.h"
#include "proto/import.h"
#include "trainer/directional_check.h"
#include "trainer/model/operator_sets.h"

namespace ondine {
namespace {

double read(const Tensor& tensor, std::size_t i) {
  return tensor.dtype() == DType::float64 ? tensor.values<double>()[i]
                                          : static_cast<double>(tensor.values<float>()[i]);
}

double dot(const std::vector<double>& direction, const Tensor& gradient) {
  double sum = 0;
  for (std::size_t i = 0; i < direction.size(); ++i) sum += direction[i] * read(gradient, i);
  return sum;
}

// value + step * direction.
Tensor moved(const Tensor& value, const std::vector<double>& direction, double step) {
  Tensor result = value.clone();
  for (std::size_t i = 0; i < direction.size(); ++i) {
    const double next = read(value, i) + step * direction[i];
    if (value.dtype() == DType::float64) {
      result.mutable_values<double>()[i] = next;
    } else {
      result.mutable_values<float>()[i] = static_cast<float>(next);
    }
  }
  return result;
}

double root_mean_square(const Tensor& value) {
  double sum = 0;
  const auto count = static_cast<std::size_t>(value.size());
  for (std::size_t i = 0; i < count; ++i) sum += read(value, i) * read(value, i);
  return count == 0 ? 0 : std::sqrt(sum / static_cast<double>(count));
}

LoadOptions with_limits(const Limits& limits) {
  LoadOptions options;
  options.limits = limits;
  return options;
}

std::unique_ptr<Model> load(const graph::ModelDef& def, const Limits& limits) {
  return std::make_unique<Model>(Model::load(export_model(def), with_limits(limits)));
}

}  // namespace

GradientCheck::GradientCheck(const std::filesystem::path& file, const GradcheckOptions& options,
                             const Limits& limits)
    : GradientCheck(file, options, with_limits(limits)) {}

GradientCheck::GradientCheck(const std::filesystem::path& file, const GradcheckOptions& options,
                             const LoadOptions& load_options)
    : options_(options) {
  guard_memory("derive the model", [&] {
    const Limits& limits = load_options.limits;
    graph::ModelDef def = load_model(file, limits);
    trainer::link_operator_sets(def, load_options, warnings_);
    auto derived = graph::derivative_model(def, options.algorithm);
    if (derived.outputs.empty()) {
      fail(ErrorCode::mismatch, "algorithm ", options.algorithm, " of ", quoted(file.string()),
           " takes no derivative by an initializer");
    }
    if (options.widen) {
      graph::ModelDef wide = derived.model;
      graph::convert_to_float64(wide);
      try {
        model_ = load(wide, limits);
        derived.model = std::move(wide);
        widened_ = true;
      } catch (const Error&) {
        // Some operator does not support float64.
      }
    }
    if (!model_) model_ = load(derived.model, limits);
    for (const graph::DerivativeOutput& one : derived.outputs) {
      Tensor value = graph::find_initializer(derived.model.graph, one.variable)->value;
      if (value.dtype() != DType::float32 && value.dtype() != DType::float64) continue;
      entries_.push_back({one.variable, one.gradient, one.sum, std::move(value)});
    }
    if (options.perturbation != 0) perturb();
  });
}

void GradientCheck::perturb() {
  for (std::size_t k = 0; k < entries_.size(); ++k) {
    Tensor& value = entries_[k].value;
    std::vector<double> direction(static_cast<std::size_t>(value.size()));
    const RandomKey key{options_.seed, ~std::uint64_t{0}, static_cast<std::uint32_t>(k)};
    for (std::size_t i = 0; i < direction.size(); ++i) direction[i] = normal_at(key, i);
    const double size = root_mean_square(value);
    value = moved(value, direction, options_.perturbation * (size > 0 ? size : 1));
  }
}

std::vector<PortInfo> GradientCheck::inputs() const {
  return guard_memory("describe the model", [&] { return model_->inputs(); });
}

Tensor GradientCheck::evaluate(const Entry& entry, const Tensor& value, const NamedValues& feeds,
                               const std::string& output) const {
  NamedValues all = feeds;
  for (const Entry& one : entries_) {
    all.emplace_back(one.variable, &one == &entry ? value : one.value);
  }
  const std::vector<std::string> fetches{output};
  return model_->infer(all, fetches)[0].second.tensor();
}

GradcheckResult GradientCheck::compare(const Entry& entry, const NamedValues& feeds,
                                       const std::vector<double>& direction,
                                       const Tensor& gradient) const {
  const auto at = [&](double step, const std::string& output) {
    return evaluate(entry, moved(entry.value, direction, step), feeds, output);
  };
  Line line;
  line.value = [&](double step) { return read(at(step, entry.sum), 0); };
  line.slope = [&](double step) {
    return dot(direction, step == 0 ? gradient : at(step, entry.gradient));
  };
  for (std::size_t i = 0; i < direction.size(); ++i) {
    line.magnitude = std::max(line.magnitude, std::abs(read(gradient, i)));
  }
  const DirectionalResult found = check_direction(line, entry.value.dtype());
  return {entry.variable, found.analytic, found.numeric, found.error, found.passed, found.kink};
}

GradcheckResult GradientCheck::check(const Entry& entry, const NamedValues& feeds) const {
  const Tensor gradient = evaluate(entry, entry.value, feeds, entry.gradient);
  GradcheckResult worst;
  std::vector<double> direction(static_cast<std::size_t>(entry.value.size()));
  for (int round = 0; round < options_.directions; ++round) {
    const RandomKey key{options_.seed, static_cast<std::uint64_t>(round), 0};
    for (std::size_t i = 0; i < direction.size(); ++i) {
      direction[i] = uniform_at(key, i) < 0.5 ? -1 : 1;
    }
    const GradcheckResult found = compare(entry, feeds, direction, gradient);
    const bool kink = worst.kink || found.kink;
    const bool fails_first = round > 0 && !worst.passed && found.passed;
    const bool is_worse = found.passed == worst.passed && !(found.error <= worst.error);
    if (round == 0 || (!fails_first && (!found.passed || is_worse))) worst = found;
    worst.kink = kink;
  }
  return worst;
}

std::vector<GradcheckResult> GradientCheck::run(const NamedValues& feeds) const {
  return guard_memory("check the gradients", [&] {
    std::vector<GradcheckResult> results;
    for (const Entry& entry : entries_) results.push_back(check(entry, feeds));
    return results;
  });
}

}  // namespace ondine
