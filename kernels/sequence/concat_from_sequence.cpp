// concat_from_sequence.cpp — the elements of a sequence concatenated along an axis, a new one with
// new_axis = 1;  d sequence = dy split at the same positions (SplitLike).
#include "core/checked.h"
#include "kernels/common/integer_parameters.h"
#include "kernels/common/kernel_output.h"
#include "kernels/common/strided_copy.h"
#include "kernels/sequence/sequence.h"

namespace ondine::kernels::ops {
namespace {

std::int64_t axis_of(const NodeView& node) {
  if (!node.has_attr("axis")) fail(ErrorCode::invalid_model, "attribute 'axis' is missing");
  return node.attr_int("axis", 0);
}

void infer(InferContext& context) {
  const std::int64_t given = axis_of(context);
  const bool added = context.attr_int("new_axis", 0) != 0;
  Type element = element_type(context.input(0));
  if (element.kind == TypeKind::unknown) context.reject("the sequence has no elements");
  if (element.dims) {
    const std::size_t axis = NodeView::normalize_axis(given, element.dims->size() + added);
    const auto at = element.dims->begin() + static_cast<std::ptrdiff_t>(axis);
    if (added) {
      element.dims->insert(at, Dim());
    } else {
      *at = Dim();
    }
  }
  context.set_output(0, std::move(element));
}

// The shape of an element with the new axis, where there is one.
Shape with_axis(const Shape& element, std::size_t axis, bool added) {
  if (!added) return element;
  Shape out;
  for (std::size_t a = 0; a <= element.rank(); ++a) {
    if (a == axis) out.push_back(1);
    if (a < element.rank()) out.push_back(element[a]);
  }
  return out;
}

Kernel bind(BindContext& context) {
  const std::int64_t given = axis_of(context);
  const bool added = context.attr_int("new_axis", 0) != 0;
  return [given, added, output = Output(context, 0)](KernelContext& call) {
    const std::vector<Value> elements = sequence_elements(call, 0);
    if (elements.empty()) fail(ErrorCode::mismatch, "the sequence has no elements");
    const Tensor& first = elements[0].tensor();
    const std::size_t axis = NodeView::normalize_axis(given, first.shape().rank() + added);
    Shape y = with_axis(first.shape(), axis, added);
    y[axis] = 0;
    for (const Value& element : elements) {
      Shape shape = with_axis(element.tensor().shape(), axis, added);
      if (shape.rank() == y.rank()) y[axis] = checked_add(y[axis], shape[axis]);
      if (shape.rank() == y.rank()) shape[axis] = y[axis];
      if (!(shape == y)) {
        fail(ErrorCode::mismatch, "elements of shapes ", first.shape(), " and ",
             element.tensor().shape(), " cannot be joined along axis ", axis);
      }
    }
    void* to = output.memory(call, y);
    const AxisView view(y, axis);
    std::int64_t offset = 0;
    for (const Value& element : elements) {
      const Tensor& part = element.tensor();
      const std::int64_t length = with_axis(part.shape(), axis, added)[axis] * view.inner;
      const std::array<StridedCopy::Axis, 2> axes{
          {{view.outer, length, view.dim * view.inner}, {length, 1, 1}}};
      StridedCopy(part.dtype(), axes, 0, offset).run(call.pool(), part.data(), to);
      offset += length;
    }
  };
}

std::vector<Val> grad(GradContext& g) {
  return {g.builder().node("SplitLike", {g.dy(0), g.x(0)}, g.node().attributes, ondine_domain)};
}

}  // namespace

extern const OpDef concat_from_sequence{
    .name = "ConcatFromSequence", .infer = infer, .bind = bind, .grad = grad};

}  // namespace ondine::kernels::ops
