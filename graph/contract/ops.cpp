#include "graph/contract/ops.h"

namespace ondine::graph {
namespace {

Val binary(std::string_view op, Val a, Val b) { return a.builder().node(op, {a, b}); }

bool holds_others(Val x) {
  const TypeKind kind = x.type().kind;
  return kind == TypeKind::sequence || kind == TypeKind::optional;
}

Val reduce(std::string_view op, Val x, const std::vector<std::int64_t>& axes, bool keepdims) {
  Builder& b = x.builder();
  const Val axes_value = axes.empty() ? Val() : b.int64s(axes);
  return b.node(op, {x, axes_value}, {{"keepdims", std::int64_t{keepdims}}});
}

}  // namespace

// Derivatives by sequences and optionals add up element by element.
Val operator+(Val a, Val b) {
  if (holds_others(a)) return a.builder().node("SequenceAdd", {a, b}, {}, ondine_domain);
  return binary("Add", a, b);
}
Val operator-(Val a, Val b) { return binary("Sub", a, b); }
Val operator*(Val a, Val b) { return binary("Mul", a, b); }
Val operator/(Val a, Val b) { return binary("Div", a, b); }
Val operator-(Val a) { return unary("Neg", a); }
Val operator+(Val a, double b) { return a + scalar_like(a, b); }
Val operator-(Val a, double b) { return a - scalar_like(a, b); }
Val operator*(Val a, double b) { return a * scalar_like(a, b); }
Val operator/(Val a, double b) { return a / scalar_like(a, b); }
Val operator+(double a, Val b) { return scalar_like(b, a) + b; }
Val operator-(double a, Val b) { return scalar_like(b, a) - b; }
Val operator*(double a, Val b) { return scalar_like(b, a) * b; }
Val operator/(double a, Val b) { return scalar_like(b, a) / b; }

Val unary(std::string_view op, Val x) { return x.builder().node(op, {x}); }
Val pow(Val x, Val exponent) { return binary("Pow", x, exponent); }
Val pow(Val x, double exponent) { return pow(x, scalar_like(x, exponent)); }
Val minimum(Val a, Val b) { return binary("Min", a, b); }
Val maximum(Val a, Val b) { return binary("Max", a, b); }
Val less(Val a, Val b) { return binary("Less", a, b); }
Val greater(Val a, Val b) { return binary("Greater", a, b); }
Val equal(Val a, Val b) { return binary("Equal", a, b); }
Val logical_and(Val a, Val b) { return binary("And", a, b); }
Val logical_not(Val a) { return unary("Not", a); }
Val where(Val condition, Val a, Val b) { return a.builder().node("Where", {condition, a, b}); }

Val cast(Val x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return x.builder().node("Cast", {x}, {{"to", static_cast<std::int64_t>(dtype)}});
}

Val scalar_like(Val x, double value) { return x.builder().scalar(value, x.dtype()); }

Val shape_of(Val x) {
  if (const auto shape = x.type().shape())
    return x.builder().int64s({shape->begin(), shape->end()});
  return unary("Shape", x);
}

Val size_of(Val x) { return unary("Size", x); }

Val dim_of(Val x, std::int64_t axis) {
  Attributes attributes{{"start", axis}};
  if (axis != -1) attributes.emplace_back("end", axis + 1);
  return x.builder().node("Shape", {x}, std::move(attributes));
}

Val reshape(Val x, Val shape) {
  return x.builder().node("Reshape", {x, shape}, {{"allowzero", std::int64_t{1}}});
}

Val reshape(Val x, std::vector<std::int64_t> shape) {
  return binary("Reshape", x, x.builder().int64s(std::move(shape)));
}

Val reshape_like(Val x, Val like) { return reshape(x, shape_of(like)); }
Val expand(Val x, Val shape) { return binary("Expand", x, shape); }
Val expand_like(Val x, Val like) { return expand(x, shape_of(like)); }
Val zeros_like(Val x) {
  if (holds_others(x)) return x.builder().node("SequenceZeros", {x}, {}, ondine_domain);
  return full_like(x, 0);
}
Val full_like(Val x, double value) { return expand_like(scalar_like(x, value), x); }

Val sum_to(Val x, Val like) {
  const auto have = x.type().shape();
  const auto want = like.type().shape();
  if (have && want && *have == *want) return x;
  return x.builder().node("SumTo", {x, shape_of(like)}, {}, ondine_domain);
}

Val transpose(Val x, std::vector<std::int64_t> perm) {
  return x.builder().node("Transpose", {x}, {{"perm", std::move(perm)}});
}

Val unsqueeze(Val x, std::vector<std::int64_t> axes) {
  return binary("Unsqueeze", x, x.builder().int64s(std::move(axes)));
}

Val squeeze(Val x, std::vector<std::int64_t> axes) {
  return binary("Squeeze", x, x.builder().int64s(std::move(axes)));
}

Val concat(std::span<const Val> parts, std::int64_t axis) {
  return parts[0].builder().nodes("Concat", parts, {{"axis", axis}}, 1)[0];
}

Val slice(Val x, std::int64_t start, std::int64_t end, std::int64_t axis, std::int64_t step) {
  Builder& b = x.builder();
  return b.node("Slice",
                {x, b.int64s({start}), b.int64s({end}), b.int64s({axis}), b.int64s({step})});
}

Val gather(Val x, Val indices, std::int64_t axis) {
  return x.builder().node("Gather", {x, indices}, {{"axis", axis}});
}

Val matmul(Val a, Val b) { return binary("MatMul", a, b); }

Val reduce_sum(Val x, std::vector<std::int64_t> axes, bool keepdims) {
  return reduce("ReduceSum", x, axes, keepdims);
}
Val reduce_mean(Val x, std::vector<std::int64_t> axes, bool keepdims) {
  return reduce("ReduceMean", x, axes, keepdims);
}
Val reduce_max(Val x, std::vector<std::int64_t> axes, bool keepdims) {
  return reduce("ReduceMax", x, axes, keepdims);
}

Val softmax(Val x, std::int64_t axis) { return x.builder().node("Softmax", {x}, {{"axis", axis}}); }

}  // namespace ondine::graph
