#include "trainer/text/caches/length_values.h"

#include <algorithm>
#include <cmath>

#include "core/to_doubles.h"
#include "graph/evaluate/graph_runner.h"
#include "trainer/plan/rewrite/specialize.h"

namespace ondine::text {

using namespace graph;  // NOLINT

namespace {

// `step` times 0, 1, .. or, where it is 0, ones.
Tensor places(DType dtype, std::int64_t length, std::int64_t step) {
  Tensor result(dtype, Shape{1, length});
  for (std::int64_t i = 0; i < length; ++i) {
    const std::int64_t value = step == 0 ? 1 : i * step;
    const auto at = static_cast<std::size_t>(i);
    if (dtype == DType::int64) {
      result.mutable_values<std::int64_t>()[at] = value;
    } else {
      result.mutable_values<std::int32_t>()[at] = static_cast<std::int32_t>(value);
    }
  }
  return result;
}

}  // namespace

Graph LengthValues::typed(std::int64_t length, std::span<const ValueId> outputs) const {
  Graph known = *graph_;
  known.inputs = {inputs_.ids};
  const auto set = [&](std::optional<ValueId> id, std::int64_t step) {
    if (!id) return;
    known[*id].declared = {};
    known[*id].constant = places(known[*id].type.dtype, length, step);
    known[*id].type = Type::tensor(known[*id].type.dtype, Shape{1, length});
  };
  set(inputs_.mask, 0);
  set(inputs_.positions, 1);
  const Type ids = Type::tensor(known[inputs_.ids].type.dtype, Shape{1, length});
  return trainer::specialize(known, {&ids, 1}, outputs, limits_);
}

std::vector<Tensor> LengthValues::at(std::int64_t length, std::span<const ValueId> values) const {
  Graph graph = typed(length, values);
  std::vector<ValueId> computed;
  for (const ValueId id : values) {
    if (!graph[id].constant->defined()) computed.push_back(id);
  }
  graph.outputs = computed;
  std::vector<Value> found;
  if (!computed.empty()) {
    const Value ids = Tensor(graph[inputs_.ids].type.dtype, Shape{1, length});
    found = evaluate(graph, {&ids, 1}, limits_);
  }
  std::vector<Tensor> result;
  auto next = found.begin();
  for (const ValueId id : values) {
    const Tensor& constant = graph[id].constant;
    result.push_back(constant.defined() ? constant : (next++)->tensor());
  }
  return result;
}

const Tensor& LengthValues::table(ValueId value) {
  const auto known = tables_.find(value);
  if (known != tables_.end()) return known->second;
  return tables_.emplace(value, at(longest_, {&value, 1}).front()).first->second;
}

bool is_beginning(const Tensor& part, const Tensor& table, std::span<const std::size_t> axes) {
  const Shape& small = part.shape();
  const Shape& large = table.shape();
  if (part.dtype() != table.dtype() || small.rank() != large.rank()) return false;
  for (std::size_t axis = 0; axis < small.rank(); ++axis) {
    const bool is_cut = std::ranges::find(axes, axis) != axes.end();
    if (is_cut ? small[axis] > large[axis] : small[axis] != large[axis]) return false;
  }
  const ReadElement read = element_reader(part.dtype());
  if (read == nullptr) return false;
  for (std::int64_t i = 0; i < small.size(); ++i) {
    std::int64_t at = 0;
    for (std::size_t axis = 0; axis < small.rank(); ++axis) {
      at = at * large[axis] + i / small.size(axis + 1, small.rank()) % small[axis];
    }
    const double x = read(part.data(), static_cast<std::size_t>(i));
    const double y = read(table.data(), static_cast<std::size_t>(at));
    if (x != y && !(std::abs(x - y) <= 1e-5 * std::max(1.0, std::abs(y)))) return false;
  }
  return true;
}

}  // namespace ondine::text
