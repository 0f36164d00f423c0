#include "graph/training/prepare/exporter/ties.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <map>
#include <utility>

#include "core/message.h"
#include "graph/training/prepare/notes.h"
#include "graph/training/prepare/parameters/origin.h"
#include "graph/training/prepare/parameters/paths.h"
#include "graph/training/prepare/values.h"

namespace ondine::graph {
namespace {

bool is_matrix(const Tensor& tensor) {
  return tensor.shape().rank() == 2 && tensor.shape()[0] > 1 && tensor.shape()[1] > 1;
}

// Whether one matrix is the transpose of the other; for types whose elements are whole bytes.
bool is_transposed(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || !is_matrix(a) || !is_matrix(b) || a.shape()[0] != b.shape()[1] ||
      a.shape()[1] != b.shape()[0]) {
    return false;
  }
  const auto rows = static_cast<std::size_t>(a.shape()[0]);
  const auto columns = static_cast<std::size_t>(a.shape()[1]);
  const std::size_t size = size_of(a.dtype());
  const auto* x = static_cast<const unsigned char*>(a.data());
  const auto* y = static_cast<const unsigned char*>(b.data());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      if (std::memcmp(x + (i * columns + j) * size, y + (j * rows + i) * size, size) != 0) {
        return false;
      }
    }
  }
  return true;
}

bool is_equal(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         (a.bytes() == 0 || std::memcmp(a.data(), b.data(), a.bytes()) == 0);
}

struct Copy {
  std::size_t index = 0;     // of the initializer
  std::size_t original = 0;  // likewise
  bool transposed = false;
};

class TiedCopiesSearch {
 public:
  explicit TiedCopiesSearch(const GraphDef& graph) : graph_(&graph) {
    for (const ValueDef& one : graph.value_infos) note_source(one.name, one.metadata);
    for (const InitializerDef& one : graph.initializers) note_source(one.name, one.metadata);
    for (const ValueDef& one : graph.inputs) inputs_.insert(one.name);
    const std::vector<InitializerDef>& all = graph.initializers;
    for (std::size_t i = 0; i < all.size(); ++i) {
      index_.emplace(all[i].name, i);
      if (is_generated_name(all[i].name) || !is_matrix(all[i].value)) continue;
      const Shape& shape = all[i].value.shape();
      named_[{shape[1], shape[0]}].push_back(i);
    }
  }

  std::vector<Copy> run() {
    const std::vector<InitializerDef>& all = graph_->initializers;
    std::vector<Copy> copies;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Tensor& value = all[i].value;
      if (!is_differentiable(value.dtype()) || value.size() == 0 || inputs_.contains(all[i].name)) {
        continue;
      }
      if (!find_source(i, copies)) find_elements(i, copies);
    }
    return copies;
  }

 private:
  void note_source(const std::string& name, const Properties& metadata) {
    std::vector<std::string> sources = folded_from(metadata);
    if (sources.size() == 1) source_.insert_or_assign(name, std::move(sources[0]));
  }

  // Finds a copy by the metadata. The parameter itself, if the file has it, or the first copy
  // stays.
  bool find_source(std::size_t i, std::vector<Copy>& copies) {
    const auto source = source_.find(graph_->initializers[i].name);
    if (source == source_.end() || source->second.find('.') == std::string::npos) return false;
    const auto parameter = index_.find(source->second);
    if (parameter != index_.end() && add(i, parameter->second, copies)) return true;
    std::vector<std::size_t>& others = firsts_[source->second];
    for (const std::size_t other : others) {
      if (add(i, other, copies)) return true;
    }
    others.push_back(i);
    return false;
  }

  void find_elements(std::size_t i, std::vector<Copy>& copies) const {
    const InitializerDef& one = graph_->initializers[i];
    // Equality says nothing of zeros.
    if (!is_generated_name(one.name) || !is_matrix(one.value) || all_equal(one.value)) return;
    const auto candidates = named_.find({one.value.shape()[0], one.value.shape()[1]});
    if (candidates == named_.end()) return;
    for (const std::size_t other : candidates->second) {
      if (!is_transposed(graph_->initializers[other].value, one.value)) continue;
      copies.push_back({i, other, true});
      return;
    }
  }

  bool add(std::size_t i, std::size_t original, std::vector<Copy>& copies) const {
    const Tensor& value = graph_->initializers[i].value;
    const Tensor& other = graph_->initializers[original].value;
    if (i == original) return false;
    const bool equal = is_equal(value, other);
    if (!equal && !is_transposed(other, value)) return false;
    copies.push_back({i, original, !equal});
    return true;
  }

  const GraphDef* graph_;
  Strings inputs_;
  std::map<std::string, std::string, std::less<>> source_;
  std::map<std::string, std::size_t, std::less<>> index_;
  std::map<std::string, std::vector<std::size_t>, std::less<>> firsts_;  // by their source
  // Named matrices by the shape that their transposed has.
  std::map<std::pair<std::int64_t, std::int64_t>, std::vector<std::size_t>> named_;
};

NodeDef replacement(const std::string& name, const std::string& original, bool transposed) {
  NodeDef node;
  node.op = transposed ? "Transpose" : "Identity";
  node.inputs = {original};
  node.outputs = {name};
  if (transposed) node.attributes = {{"perm", std::vector<std::int64_t>{1, 0}}};
  return node;
}

}  // namespace

std::vector<std::string> tie_copies(GraphDef& graph) {
  const std::vector<Copy> copies = TiedCopiesSearch(graph).run();
  if (copies.empty()) return {};
  Strings removed;
  std::vector<NodeDef> nodes;
  std::vector<std::string> tied;
  for (const Copy& copy : copies) {
    const std::string& name = graph.initializers[copy.index].name;
    const std::string& original = graph.initializers[copy.original].name;
    tied.push_back(quoted(name) + " (" + quoted(original) +
                   (copy.transposed ? " transposed)" : ")"));
    nodes.push_back(replacement(name, original, copy.transposed));
    removed.insert(name);
  }
  std::erase_if(graph.initializers, [&](const auto& one) { return removed.contains(one.name); });
  std::move(graph.nodes.begin(), graph.nodes.end(), std::back_inserter(nodes));
  graph.nodes = std::move(nodes);
  return {"parameters that the exporter wrote twice, which train as one: " + listed(tied)};
}

}  // namespace ondine::graph
