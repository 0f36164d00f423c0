#include "kernels/common/expansion.h"

#include "graph/contract/ops.h"

#include <algorithm>

#include "graph/contract/op_def.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

std::vector<Val> grad_of_expansion(GradContext& g) {
  ExpandContext context(g.builder(), g.node());
  std::vector<Val> ys = g.node().op->expand(context);
  std::vector<Val> dys;
  for (std::size_t i = 0; i < ys.size(); ++i) dys.push_back(g.dy(i));
  // A value that is two inputs gets its whole derivative at the first of them.
  std::vector<Val> xs;
  std::vector<std::size_t> positions;
  for (std::size_t i = 0; i < g.input_count(); ++i) {
    const Val x = g.x(i);
    const bool seen = std::any_of(xs.begin(), xs.end(), [&](Val o) { return o.id() == x.id(); });
    if (!x || !g.wants(i) || seen) continue;
    xs.push_back(x);
    positions.push_back(i);
  }
  const auto derivatives = g.differentiate()(g.builder(), ys, dys, xs);
  std::vector<Val> result(g.input_count());
  for (std::size_t k = 0; k < positions.size(); ++k) result[positions[k]] = derivatives[k];
  return result;
}

const graph::Type& result_type(const graph::ExpandContext& context) {
  return context.builder().graph()[context.node().outputs.at(0)].type;
}

graph::Val of_rank(graph::Val x, std::vector<std::int64_t> ranks, std::string needed) {
  if (x.ranked()) return x;
  return x.builder().node("RequireRank", {x},
                          {{"ranks", std::move(ranks)}, {"needed", std::move(needed)}},
                          ondine_domain);
}

namespace {

// Whether the dim is known and `test` of its size holds.
template <class Test>
bool known_dim(const Val& x, std::int64_t axis, const Test& test) {
  if (!x.ranked()) return false;
  const Dim dim = x.dims()[NodeView::normalize_axis(axis, x.rank())];
  return dim.known() && test(dim.size());
}

Val require_dims(Val x, Val like, Attributes attributes, std::string what) {
  attributes.emplace_back("what", std::move(what));
  const Val operands[] = {x, like};
  return x.builder().nodes("RequireDims", std::span(operands).first(like ? 2 : 1),
                           std::move(attributes), 1, ondine_domain)[0];
}

}  // namespace

Val with_dims_of(Val x, std::vector<std::int64_t> axes, Val like,
                 std::vector<std::int64_t> like_axes, std::string what) {
  bool same = x.ranked() && like.ranked();
  for (std::size_t i = 0; same && i < axes.size(); ++i) {
    const Dim dim = x.dims()[NodeView::normalize_axis(axes[i], x.rank())];
    same = dim.same(like.dims()[NodeView::normalize_axis(like_axes[i], like.rank())]);
  }
  if (same) return x;
  return require_dims(x, like, {{"axes", std::move(axes)}, {"like_axes", std::move(like_axes)}},
                      std::move(what));
}

Val with_dims_of(Val x, Val like, std::string what) {
  const bool same =
      x.ranked() && like.ranked() &&
      std::ranges::equal(x.dims(), like.dims(), [](Dim a, Dim b) { return a.same(b); });
  return same ? x : require_dims(x, like, {}, std::move(what));
}

Val with_dim(Val x, std::int64_t axis, std::int64_t size, std::string what) {
  if (known_dim(x, axis, [&](std::int64_t found) { return found == size; })) return x;
  return require_dims(
      x, {},
      {{"axes", std::vector<std::int64_t>{axis}}, {"sizes", std::vector<std::int64_t>{size}}},
      std::move(what));
}

Val with_multiple(Val x, std::int64_t axis, std::int64_t of, std::string what) {
  if (known_dim(x, axis, [&](std::int64_t found) { return found % of == 0; })) return x;
  return require_dims(x, {}, {{"axes", std::vector<std::int64_t>{axis}}, {"multiple_of", of}},
                      std::move(what));
}

graph::Val zeros(graph::Val shape, DType dtype) {
  return graph::expand(shape.builder().scalar(0, dtype), shape);
}

namespace {

// The number of elements of a shape, as a vector of one.
graph::Val element_count(graph::Val shape) {
  return shape.builder().node("ReduceProd", {shape}, {{"keepdims", std::int64_t{1}}});
}

}  // namespace

graph::Val positions(graph::Val shape) {
  graph::Builder& b = shape.builder();
  const graph::Val end = graph::squeeze(element_count(shape), {0});
  return graph::reshape(b.node("Range", {b.int64(0), end, b.int64(1)}), shape);
}

graph::Val add_at(graph::Val dy, graph::Val offsets, graph::Val shape) {
  const graph::Val flat = zeros(element_count(shape), dy.dtype());
  const graph::Val sums = dy.builder().node(
      "ScatterElements", {flat, graph::reshape(offsets, {-1}), graph::reshape(dy, {-1})},
      {{"reduction", std::string("add")}});
  return graph::reshape(sums, shape);
}

}  // namespace ondine::kernels
