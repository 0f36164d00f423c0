// A training step whose batch is divided into micro-shards.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "graph/training/cut_step.h"
#include "trainer/cluster/tree_sum.h"
#include "trainer/model/model_impl.h"

namespace ondine::cluster {

// The two parts of the step of an algorithm (graph/training/cut_step.h). The numbers that go from
// one to the other, gradients above all, are means over the rows of the batch, or over what its
// labels count: each micro-shard counts by its part of them.
class ShardedStep {
 public:
  // `rows`: the inputs of the algorithm that take rows; `fetched`: the results of update();
  // `weights`: what means that are not over rows are over. With `synchronized`, statistics of the
  // batch are means over all micro-shards, which are computed at once (RowRange::means). The model
  // must outlive it. Throws Error(unsupported) for a step that cannot be cut, see cut_step(),
  // and where what the update needs of the rows is no floating point tensor, or has a shape that
  // depends on them.
  ShardedStep(Model& model, std::size_t algorithm, std::span<const std::string> rows,
              std::span<const std::string> fetched, const graph::MeanWeights& weights,
              bool synchronized = false);

  Numbers zeros() const;
  // Gradients of at most 32 bits are the floats from here on: one ends at each of these counts of
  // them.
  std::size_t first_gradient() const noexcept { return first_gradient_; }
  const std::vector<std::size_t>& gradient_ends() const noexcept { return gradient_ends_; }
  // Gradient order[i] becomes the i-th. Numbers that were computed before are in the old order.
  void reorder_gradients(std::span<const std::size_t> order);
  // Whether means count by rows alone, so that a gradient has its weight before the step is over.
  bool counts_rows() const noexcept;
  // Computes the results of these rows, a micro-shard, from the feeds, those for the update
  // included. Each mean is multiplied by `weight`, or by the count that it is a mean over if that
  // is not rows. Error(not_finite) for a loss or a metric that is not finite, if the model asks for
  // it (ModelAccess::require_finite).
  struct Progress {
    std::function<void(std::size_t)> computed;  // is told how many floats of gradients are in `to`
    std::vector<std::size_t> order;             // the gradients so far, as they were computed
  };
  void compute(std::span<const NamedValue> feeds, const RowRange& rows, double weight, Numbers& to,
               Progress* progress = nullptr) const;
  // Makes means of the sum over all micro-shards.
  void make_means(Numbers& sum) const;
  // Error(not_finite) that names a gradient that is not finite, unless the update looks for such
  // ones itself, as one with a scaled loss does.
  void require_finite(const Numbers& means) const;
  // Gives the state variables their next values, and the results theirs, for a batch of `rows`
  // rows.
  void update(const Numbers& means, std::uint64_t rows, std::span<const NamedValue> feeds,
              std::span<NamedValue> results) const;

 private:
  struct Place {
    graph::CutValue value;
    DType dtype = DType::undefined;
    Shape shape;
    std::size_t first = 0;         // among the numbers of its kind
    std::size_t weight = by_rows;  // the place of the weight
    bool is_weight(std::size_t own) const noexcept { return weight == own; }
  };
  static constexpr std::size_t by_rows = static_cast<std::size_t>(-1);
  class Arrivals;
  // The places of the gradients above.
  std::vector<std::size_t> gradient_places() const;
  void place(const graph::CutValue& value, const graph::Type& type);
  void set_types(graph::GraphDef& update) const;
  void require_one_loss(const std::string& name, const Tensor& value) const;
  // Weight of place `index`: `by_row`, or a number that already stands in `numbers`.
  double weight_of(std::size_t index, double by_row, const Numbers& numbers) const;
  static double number_at(const Place& place, const Numbers& numbers);
  static void take(const Place& place, const Tensor& value, double weight, Numbers& to);
  static Tensor tensor_at(const Place& place, const Numbers& means);

  Model* model_;
  std::size_t algorithm_;
  std::vector<std::string> losses_;
  std::vector<std::string> names_;    // results of rows_: values, then losses that are none
  std::vector<std::string> numbers_;  // those of them that must be finite
  std::vector<Place> places_;
  std::vector<graph::RowCount> counts_;
  std::size_t first_gradient_ = 0;
  std::vector<std::size_t> gradient_ends_;
  std::size_t floats_ = 0;
  std::size_t doubles_ = 0;
  bool handles_infinities_ = false;
  trainer::Function rows_;
  trainer::Function update_;
};

}  // namespace ondine::cluster
