// A Conv with constant weights followed by a BatchNormalization with constant inputs becomes a
// Conv: with a = scale / sqrt(variance + epsilon) per channel, its weights are w a, its bias (b -
// mean) a + bias.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "core/deferred.h"
#include "graph/passes/fuse.h"

namespace ondine::graph {
namespace {

// Weights of fewer bytes are folded at once: they would leave most of a page empty.
constexpr std::size_t least_deferred = std::size_t{16} << 10;

template <class T>
void scale_channels(const Tensor& weights, std::span<const double> factors, T* to) {
  const HeldElements held(weights);
  const auto* from = static_cast<const T*>(held.data());
  const std::size_t depth = static_cast<std::size_t>(weights.size()) / factors.size();
  for (const double factor : factors) {
    for (const T* const end = from + depth; from != end; ++from) {
      *to++ = static_cast<T>(double{*from} * factor);
    }
  }
}

// Large results are computed when they are first asked for, into pages that lie side by side and
// share huge pages. The source stays where it is.
template <class T>
Tensor scaled(const Tensor& weights, std::vector<double> factors) {
  if (weights.bytes() >= least_deferred) {
    const std::size_t bytes = weights.bytes();
    const auto compute = [weights, factors = std::move(factors)](std::span<std::byte> memory) {
      scale_channels(weights, factors, reinterpret_cast<T*>(memory.data()));
    };
    return Tensor::share(weights.dtype(), weights.shape(),
                         std::make_shared<DeferredElements>(bytes, compute));
  }
  Tensor result(weights.dtype(), weights.shape());
  if (!factors.empty()) scale_channels(weights, factors, result.mutable_values<T>().data());
  return result;
}

template <class T>
void fold(FoldedConvolution& folded) {
  const auto& from = folded.sources;
  const auto values = [&](std::size_t i) { return from[i].values<T>(); };
  folded.bias = Tensor(from[0].dtype(), {from[0].shape()[0]});
  const auto b = folded.bias.mutable_values<T>();
  std::vector<double> factors;
  for (std::size_t c = 0; c < b.size(); ++c) {
    const double deviation = std::sqrt(double{values(5)[c]} + double{folded.epsilon});
    const double a = double{values(2)[c]} / deviation;
    const double old = from[1].defined() ? double{values(1)[c]} : 0;
    b[c] = static_cast<T>((old - double{values(4)[c]}) * a + double{values(3)[c]});
    factors.push_back(a);
  }
  folded.weights = scaled<T>(from[0], std::move(factors));
}

// Weights and bias of the convolution, scale, bias, mean and variance of the normalization.
FoldedConvolution sources_of(const Graph& graph, const Node& conv, const Node& norm) {
  FoldedConvolution result;
  const auto add = [&](const Node& node, std::size_t i) {
    const bool there = NodeView(node).has_input(i);
    result.sources.push_back(there ? *graph[node.inputs[i]].constant : Tensor());
  };
  for (const std::size_t i : {1U, 2U}) add(conv, i);
  for (const std::size_t i : {1U, 2U, 3U, 4U}) add(norm, i);
  result.epsilon = NodeView(norm).attr_float("epsilon", 1e-5F);
  return result;
}

bool same_sources(const FoldedConvolution& a, const FoldedConvolution& b) {
  return a.epsilon == b.epsilon &&
         std::equal(a.sources.begin(), a.sources.end(), b.sources.begin(), b.sources.end(),
                    [](const Tensor& x, const Tensor& y) {
                      if (!x.defined() || !y.defined()) return x.defined() == y.defined();
                      return x.data() == y.data() && x.dtype() == y.dtype() &&
                             x.shape() == y.shape();
                    });
}

FoldedConvolution folded(FoldedConvolution wanted, FoldedConvolutions* known) {
  if (known != nullptr) {
    const auto found = std::find_if(known->begin(), known->end(),
                                    [&](const auto& one) { return same_sources(one, wanted); });
    if (found != known->end()) return *found;
  }
  wanted.sources[0].dtype() == DType::float64 ? fold<double>(wanted) : fold<float>(wanted);
  if (known != nullptr) known->push_back(wanted);
  return wanted;
}

bool has_constants(const Graph& graph, const Node& node) {
  const DType dtype = graph[node.outputs[0]].type.dtype;
  for (std::size_t i = 1; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == no_value) continue;
    const Tensor& constant = graph[node.inputs[i]].constant;
    if (!constant.defined() || constant.dtype() != dtype) return false;
  }
  return true;
}

bool makes_one_output(const Node& node, const Uses& uses) {
  for (std::size_t i = 1; i < node.outputs.size(); ++i) {
    if (node.outputs[i] != no_value && uses.readers(node.outputs[i]) > 0) return false;
  }
  return true;
}

// The convolution into which the normalization can be folded.
const Node* convolution_of(const Graph& graph, const Node& node, const Uses& uses) {
  if (node.op->name != "BatchNormalization" || !node.op->domain.empty()) return nullptr;
  if (trains_normalization(node) || !normalizes_channels(node)) return nullptr;
  if (!is_full_float(graph, node.outputs[0]) || !makes_one_output(node, uses)) return nullptr;
  const Node* conv = uses.sole_producer(node.inputs[0], "Conv");
  if (conv == nullptr || !has_constants(graph, node) || !has_constants(graph, *conv))
    return nullptr;
  const std::int64_t channels = graph[conv->inputs[1]].constant->shape()[0];
  for (std::size_t i = 1; i < 5; ++i) {
    if (graph[node.inputs[i]].constant->size() != channels) return nullptr;
  }
  return conv;
}

ValueId add_constant(Graph& graph, ValueId like, Tensor tensor) {
  const ValueId id = graph.add_temporary(graph[like].name + "_folded",
                                         Type::tensor(tensor.dtype(), tensor.shape()));
  graph[id].constant = std::move(tensor);
  return id;
}

bool run(Graph& graph, const PassContext& context) {
  std::uint64_t left = context.fold_bytes;
  std::vector<ValueId> replaced;
  const bool changed = fuse_nodes(graph, [&](Node& node, const Uses& uses) {
    const Node* conv = convolution_of(graph, node, uses);
    if (conv == nullptr || graph[conv->inputs[1]].constant->bytes() > left) return false;
    left -= graph[conv->inputs[1]].constant->bytes();
    FoldedConvolution made = folded(sources_of(graph, *conv, node), context.folded);
    replaced.push_back(conv->inputs[1]);
    const ValueId weights = add_constant(graph, replaced.back(), std::move(made.weights));
    const ValueId bias = add_constant(graph, replaced.back(), std::move(made.bias));
    const std::string name = node.name;
    const ValueId result = node.outputs[0];
    node = *conv;
    node.name = name;
    node.inputs = {conv->inputs[0], weights, bias};
    node.outputs = {result};
    return true;
  });
  if (!changed) return false;
  drop_dead_nodes(graph);
  const Uses uses(graph);
  for (const ValueId id : replaced) {
    if (uses.readers(id) == 0) graph[id].constant = {};
  }
  return true;
}

}  // namespace

const Pass fold_normalization{"fold_normalization", run};

}  // namespace ondine::graph
