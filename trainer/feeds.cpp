#include "trainer/feeds.h"

#include <array>
#include <vector>

#include "core/message.h"
#include "graph/evaluate/node_runner.h"

namespace ondine::trainer {

using namespace graph;  // NOLINT

namespace {

bool tensor_fits(const Tensor& tensor, const Type& declared) {
  if (!declared.is_tensor() || tensor.dtype() != declared.dtype) return false;
  if (!declared.dims) return true;
  if (declared.dims->size() != tensor.shape().rank()) return false;
  for (std::size_t axis = 0; axis < declared.dims->size(); ++axis) {
    const Dim dim = (*declared.dims)[axis];
    if (dim.known() && dim.size() != tensor.shape()[axis]) return false;
  }
  return true;
}

// The size of each symbolic dim in this call.
class SymbolSizes {
 public:
  explicit SymbolSizes(const Graph& graph) : graph_(&graph) { few_.fill(-1); }

  void check(const std::string& input, const Tensor& tensor, const Type& declared) {
    if (!declared.dims) return;
    for (std::size_t axis = 0; axis < declared.dims->size(); ++axis) {
      const Dim dim = (*declared.dims)[axis];
      if (!dim.is_symbolic()) continue;
      std::int64_t& size = size_of(dim.symbol());
      if (size >= 0 && size != tensor.shape()[axis]) {
        fail(ErrorCode::mismatch, "input ", quoted(input), " has ", tensor.shape()[axis],
             " for dim ", quoted(graph_->symbols->names[dim.symbol()]),
             ", another input of this call has ", size);
      }
      size = tensor.shape()[axis];
    }
  }

 private:
  std::int64_t& size_of(std::size_t symbol) {
    if (symbol < few_.size()) return few_[symbol];
    if (more_.size() <= symbol) more_.resize(symbol + 1, -1);
    return more_[symbol];
  }

  const Graph* graph_;
  std::array<std::int64_t, 32> few_;  // so that a warm step does not allocate
  std::vector<std::int64_t> more_;
};

}  // namespace

std::string describe_type(const Type& type, const Graph& graph) {
  if (!type.is_tensor() || !type.dims) return graph::to_string(type);
  std::string out = cat("tensor(", type.dtype, ")[");
  for (std::size_t axis = 0; axis < type.dims->size(); ++axis) {
    const Dim dim = (*type.dims)[axis];
    if (axis > 0) out += ", ";
    if (dim.known()) {
      out += std::to_string(dim.size());
    } else {
      out += dim.is_symbolic() ? graph.symbols->names[dim.symbol()] : "?";
    }
  }
  return out + "]";
}

void check_feeds(const Graph& graph, std::span<const std::string> names,
                 std::span<const Value> values) {
  SymbolSizes sizes(graph);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Type& declared = graph[graph.inputs[i]].declared;
    if (declared.kind == TypeKind::unknown) continue;
    const bool fits = values[i].is_tensor() ? tensor_fits(values[i].tensor(), declared)
                                            : compatible(type_of(values[i]), declared);
    if (!fits) {
      fail(ErrorCode::mismatch, "input ", quoted(names[i]), " must be a ",
           describe_type(declared, graph), ", not a ", graph::to_string(type_of(values[i])));
    }
    if (values[i].is_tensor()) sizes.check(names[i], values[i].tensor(), declared);
  }
}

}  // namespace ondine::trainer
