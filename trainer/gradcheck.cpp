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

struct Comparison {
  double step;
  double tolerance;
};

// Step of central differences: truncation and rounding errors balance near the cube root of the
// dtype's epsilon.
Comparison comparison_of(DType dtype) {
  return dtype == DType::float64 ? Comparison{1e-6, 1e-5} : Comparison{4e-3, 5e-2};
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

struct GradientCheck::Along {
  std::vector<double> direction;  // 1 or -1 by element
  double analytic = 0;
  double largest = 0;  // element of the gradient
};

// Differences of losses of size f carry rounding errors of about epsilon f.
GradcheckResult GradientCheck::compare(const Entry& entry, const NamedValues& feeds,
                                       const Along& along, double step, double tolerance) const {
  const double up = loss_at(entry, moved(entry.value, along.direction, step), feeds);
  const double down = loss_at(entry, moved(entry.value, along.direction, -step), feeds);
  GradcheckResult result;
  result.variable = entry.variable;
  result.analytic = along.analytic;
  result.numeric = (up - down) / (2 * step);
  // Terms that cancel along the direction leave rounding errors of their size.
  const double scale =
      std::max({std::abs(result.analytic), std::abs(result.numeric), along.largest, 1e-6});
  result.error = std::abs(result.analytic - result.numeric) / scale;
  const double epsilon = entry.value.dtype() == DType::float64 ? 0x1p-52 : 0;
  const double rounding = 64 * epsilon * std::max(std::abs(up), std::abs(down)) / (step * scale);
  result.passed = result.error <= tolerance + std::min(rounding, 1000 * tolerance);
  return result;
}

// Where the loss bends within a step, a smaller one may not reach the kink.
GradcheckResult GradientCheck::compare(const Entry& entry, const NamedValues& feeds,
                                       const Along& along) const {
  const Comparison by = comparison_of(entry.value.dtype());
  GradcheckResult result = compare(entry, feeds, along, by.step, by.tolerance);
  if (entry.value.dtype() != DType::float64) return result;
  for (double step = by.step / 10; step > 1e-10 && !result.passed; step /= 10) {
    GradcheckResult smaller = compare(entry, feeds, along, step, by.tolerance);
    if (!smaller.passed) continue;
    result = smaller;
    result.kink = true;
  }
  return result;
}

GradcheckResult GradientCheck::check(const Entry& entry, const NamedValues& feeds) const {
  const std::vector<std::string> fetches{entry.gradient};
  const NamedValues outputs = model_->infer(feeds, fetches);
  const Tensor& gradient = outputs.at(0).second.tensor();
  GradcheckResult worst;
  Along along;
  along.direction.resize(static_cast<std::size_t>(entry.value.size()));
  for (int round = 0; round < options_.directions; ++round) {
    const RandomKey key{options_.seed, static_cast<std::uint64_t>(round), 0};
    along.analytic = 0;
    for (std::size_t i = 0; i < along.direction.size(); ++i) {
      along.direction[i] = uniform_at(key, i) < 0.5 ? -1 : 1;
      along.analytic += along.direction[i] * read(gradient, i);
      along.largest = std::max(along.largest, std::abs(read(gradient, i)));
    }
    const GradcheckResult found = compare(entry, feeds, along);
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
