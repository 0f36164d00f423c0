// split_to_sequence.cpp — x cut along an axis into the elements of a sequence: of the given sizes,
// of equal size (the last may be smaller), or of size 1, in which case keepdims = 0 removes the
// axis; dx = dy's elements concatenated. ai.ondine SplitLike(x, sequence) cuts x as
// ConcatFromSequence joined the sequence. Version 24 adds bfloat16.
#include <algorithm>

#include "core/budget.h"
#include "core/stop.h"
#include "core/value_bytes.h"
#include "graph/evaluate/text_bytes.h"
#include "kernels/common/integer_parameters.h"
#include "kernels/common/strided_copy.h"
#include "kernels/sequence/map_elements.h"
#include "kernels/sequence/sequence.h"

namespace ondine::kernels::ops {
namespace {

bool drops_axis(const NodeView& node) {
  return !node.has_input(1) && node.attr_int("keepdims", 1) == 0;
}

void infer(InferContext& context) {
  Type element = context.input(0);
  if (element.dims) {
    const std::size_t axis =
        NodeView::normalize_axis(context.attr_int("axis", 0), element.dims->size());
    const auto at = element.dims->begin() + static_cast<std::ptrdiff_t>(axis);
    *at = context.has_input(1) ? Dim() : Dim(1);
    if (drops_axis(context)) element.dims->erase(at);
  }
  context.set_output(0, Type::sequence(std::move(element)));
}

// Charges what the parts and their sizes take beside the elements.
void charge_parts(BudgetShare& share, std::int64_t count) {
  constexpr std::uint64_t each = held_value_bytes + sizeof(std::int64_t);
  share.add(static_cast<std::uint64_t>(count) * each);
}

std::vector<std::int64_t> part_sizes(std::span<const std::int64_t> given, bool one_size,
                                     std::int64_t dim, BudgetShare& share) {
  std::vector<std::int64_t> sizes;
  if (one_size) {
    if (given[0] <= 0) fail(ErrorCode::mismatch, "parts of size ", given[0]);
    charge_parts(share, dim / given[0] + 1);
    for (std::int64_t at = 0; at < dim; at += sizes.back()) {
      sizes.push_back(std::min(given[0], dim - at));
    }
    return sizes;
  }
  charge_parts(share, static_cast<std::int64_t>(given.size()));
  std::int64_t rest = dim;
  for (const std::int64_t size : given) {
    if (size < 0 || size > rest) {
      fail(ErrorCode::mismatch, "the parts do not add up to the dim ", dim);
    }
    rest -= size;
    sizes.push_back(size);
  }
  if (rest != 0) fail(ErrorCode::mismatch, "the parts do not add up to the dim ", dim);
  return sizes;
}

// Parts of x along an axis, `drop`: without the axis, which has size 1 in each.
Value cut(KernelContext& call, DType dtype, const Shape& x, std::size_t axis,
          std::span<const std::int64_t> sizes, bool drop) {
  const AxisView view(x, axis);
  std::vector<Value> elements;
  std::int64_t offset = 0;
  for (const std::int64_t size : sizes) {
    checkpoint(256);
    Shape shape;
    for (std::size_t a = 0; a < x.rank(); ++a) {
      if (a != axis) shape.push_back(x[a]);
      if (a == axis && !drop) shape.push_back(size);
    }
    Tensor part(dtype, shape, call.budget());
    const std::int64_t length = size * view.inner;
    const std::array<StridedCopy::Axis, 2> axes{
        {{view.outer, view.dim * view.inner, length}, {length, 1, 1}}};
    StridedCopy(dtype, axes, offset).run(call.pool(), call.in<void>(0), part.mutable_data());
    elements.emplace_back(std::move(part));
    offset += length;
  }
  if (dtype == DType::string) graph::charge_new_text({}, elements, call.budget());
  return Value::sequence(std::move(elements));
}

Kernel bind(BindContext& context) {
  const Shape x = context.shape(0);
  const std::size_t axis = NodeView::normalize_axis(context.attr_int("axis", 0), x.rank());
  const IntegerParameter split(context, 1);
  const bool one_size = split.given() && context.shape(1).rank() == 0;
  return [=, drop = drops_axis(context), dtype = context.dtype(0)](KernelContext& call) {
    Value parts;
    {
      BudgetShare share(call.budget());
      const std::vector<std::int64_t> one{1};
      const std::vector<std::int64_t> sizes =
          split.given() ? part_sizes(split.read(call), one_size, x[axis], share)
                        : part_sizes(one, true, x[axis], share);
      parts = cut(call, dtype, x, axis, sizes, drop);
    }
    call.set_value(0, std::move(parts));  // is charged for its elements
  };
}

std::vector<Val> grad(GradContext& g) {
  return {g.builder().node(
      "ConcatFromSequence", {g.dy(0)},
      {{"axis", g.attr_int("axis", 0)}, {"new_axis", std::int64_t{drops_axis(g)}}})};
}

void infer_like(InferContext& context) { context.set_output(0, context.input(1)); }

Kernel bind_like(BindContext& context) {
  const Shape x = context.shape(0);
  const bool drop = context.attr_int("new_axis", 0) != 0;
  const std::size_t axis = NodeView::normalize_axis(context.attr_int("axis", 0), x.rank());
  return [=, dtype = context.dtype(0)](KernelContext& call) {
    std::vector<std::int64_t> sizes;
    for (const Value& element : sequence_elements(call, 1)) {
      sizes.push_back(drop ? 1 : element.tensor().shape()[axis]);
    }
    Value parts;
    {
      BudgetShare share(call.budget());
      parts = cut(call, dtype, x, axis, part_sizes(sizes, false, x[axis], share), drop);
    }
    call.set_value(0, std::move(parts));
  };
}

std::vector<Val> expand_like(ExpandContext& context) {
  Builder& b = context.builder();
  const std::int64_t axis = context.attr_int("axis", 0);
  if (context.attr_int("new_axis", 0) != 0) {
    return {
        b.node("SplitToSequence", {context.x(0)}, {{"axis", axis}, {"keepdims", std::int64_t{0}}})};
  }
  const Val sequence = context.x(1);
  const Val sizes = map_elements({&sequence, 1}, [&](std::span<const Val> elements) {
    const Val shape = shape_of(elements[0]);
    return axis < 0 ? slice(shape, axis, axis == -1 ? INT64_MAX : axis + 1, 0)
                    : slice(shape, axis, axis + 1, 0);
  });
  const Val all = b.node("ConcatFromSequence", {sizes}, {{"axis", std::int64_t{0}}});
  return {b.node("SplitToSequence", {context.x(0), all}, {{"axis", axis}})};
}

std::vector<Val> grad_like(GradContext& g) {
  return {g.builder().node("ConcatFromSequence", {g.dy(0)}, g.node().attributes)};
}

}  // namespace

extern const OpDef split_to_sequence{
    .name = "SplitToSequence", .infer = infer, .bind = bind, .grad = grad, .no_gradient = 0b10};
extern const OpDef split_like{.name = "SplitLike",
                              .domain = ondine_domain,
                              .infer = infer_like,
                              .bind = bind_like,
                              .grad = grad_like,
                              .expand = expand_like,
                              .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
