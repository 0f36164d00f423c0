// Metrics: numbers that tell how well a model does.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ondine/export.h>
#include <ondine/model.h>

namespace ondine {

// Numbers by name, in order.
class ONDINE_API Metrics {
 public:
  // Error(not_found) naming the metrics there are.
  double operator[](std::string_view name) const;
  bool contains(std::string_view name) const noexcept { return find(name) != nullptr; }
  const double* find(std::string_view name) const noexcept;
  void set(std::string_view name, double value);

  std::size_t size() const noexcept { return values_.size(); }
  bool empty() const noexcept { return values_.empty(); }
  auto begin() const noexcept { return values_.begin(); }
  auto end() const noexcept { return values_.end(); }

 private:
  std::vector<std::pair<std::string, double>> values_;
};
// "loss 0.25, accuracy 0.9"
ONDINE_API std::ostream& operator<<(std::ostream& out, const Metrics& metrics);

// The names that `metrics` of EvaluateOptions and TrainerOptions may have, in the order of
// docs/metrics.md; "topK" stands for top2, top3 and so on.
ONDINE_API std::vector<std::string> evaluation_metrics();

// The outputs of a step that are metrics: scalars of floating point, the loss first. Next values of
// state variables, a scheduled learning rate and the weights that metrics are means over are none.
// Error(mismatch) if there is no such algorithm.
ONDINE_API std::vector<std::string> step_metrics(const Model& model, std::size_t algorithm = 0);

}  // namespace ondine
