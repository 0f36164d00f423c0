#include "graph/training/adapters/merge.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "core/filled_tensor.h"
#include "core/message.h"
#include "core/to_doubles.h"
#include "graph/training/adapters/products.h"
#include "graph/training/adapters/record.h"
#include "graph/training/prepare/names.h"

namespace ondine::graph {
namespace {

class Merger {
 public:
  explicit Merger(ModelDef& model) : graph_(&model.graph) {
    for (std::size_t i = 0; i < graph_->nodes.size(); ++i) {
      for (const std::string& name : reads_of(graph_->nodes[i])) readers_[name].push_back(i);
      for (const std::string& name : graph_->nodes[i].outputs) producer_.emplace(name, i);
    }
    for (const ValueDef& one : graph_->outputs) readers_[one.name].push_back(outside);
    for (InitializerDef& one : graph_->initializers) stored_.emplace(one.name, &one);
  }

  // Nothing where a new head has taken the place of the layer.
  void leave_out(const Adapter& adapter) {
    const bool is_there = producer_.contains(adapter.output) &&
                          (adapter.of_inputs || producer_.contains(adapter.base));
    if (is_there && adapter.kind != AdapterKind::prompt) bypass(adapter);
  }

  bool can_merge(const Adapter& adapter) const {
    if (adapter.kind == AdapterKind::prompt) return false;
    return is_stored(adapter.weight) && (adapter.bias.empty() || is_stored(adapter.bias));
  }

  void merge(Adapter adapter) {
    if (adapter.output.empty()) find_values(adapter);
    if (adapter.kind == AdapterKind::ia3) {
      multiply(adapter);
    } else {
      add(adapter);
    }
    bypass(adapter);
  }

  void finish() {
    std::vector<NodeDef> kept;
    for (std::size_t i = 0; i < graph_->nodes.size(); ++i) {
      if (!removed_.contains(i)) kept.push_back(std::move(graph_->nodes[i]));
    }
    graph_->nodes = std::move(kept);
    const auto read = reads_of(*graph_);
    std::erase_if(graph_->initializers, [&](const InitializerDef& one) {
      return freed_.contains(one.name) && !read.contains(one.name);
    });
  }

 private:
  static constexpr std::size_t outside = static_cast<std::size_t>(-1);

  bool is_stored(const std::string& name) const {
    const auto found = stored_.find(name);
    return found != stored_.end() && is_float(found->second->value.dtype());
  }

  [[noreturn]] static void refuse_nodes(const Adapter& adapter) {
    fail(ErrorCode::corrupt, "the nodes of the adapter of ", quoted(adapter.module),
         " are not those that prepare writes");
  }

  Tensor& initializer(const Adapter& adapter, const std::string& name) {
    if (is_stored(name)) return stored_.at(name)->value;
    fail(ErrorCode::corrupt, "the adapter of ", quoted(adapter.module), " has no matrix ",
         quoted(name));
  }

  // scale a b
  std::vector<double> product(const Adapter& adapter, const Shape& shape) {
    const Tensor& a = initializer(adapter, adapter.a);
    const Tensor& b = initializer(adapter, adapter.b);
    if (!fit(adapter, shape, a.shape(), b.shape())) {
      fail(ErrorCode::corrupt, "the adapter of ", quoted(adapter.module), " has matrices ",
           a.shape(), " and ", b.shape(), " for the weight ", shape);
    }
    return low_rank_product(adapter, a, b);
  }

  // b for the channels a, and zeros.
  std::vector<double> channels(const Adapter& adapter, const Shape& shape) {
    const Tensor& added = initializer(adapter, adapter.b);
    const auto numbers = stored_.find(adapter.a);
    const bool has_numbers =
        numbers != stored_.end() && numbers->second->value.dtype() == DType::int64;
    std::optional<std::vector<double>> placed;
    if (has_numbers) {
      placed = channel_parts(adapter, shape, numbers->second->value.values<std::int64_t>(), added);
    }
    if (placed) return *std::move(placed);
    fail(ErrorCode::corrupt, "the adapter of ", quoted(adapter.module), " has parts ",
         added.shape(), " that are not of channels of the weight ", shape);
  }

  // w + scale a b; each output of it gets the length of DoRA.
  void add(const Adapter& adapter) {
    Tensor& weight = initializer(adapter, adapter.weight);
    const Shape shape = weight.shape();
    std::vector<double> sum =
        adapter.kind == AdapterKind::channels ? channels(adapter, shape) : product(adapter, shape);
    const std::vector<double> before = *to_doubles(weight);
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += before[i];
    if (!adapter.magnitude.empty()) {
      const std::vector<double> wanted = *to_doubles(initializer(adapter, adapter.magnitude));
      const std::vector<double> lengths = output_lengths(sum, shape, adapter.transposed);
      require_count(adapter, wanted.size(), lengths.size());
      for (std::size_t i = 0; i < sum.size(); ++i) {
        const std::size_t output = output_of(i, shape, adapter.transposed);
        sum[i] *= wanted[output] / lengths[output];
      }
    }
    weight = filled_tensor(shape, weight.dtype(), [&](std::size_t i) { return sum[i]; });
  }

