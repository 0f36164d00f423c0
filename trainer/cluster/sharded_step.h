// A training step whose batch is divided into micro-shards.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/training/cut_step.h"
#include "trainer/cluster/tree_sum.h"
#include "trainer/model_impl.h"

namespace ondine::cluster {

// The two parts of the step of an algorithm (graph/training/cut_step.h). The numbers that go from
// one to the other, gradients above all, are means over the rows of the batch: each micro-shard
// counts by its part of them.
class ShardedStep {
 public:
  // `rows`: the inputs of the algorithm that take rows; `fetched`: the results of update(). The
  // model must outlive it. Throws Error(unsupported) for a step that cannot be cut, see cut_step(),
  // and where what the update needs of the rows is no floating point tensor, or has a shape that
  // depends on them.
  ShardedStep(Model& model, std::size_t algorithm, std::span<const std::string> rows,
              std::span<const std::string> fetched);

  Numbers zeros() const;
  // What micro-shard `shard` computes from these feeds, those for the update included, times
  // `weight`. Error(not_finite) for a loss or a metric that is not finite, where the model asks for
  // it (ModelAccess::require_finite).
  void compute(std::span<const NamedValue> feeds, std::uint64_t shard, double weight,
               Numbers& to) const;
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
    std::size_t first = 0;  // among the numbers of its kind
  };
  void place(const graph::CutValue& value, const graph::Type& type);
  void set_types(graph::GraphDef& update) const;
  void require_one_loss(const std::string& name, const Tensor& value) const;
  static void take(const Place& place, const Tensor& value, double weight, Numbers& to);
  static Tensor tensor_at(const Place& place, const Numbers& means);

  Model* model_;
  std::size_t algorithm_;
  std::vector<std::string> losses_;
  std::vector<std::string> names_;    // results of rows_: values, then losses that are none
  std::vector<std::string> numbers_;  // those of them that must be finite
  std::vector<Place> places_;
  std::vector<graph::RowCount> counts_;
  std::size_t floats_ = 0;
  std::size_t doubles_ = 0;
  bool handles_infinities_ = false;
  trainer::Function rows_;
  trainer::Function update_;
};

}  // namespace ondine::cluster
