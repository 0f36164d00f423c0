#include "trainer/budget/candidates.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <span>
#include <variant>

#include <ondine/data.h>

#include "core/message.h"
#include "core/to_doubles.h"
#include "graph/training/adapters/channels.h"
#include "graph/training/adapters/products.h"
#include "trainer/budget/parameter_places.h"
#include "trainer/model/model_impl.h"

namespace ondine::budget {
namespace {

constexpr std::uint64_t default_rows = 32;

std::uint64_t rows_of_step(const std::vector<PortInfo>& inputs, std::uint64_t asked) {
  for (const PortInfo& input : inputs) {
    const bool is_fixed = !input.has_default && input.dims && !input.dims->empty();
    if (is_fixed && input.dims->front() > 0) {
      return static_cast<std::uint64_t>(input.dims->front());
    }
  }
  return asked != 0 ? asked : default_rows;
}

using Layers = std::map<std::string, graph::AdapterLayer>;

// Layers whose weights train in channels, by the weight.
Layers layers_with_channels(const Model& model) {
  const graph::GraphDef& graph = ModelAccess::impl(model).def.graph;
  const graph::LayerFinder finder(graph, {});
  Layers layers;
  for (const graph::NodeDef& node : graph.nodes) {
    auto layer = finder.find(node);
    if (!layer || !graph::has_channels(finder, *layer)) continue;
    layers.emplace(layer->weight, *std::move(layer));
  }
  return layers;
}

class Measurement {
 public:
  Measurement(const Model& model, const Optimizer& optimizer)
      : model_(&model),
        is_plain_(std::holds_alternative<Sgd>(optimizer) ||
                  std::holds_alternative<Momentum>(optimizer) ||
                  std::holds_alternative<Nesterov>(optimizer)) {}

  void run(const Dataset& sample, const TrainBudget& budget, std::uint64_t seed) {
    BatchOptions how;
    how.seed = seed;
    how.inputs = model_->algorithm(0).inputs;
    const std::uint64_t rows = std::min(rows_of_step(how.inputs, budget.rows), sample.rows());
    for (const Batch& batch : sample.batches(rows, how)) {
      if (batches_ == 0) take_shapes(batch.feeds());
      add(model_->gradients(batch.feeds()));
      if (++batches_ == budget.batches) break;
    }
    if (batches_ == 0) {
      fail(ErrorCode::mismatch, "the sample has ", sample.rows(), " rows, a batch needs ", rows);
    }
  }

  Candidates take(const std::vector<std::string>& trained) {
    auto shapes = shapes_;
    const std::vector<PortInfo> inputs = model_->inputs();
    std::erase_if(shapes, [&](const auto& shape) {
      return std::ranges::count(inputs, shape.first, &PortInfo::name) == 0;
    });
    const auto places = parameter_places(*model_, shapes);
    const Layers layers = layers_with_channels(*model_);
    std::uint64_t elements = 0;
    for (const auto& [name, sum] : sums_) elements += sum.size();
    const double state_of_one = static_cast<double>(model_->plan_report({shapes_, 0}).state_bytes) /
                                static_cast<double>(std::max<std::uint64_t>(elements, 1));
    Candidates result{{}, std::move(shapes_)};
    for (const std::string& name : trained) {
      Candidate one = candidate(name, layers);
      one.state_bytes =
          static_cast<std::uint64_t>(state_of_one * static_cast<double>(one.elements));
      if (const auto place = places.find(name); place != places.end()) {
        one.depth = place->second.depth;
        if (model_->get_state(name).shape().rank() > 1) one.kept_bytes = place->second.kept_bytes;
      }
      result.all.push_back(std::move(one));
    }
    share_out(result.all);
    return result;
  }

 private:
  void take_shapes(std::span<const NamedValue> feeds) {
    for (const auto& [name, value] : feeds) shapes_.emplace_back(name, value.tensor().shape());
  }

  void add(const Results& derivatives) {
    for (const auto& [name, value] : derivatives) {
      const std::vector<double> numbers = to_doubles(value.tensor()).value();
      std::vector<double>& sum = sums_[name];
      sum.resize(numbers.size());
      for (std::size_t i = 0; i < numbers.size(); ++i) sum[i] += numbers[i];
    }
  }

  // Gain of an element in the loss's fall, by the sum of its derivatives.
  double gain(double sum) const {
    const double mean = sum / static_cast<double>(batches_);
    return is_plain_ ? mean * mean : std::abs(mean);
  }

  Candidate candidate(const std::string& name, const Layers& layers) const {
    const auto sum = sums_.find(name);
    if (sum == sums_.end()) {
      fail(ErrorCode::unsupported, "a step takes no derivative by ", quoted(name),
           ", so that a budget of training cannot be shared out");
    }
    Candidate one{name, sum->second.size()};
    const auto layer = layers.find(name);
    const bool has_channels = layer != layers.end() && layer->second.channels >= whole;
    std::vector<double> of_channels(has_channels ? static_cast<std::size_t>(layer->second.channels)
                                                 : 0);
    for (std::size_t i = 0; i < sum->second.size(); ++i) {
      const double gained = gain(sum->second[i]);
      one.gain += gained;
      if (!has_channels) continue;
      const graph::AdapterLayer& of = layer->second;
      of_channels[graph::channel_of(i, of.shape, of.transposed)] += gained;
    }
    one.channels.resize(of_channels.size());
    std::iota(one.channels.begin(), one.channels.end(), 0);
    std::ranges::stable_sort(one.channels, std::greater(), [&](std::int64_t channel) {
      return of_channels[static_cast<std::size_t>(channel)];
    });
    double so_far = 0;
    for (const std::int64_t channel : one.channels) {
      so_far += of_channels[static_cast<std::size_t>(channel)];
      one.gains.push_back(so_far);
    }
    return one;
  }

  static void share_out(std::vector<Candidate>& all) {
    double total = 0;
    for (const Candidate& one : all) total += one.gain;
    if (!(total > 0) || !std::isfinite(total)) {
      fail(ErrorCode::not_finite, "the derivatives on the sample are all 0 or not finite");
    }
    for (Candidate& one : all) {
      one.gain /= total;
      for (double& gain : one.gains) gain /= total;
    }
  }

  const Model* model_;
  bool is_plain_;  // steps along the derivative
  Shapes shapes_;
  std::map<std::string, std::vector<double>> sums_;
  std::uint64_t batches_ = 0;
};

}  // namespace

double Candidate::gain_of(unsigned eighths) const {
  if (eighths == whole) return gain;
  const std::size_t count = channels_of(eighths);
  return count == 0 ? 0 : gains[count - 1];
}

std::uint64_t Candidate::bytes_of(unsigned eighths) const {
  return (state_bytes + kept_bytes) * eighths / whole;
}

std::string Candidate::pattern(unsigned eighths) const {
  return eighths == whole ? name : graph::to_pattern({name, chosen(eighths)});
}

std::vector<std::int64_t> Candidate::chosen(unsigned eighths) const {
  const auto count = static_cast<std::ptrdiff_t>(channels_of(eighths));
  std::vector<std::int64_t> result(channels.begin(), channels.begin() + count);
  std::ranges::sort(result);
  return result;
}

Candidates measure(const Model& model, const Dataset& sample,
                   const std::vector<std::string>& trained, const Optimizer& optimizer,
                   const TrainBudget& budget, std::uint64_t seed) {
  Measurement measurement(model, optimizer);
  measurement.run(sample, budget, seed);
  return measurement.take(trained);
}

}  // namespace ondine::budget
