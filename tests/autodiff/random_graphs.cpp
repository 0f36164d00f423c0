#include "tests/autodiff/random_graphs.h"

#include <array>

#include "core/random/random.h"
#include "graph/contract/ops.h"

namespace ondine::test {

using namespace graph;  // NOLINT

namespace {

std::int64_t extent(Val x, std::size_t axis) { return x.dims()[axis].size(); }

// Values stay near 1, whatever is multiplied.
Val bounded(Val x) { return unary("Tanh", x); }

bool broadcasts(Val a, Val b) {
  for (std::size_t i = 1; i <= std::min(a.rank(), b.rank()); ++i) {
    const std::int64_t m = extent(a, a.rank() - i);
    const std::int64_t n = extent(b, b.rank() - i);
    if (m != n && m != 1 && n != 1) return false;
  }
  return true;
}

Val as_matrix(Val x) {
  if (x.rank() == 2) return x;
  return reshape(x, {1, -1});
}

}  // namespace

std::uint64_t RandomGraph::draw(std::uint64_t below) {
  const double u = uniform_at({seed_, 1, 2}, drawn_++);
  return std::min(below - 1, static_cast<std::uint64_t>(u * static_cast<double>(below)));
}

std::vector<Value> RandomGraph::inputs() {
  const std::array<Shape, 7> shapes{
      {Shape{2, 3}, Shape{3}, Shape{3, 3}, Shape{1, 3}, Shape{2, 1}, Shape{}, Shape{3, 4}}};
  std::vector<Value> result;
  const std::uint64_t count = 2 + draw(3);
  for (std::uint64_t i = 0; i < count; ++i) {
    result.emplace_back(random_tensor(shapes[draw(shapes.size())], seed_ * 8 + i, -1.5, 1.5));
  }
  return result;
}

Val RandomGraph::build(Builder& builder, std::span<const Val> inputs) {
  Pool pool(inputs.begin(), inputs.end());
  const std::uint64_t steps = 5 + draw(26);
  for (std::uint64_t i = 0; i < steps; ++i) pool.push_back(step(builder, pool, true));
  Val sum = reduce_sum(pool.back(), {}, false);
  for (std::size_t i = 2; i <= 3; ++i) sum = sum + reduce_mean(pool[pool.size() - i], {}, false);
  return sum;
}

// Mostly one of the last values.
Val RandomGraph::pick(const Pool& pool) {
  const std::uint64_t n = pool.size();
  return draw(3) > 0 ? pool[n - 1 - draw(std::min<std::uint64_t>(n, 5))] : pool[draw(n)];
}

Val RandomGraph::pick_matrix(const Pool& pool) { return as_matrix(pick(pool)); }

Val RandomGraph::pick_partner(const Pool& pool, Val like) {
  for (int attempt = 0; attempt < 4; ++attempt) {
    const Val other = pick(pool);
    if (broadcasts(like, other)) return other;
  }
  return like;
}

Val RandomGraph::step(Builder& builder, const Pool& pool, bool subgraphs) {
  const std::uint64_t kind = draw(subgraphs ? 26 : 23);
  if (kind < 6) return elementwise(pool);
  if (kind < 11) return binary(pool);
  if (kind < 14) return product(pool);
  if (kind < 17) return reduction(pool);
  if (kind < 20) return movement(pool);
  if (kind < 23) return join_or_cut(pool);
  if (kind == 23) return branches(builder, pool);
  return kind == 24 ? loop(builder, pool) : scan(builder, pool);
}

Val RandomGraph::elementwise(const Pool& pool) {
  static constexpr std::array names{"Tanh", "Sigmoid", "Sin",  "Cos",      "Softplus", "Erf",
                                    "Atan", "Neg",     "Relu", "Identity", "Abs",      "LeakyRelu",
                                    "Gelu", "Mish",    "Elu",  "Softsign"};
  const Val x = pick(pool);
  if (draw(6) == 0) {
    Builder& b = x.builder();
    return b.node("Clip", {x, scalar_like(x, -0.7), scalar_like(x, 0.8)});
  }
  return unary(names[draw(names.size())], x);
}

Val RandomGraph::binary(const Pool& pool) {
  const Val a = pick(pool);
  const Val b = pick_partner(pool, a);
  switch (draw(8)) {
    case 0:
      return bounded(a - b);
    case 1:
      return bounded(a * b);
    case 2:
      return bounded(a / (unary("Sigmoid", b) + 0.5));
    case 3:
      return maximum(a, b);
    case 4:
      return minimum(a, b);
    case 5:
      return where(greater(a, b), bounded(a * 2.0), b);
    case 6:
      return bounded(pow(unary("Sigmoid", a) + 0.5, b));
    default:
      return bounded(a + b);
  }
}

// MatMul, Gemm or Conv.
Val RandomGraph::product(const Pool& pool) {
  const Val a = pick_matrix(pool);
  Val b = pick_matrix(pool);
  Builder& builder = a.builder();
  if (draw(3) == 0 && extent(b, 0) <= extent(a, 0) && extent(b, 1) <= extent(a, 1)) {
    const Val image = unsqueeze(a, {0, 1});
    const std::int64_t pad = static_cast<std::int64_t>(draw(2));
    const Val y = builder.node("Conv", {image, unsqueeze(b, {0, 1})},
                               {{"pads", std::vector<std::int64_t>{pad, 0, 0, pad}}});
    return bounded(squeeze(y, {0, 1}));
  }
  if (extent(a, 1) != extent(b, 0)) b = extent(a, 1) == extent(b, 1) ? transpose(b, {1, 0}) : Val();
  if (!b) b = transpose(a, {1, 0});
  if (draw(2) == 0) return bounded(matmul(a, b));
  return bounded(builder.node("Gemm", {a, b}, {{"alpha", 0.5F}}));
}

Val RandomGraph::reduction(const Pool& pool) {
  static constexpr std::array names{"ReduceSum",  "ReduceMean",      "ReduceMax",
                                    "ReduceMin",  "ReduceLogSumExp", "ReduceL1",
                                    "ReduceProd", "ReduceSumSquare"};
  const Val x = pick_matrix(pool);
  const auto axis = static_cast<std::int64_t>(draw(2));
  switch (draw(5)) {
    case 0:
      return softmax(x, axis);
    case 1:
      return x.builder().node("LogSoftmax", {x}, {{"axis", axis}}) * 0.3;
    case 2:
      return bounded(x.builder().node("CumSum", {x, x.builder().int64(axis)}));
    default:
      return bounded(x.builder().node(names[draw(names.size())], {x, x.builder().int64s({axis})},
                                      {{"keepdims", static_cast<std::int64_t>(draw(2))}}));
  }
}

Val RandomGraph::movement(const Pool& pool) {
  const Val x = pick_matrix(pool);
  Builder& b = x.builder();
  switch (draw(6)) {
    case 0:
      return transpose(x, {1, 0});
    case 1:
      return reshape(x, {-1});
    case 2:
      return gather(x, b.int64s({0, extent(x, 0) - 1, 0}), 0);
    case 3:
      return b.node("Pad", {x, b.int64s({0, 1, 0, 0})},
                    {{"mode", std::string(extent(x, 1) > 1 ? "reflect" : "edge")}});
    case 4:
      return expand(reduce_mean(x, {0}, true), b.int64s({2, extent(x, 1)}));
    default:
      return b.node("Tile", {reduce_mean(x, {1}, true), b.int64s({1, 2})});
  }
}

Val RandomGraph::join_or_cut(const Pool& pool) {
  const Val x = pick_matrix(pool);
  Builder& b = x.builder();
  const std::int64_t rows = extent(x, 0);
  switch (draw(3)) {
    case 0: {
      const Val other = pick_matrix(pool);
      const bool fits = extent(other, 1) == extent(x, 1) && rows + extent(other, 0) < 6;
      const std::array parts{x, fits ? other : slice(x, 0, 1, 0)};
      return rows < 6 ? concat(parts, 0) : slice(x, 0, 2, 0);
    }
    case 1: {
      if (rows < 2) return slice(x, -1, -100, 1, -1);
      const std::array inputs{x, b.int64s({1, rows - 1})};
      const auto parts = b.nodes("Split", inputs, {{"axis", std::int64_t{0}}}, 2);
      return bounded(parts[0] * parts[1]);
    }
    default:
      return slice(x, static_cast<std::int64_t>(draw(static_cast<std::uint64_t>(rows))), 100, 0);
  }
}

// One of two expressions of a value, by the sign of a sum.
Val RandomGraph::branches(Builder& builder, const Pool& pool) {
  const Val x = pick(pool);
  const Val other = pick(pool);
  const Val sum = reduce_sum(other, {}, false);
  const std::array condition{greater(sum, scalar_like(sum, 0.2))};
  std::vector<Subgraph> subgraphs;
  for (const char* name : {"then_branch", "else_branch"}) {
    SubgraphBuilder branch(builder);
    const Pool inner{branch.capture(other), branch.capture(x)};
    // Both must have the shape of x.
    Pool more = inner;
    for (int i = 0; i < 2; ++i) more.push_back(step(branch.builder(), more, false));
    const std::array out{bounded(inner[1] * reduce_mean(more.back(), {}, false))};
    subgraphs.push_back(branch.finish(name, out));
  }
  return control_node(builder, "If", condition, std::move(subgraphs), 1)[0];
}

// v = tanh(v * mean(w) + x), two or three times; the last one or all together.
Val RandomGraph::loop(Builder& builder, const Pool& pool) {
  const Val x = pick(pool);
  const Val w = pick(pool);
  SubgraphBuilder body(builder);
  body.add_formal("i", Type::tensor(DType::int64, Dims{}));
  const Val go_on = body.add_formal("go_on", Type::tensor(DType::boolean, Dims{}));
  const Val v = body.add_formal("v", x.type());
  const Val next = bounded(v * reduce_mean(body.capture(w), {}, false) + body.capture(x));
  const std::array out{body.builder().node("Identity", {go_on}), next, reduce_sum(next, {}, false)};
  const std::array inputs{builder.int64(2 + static_cast<std::int64_t>(draw(2))), Val(), x};
  const auto results = control_node(builder, "Loop", inputs, {body.finish("body", out)}, 2);
  return draw(2) == 0 ? results[0] : bounded(results[1]);
}

// s = tanh(s + row), rows scaled by s.
Val RandomGraph::scan(Builder& builder, const Pool& pool) {
  const Val x = pick_matrix(pool);
  SubgraphBuilder body(builder);
  const Type row_type = Type::tensor(DType::float64, Dims{x.dims()[1]});
  const Val s = body.add_formal("s", row_type);
  const Val row = body.add_formal("row", row_type);
  const Val next = bounded(s + row);
  const std::array out{next, row * s};
  const std::array inputs{reduce_mean(x, {0}, false), x};
  const auto results = control_node(builder, "Scan", inputs, {body.finish("body", out)}, 2,
                                    {{"num_scan_inputs", std::int64_t{1}}});
  return draw(2) == 0 ? results[0] : results[1];
}

}  // namespace ondine::test
