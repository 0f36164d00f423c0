#include "trainer/model/feeds.h"

#include <algorithm>

#include "core/message.h"
#include "graph/evaluate/node_runner.h"
#include "trainer/model/dim_sizes.h"

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

bool fits(const Value& value, const Type& declared) {
  if (declared.kind == TypeKind::unknown) return true;
  if (value.is_tensor()) return tensor_fits(value.tensor(), declared);
  if (!compatible(type_of(value), declared)) return false;
  const bool holds = value.kind() == Value::Kind::sequence || value.kind() == Value::Kind::optional;
  if (!holds || !declared.element) return true;
  return std::ranges::all_of(
      value.elements(), [&](const Value& element) { return fits(element, *declared.element); });
}

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
      const auto& names = graph.symbols->names;
      out += dim.is_symbolic() && dim.symbol() < names.size() ? names[dim.symbol()] : "?";
    }
  }
  return out + "]";
}

void check_feeds(const Graph& graph, const DimClasses& dims, std::span<const std::string> names,
                 std::span<const Value> values) {
  DimSizes sizes(*graph.symbols, dims);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Type& declared = graph[graph.inputs[i]].declared;
    if (declared.kind == TypeKind::unknown) continue;
    if (!fits(values[i], declared)) {
      fail(ErrorCode::mismatch, "input ", quoted(names[i]), " must be a ",
           describe_type(declared, graph), ", not a ", graph::to_string(type_of(values[i])));
    }
    sizes.check("input", names[i], values[i], declared);
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i].is_tensor()) continue;
    sizes.check_elements("input", names[i], values[i], graph[graph.inputs[i]].declared);
  }
}

}  // namespace ondine::trainer
