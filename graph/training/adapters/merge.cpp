#include "graph/training/adapters/merge.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/filled_tensor.h"
#include "core/message.h"
#include "core/stop.h"
#include "core/to_doubles.h"
#include "graph/training/adapters/record.h"
#include "graph/training/prepare/names.h"

namespace ondine::graph {
namespace {

// scale a b, transposed where the weight is.
std::vector<double> product_of(const Adapter& adapter, const Tensor& a, const Tensor& b) {
  const auto in = static_cast<std::size_t>(a.shape()[0]);
  const auto rank = static_cast<std::size_t>(a.shape()[1]);
  const auto out = static_cast<std::size_t>(b.shape()[1]);
  const std::vector<double> left = *to_doubles(a);
  const std::vector<double> right = *to_doubles(b);
  std::vector<double> result(in * out);
  for (std::size_t i = 0; i < in; ++i) {
    checkpoint(static_cast<std::int64_t>(rank * out));
    for (std::size_t j = 0; j < out; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < rank; ++k) sum += left[i * rank + k] * right[k * out + j];
      result[adapter.transposed ? j * in + i : i * out + j] = adapter.merged_scale * sum;
    }
  }
  return result;
}

class Merger {
 public:
  explicit Merger(ModelDef& model) : graph_(&model.graph) {
    for (std::size_t i = 0; i < graph_->nodes.size(); ++i) {
      for (const std::string& name : graph_->nodes[i].inputs) reader_.emplace(name, i);
      for (const std::string& name : graph_->nodes[i].outputs) producer_.emplace(name, i);
    }
    for (InitializerDef& one : graph_->initializers) stored_.emplace(one.name, &one);
  }

  bool can_merge(const Adapter& adapter) const {
    const auto found = stored_.find(adapter.weight);
    return found != stored_.end() && is_float(found->second->value.dtype());
  }

  void merge(const Adapter& adapter) {
    Tensor& weight = initializer(adapter, adapter.weight).value;
    const Tensor& a = initializer(adapter, adapter.a).value;
    const Tensor& b = initializer(adapter, adapter.b).value;
    require_shapes(adapter, weight.shape(), a.shape(), b.shape());
    const std::vector<double> added = product_of(adapter, a, b);
    const auto before = to_doubles(weight);
    weight = filled_tensor(weight.shape(), weight.dtype(),
                           [&](std::size_t i) { return (*before)[i] + added[i]; });
    remove(adapter);
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
  InitializerDef& initializer(const Adapter& adapter, const std::string& name) {
    const auto found = stored_.find(name);
    if (found != stored_.end() && is_float(found->second->value.dtype())) return *found->second;
    fail(ErrorCode::corrupt, "the adapter of ", quoted(adapter.module), " has no matrix ",
         quoted(name));
  }

  static void require_shapes(const Adapter& adapter, const Shape& weight, const Shape& a,
                             const Shape& b) {
    const std::size_t in = adapter.transposed ? 1 : 0;
    if (a.rank() == 2 && b.rank() == 2 && weight.rank() == 2 && a[1] == b[0] &&
        weight[in] == a[0] && weight[1 - in] == b[1]) {
      return;
    }
    fail(ErrorCode::corrupt, "the adapter of ", quoted(adapter.module), " has matrices ", a,
         " and ", b, " for the weight ", weight);
  }

  std::size_t reader_of(const Adapter& adapter, const std::string& name,
                        std::string_view op) const {
    const auto found = reader_.find(name);
    if (found == reader_.end() || !is_standard(graph_->nodes[found->second], op)) {
      fail(ErrorCode::corrupt, "the nodes of the adapter of ", quoted(adapter.module),
           " are not those that prepare writes");
    }
    return found->second;
  }

  void remove(const Adapter& adapter) {
    const std::size_t inner = reader_of(adapter, adapter.a, "MatMul");
    const std::size_t outer = reader_of(adapter, adapter.b, "MatMul");
    const std::size_t scaled = reader_of(adapter, graph_->nodes[outer].outputs[0], "Mul");
    const std::size_t sum = reader_of(adapter, graph_->nodes[scaled].outputs[0], "Add");
    const auto base = producer_.find(graph_->nodes[sum].inputs[0]);
    if (base == producer_.end()) reader_of(adapter, "", "Add");
    const auto dropped = producer_.find(graph_->nodes[inner].inputs[0]);
    if (dropped != producer_.end() && is_standard(graph_->nodes[dropped->second], "Dropout") &&
        graph_->nodes[dropped->second].outputs[0].ends_with(".dropped")) {
      removed_.insert(dropped->second);
      for (const std::string& name : graph_->nodes[dropped->second].inputs) freed_.insert(name);
    }
    for (const std::size_t one : {inner, outer, scaled, sum}) {
      for (const std::string& name : graph_->nodes[one].inputs) freed_.insert(name);
      removed_.insert(one);
    }
    graph_->nodes[base->second].outputs[0] = graph_->nodes[sum].outputs[0];
  }

  GraphDef* graph_;
  std::unordered_map<std::string, std::size_t> reader_;
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

}  // namespace ondine::graph