  // Weight, and the bias with the outputs, by the factor.
  void multiply(const Adapter& adapter) {
    Tensor& weight = initializer(adapter, adapter.weight);
    const std::vector<double> factor = *to_doubles(initializer(adapter, adapter.factor));
    const std::vector<double> before = *to_doubles(weight);
    const Shape shape = weight.shape();
    if (shape.rank() < 2) {
      fail(ErrorCode::corrupt, "the adapter of ", quoted(adapter.module), " multiplies the weight ",
           shape, ", needed: a matrix or more dims");
    }
    const auto channel = [&](std::size_t i) {
      return adapter.of_inputs ? channel_of(i, shape, adapter.transposed)
                               : output_of(i, shape, adapter.transposed);
    };
    std::size_t count = 0;
    for (std::size_t i = 0; i < before.size(); ++i) count = std::max(count, channel(i) + 1);
    require_count(adapter, factor.size(), count);
    weight = filled_tensor(shape, weight.dtype(),
                           [&](std::size_t i) { return before[i] * factor[channel(i)]; });
    if (adapter.bias.empty()) return;
    Tensor& bias = initializer(adapter, adapter.bias);
    const std::vector<double> added = *to_doubles(bias);
    const bool is_one = added.size() == 1;
    if (!is_one) require_count(adapter, factor.size(), added.size());
    const Shape wide = is_one ? Shape{static_cast<std::int64_t>(factor.size())} : bias.shape();
    bias = filled_tensor(wide, bias.dtype(),
                         [&](std::size_t i) { return added[is_one ? 0 : i] * factor[i]; });
  }

  static void require_count(const Adapter& adapter, std::size_t found, std::size_t needed) {
    if (found == needed) return;
    fail(ErrorCode::corrupt, "the adapter of ", quoted(adapter.module), " has ", found,
         " factors for ", needed, " elements");
  }

  std::size_t reader_of(const Adapter& adapter, const std::string& name,
                        std::string_view op) const {
    const auto found = readers_.find(name);
    if (found == readers_.end() || found->second.empty() || found->second[0] == outside ||
        !is_standard(graph_->nodes[found->second[0]], op)) {
      refuse_nodes(adapter);
    }
    return found->second[0];
  }

  // Records of version 1 do not have them.
  void find_values(Adapter& adapter) const {
    const std::size_t outer = reader_of(adapter, adapter.b, "MatMul");
    const std::size_t scaled = reader_of(adapter, graph_->nodes[outer].outputs[0], "Mul");
    const std::size_t sum = reader_of(adapter, graph_->nodes[scaled].outputs[0], "Add");
    adapter.base = graph_->nodes[sum].inputs[0];
    adapter.output = graph_->nodes[sum].outputs[0];
  }

  // Readers of the adapter's result read the value that stood there without it.
  void bypass(const Adapter& adapter) {
    const auto last = producer_.find(adapter.output);
    if (last == producer_.end()) refuse_nodes(adapter);
    if (adapter.of_inputs) {
      for (const std::size_t reader : readers_[adapter.output]) {
        if (reader == outside) refuse_nodes(adapter);
        std::vector<std::string>& inputs = graph_->nodes[reader].inputs;
        std::replace(inputs.begin(), inputs.end(), adapter.output, adapter.base);
        readers_[adapter.base].push_back(reader);
      }
      readers_[adapter.output].clear();
      remove(last->second);
      return;
    }
    const auto base = producer_.find(adapter.base);
    if (base == producer_.end() || base->second == last->second) refuse_nodes(adapter);
    const std::size_t kept = base->second;
    producer_.erase(base);
    remove(last->second);
    std::vector<std::string>& outputs = graph_->nodes[kept].outputs;
    std::replace(outputs.begin(), outputs.end(), adapter.base, adapter.output);
    producer_[adapter.output] = kept;
  }

  // And the nodes that only it read.
  void remove(std::size_t node) {
    std::vector<std::size_t> pending{node};
    while (!pending.empty()) {
      const std::size_t one = pending.back();
      pending.pop_back();
      if (!removed_.insert(one).second) continue;
      for (const std::string& name : reads_of(graph_->nodes[one])) {
        std::vector<std::size_t>& readers = readers_[name];
        std::erase(readers, one);
        if (!readers.empty()) continue;
        if (stored_.contains(name)) freed_.insert(name);
        if (const auto made = producer_.find(name); made != producer_.end()) {
          if (is_read(graph_->nodes[made->second])) continue;
          pending.push_back(made->second);
        }
      }
    }
  }

  bool is_read(const NodeDef& node) const {
    return std::any_of(node.outputs.begin(), node.outputs.end(), [&](const std::string& name) {
      const auto found = readers_.find(name);
      return found != readers_.end() && !found->second.empty();
    });
  }

  GraphDef* graph_;
  std::unordered_map<std::string, std::vector<std::size_t>> readers_;
  std::unordered_map<std::string, std::size_t> producer_;
  std::unordered_map<std::string, InitializerDef*> stored_;
  std::unordered_set<std::size_t> removed_;
  std::unordered_set<std::string> freed_;  // initializers that only adapters read
};

}  // namespace

void merge_adapters(ModelDef& model) {
  Adapters adapters = read_adapters(model.metadata);
  if (adapters.layers.empty()) return;
  Merger merger(model);
  std::erase_if(adapters.layers, [&](const Adapter& one) {
    if (!merger.can_merge(one)) return false;
    merger.merge(one);
    return true;
  });
  merger.finish();
  write_adapters(model.metadata, adapters);
}

void leave_out_adapters(ModelDef& model) {
  const Adapters adapters = read_adapters(model.metadata);
  if (adapters.layers.empty()) return;
  Merger merger(model);
  for (const Adapter& one : adapters.layers) merger.leave_out(one);
  merger.finish();
}

}  // namespace ondine::graph
