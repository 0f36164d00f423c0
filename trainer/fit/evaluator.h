// Evaluating a model on a data set, batch by batch.
#pragma once

#include <functional>
#include <optional>

#include <ondine/data.h>
#include <ondine/trainer.h>

#include "trainer/fit/score/label_check.h"
#include "trainer/fit/score/scoring.h"
#include "trainer/fit/score/worst_errors.h"

namespace ondine::fit {

// Inputs of an algorithm that inference has not: labels and the like.
std::vector<std::string> target_inputs(const Model& model, std::size_t algorithm);

// Adds the confusion matrix to the metrics where it is wanted and applies; returns whether it was
// among them before.
bool add_confusion(Scoring& scoring, bool wanted);

// Error(mismatch) for a metric without a name or functions, or whose name something else has.
void require_new(const Model& model, const TrainerOptions& options,
                 std::span<const OwnMetric> others, const OwnMetric& metric);

// Gives `use` the feeds of one batch after the other, in order, a short last one only where the
// inputs ask for no batch size. Returns the rows.
std::uint64_t for_each_batch(Feeder& feeder, std::uint64_t batch_size,
                             const std::function<void(std::span<const NamedValue>)>& use);

// A data set as the validation of an algorithm: its metrics by eval_step and, where the labels are
// known, the scores that it does not compute itself.
class Validator {
 public:
  // Evaluates the first batch, so that data that does not fit is found before any training.
  // constants: fed with every batch. own: must outlive it.
  Validator(const Model& model, const Dataset& data, const TrainerOptions& options,
            const NamedValues& constants, std::span<const OwnMetric> own);

  // Names of what run() returns; empty when there is nothing to compute.
  const std::vector<std::string>& names() const noexcept { return names_; }
  // worst: receives the worst errors, of the rows of classifiers alone; may be null.
  Evaluation run(const Model& model, WorstErrors* worst = nullptr);

 private:
  void add_scores(const Model& model, const Dataset& data, const TrainerOptions& options);
  void add_own(const Model& model);
  void fetch_metrics();
  bool is_computed() const;
  void take_mean_weight(Metrics& computed, double mean) const;
  void try_first_batch(const Model& model);
  Results evaluate(const Model& model, std::span<const NamedValue> batch);

  std::size_t algorithm_;
  std::uint64_t batch_size_;
  NamedValues constants_;
  std::span<const OwnMetric> own_;
  LabelCheck check_labels_;
  Feeder feeder_;
  std::vector<std::string> metrics_;  // outputs of the algorithm
  // Metrics that count labels, and the outputs that say how many.
  std::vector<std::pair<std::string, std::string>> counted_;
  std::optional<Scoring> scoring_;
  std::string weights_;        // the input with the weights of rows; empty: rows count alike
  bool asked_ = false;         // for metrics by name
  bool shows_errors_ = false;  // in the report of the run
  std::vector<std::string> fetches_;
  std::vector<std::string> names_;
  NamedValues feeds_;
};

}  // namespace ondine::fit
