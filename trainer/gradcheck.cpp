#include <ondine/gradcheck.h>

#include <algorithm>
#include <cmath>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "core/random.h"
#include "graph/training/derivative_model.h"
#include "graph/training/prepare/parameters.h"
#include "proto/export.h"
#include "proto/import.h"

namespace ondine {
namespace {

struct Precision {
  double step;
  double tolerance;
};

// Step of central differences: truncation and rounding errors balance near the cube root of the
// dtype's epsilon.
Precision precision_of(DType dtype) {
  return dtype == DType::float64 ? Precision{1e-6, 1e-5} : Precision{4e-3, 5e-2};
}

double read(const Tensor& tensor, std::size_t i) {
  return tensor.dtype() == DType::float64 ? tensor.values<double>()[i]
                                          : static_cast<double>(tensor.values<float>()[i]);
}

// value + step * direction, each direction 1 or -1.
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

std::unique_ptr<Model> load(const graph::ModelDef& def, const Limits& limits) {
  LoadOptions options;
  options.limits = limits;
  return std::make_unique<Model>(Model::load(export_model(def), options));
}

}  // namespace

GradientCheck::GradientCheck(const std::filesystem::path& file, const GradcheckOptions& options,
                             const Limits& limits)
    : options_(options) {
  guard_memory("derive the model", [&] {
    auto derived = graph::derivative_model(load_model(file, limits), options.algorithm);
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
  });
}

std::vector<PortInfo> GradientCheck::inputs() const {
  return guard_memory("describe the model", [&] { return model_->inputs(); });
}

double GradientCheck::loss_at(const Entry& entry, const Tensor& value,
                              const NamedValues& feeds) const {
  NamedValues all = feeds;
  all.emplace_back(entry.variable, value);
  const std::vector<std::string> fetches{entry.sum};
  return read(model_->infer(all, fetches)[0].second.tensor(), 0);
}

GradcheckResult GradientCheck::check(const Entry& entry, const NamedValues& feeds) const {
  const std::vector<std::string> fetches{entry.gradient};
  const NamedValues outputs = model_->infer(feeds, fetches);
  const Tensor& gradient = outputs.at(0).second.tensor();
  const Precision precision = precision_of(entry.value.dtype());
  GradcheckResult worst;
  worst.variable = entry.variable;
  std::vector<double> direction(static_cast<std::size_t>(entry.value.size()));
  for (int round = 0; round < options_.directions; ++round) {
    const RandomKey key{options_.seed, static_cast<std::uint64_t>(round), 0};
    double analytic = 0;
    double largest = 0;
    for (std::size_t i = 0; i < direction.size(); ++i) {
      direction[i] = uniform_at(key, i) < 0.5 ? -1 : 1;
      analytic += direction[i] * read(gradient, i);
      largest = std::max(largest, std::abs(read(gradient, i)));
    }
    const double step = precision.step;
    const double up = loss_at(entry, moved(entry.value, direction, step), feeds);
    const double down = loss_at(entry, moved(entry.value, direction, -step), feeds);
    const double numeric = (up - down) / (2 * step);
    // Terms that cancel along the direction leave rounding errors of their size.
    const double scale = std::max({std::abs(analytic), std::abs(numeric), largest, 1e-6});
    const double error = std::abs(analytic - numeric) / scale;
    if (round == 0 || !(error <= worst.error)) {
      worst.analytic = analytic;
      worst.numeric = numeric;
      worst.error = error;
    }
  }
  worst.passed = worst.error <= precision.tolerance;
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
