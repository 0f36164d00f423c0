// split.cpp — outputs are consecutive parts of x along an axis;  dx = their derivatives
// concatenated. Part sizes: input or attribute in version 1, attribute in 2 and 11, input from 13;
// 18 adds num_outputs, whose last part may be smaller.
#include <algorithm>
#include <numeric>

#include "kernels/common/integer_parameters.h"
#include "kernels/common/kernel_output.h"
#include "kernels/common/op.h"
#include "kernels/common/strided_copy.h"

namespace ondine::kernels::ops {
namespace {

template <class Context>
IntegerParameter sizes_of(const Context& context) {
  if (context.version() == 1 && context.has_input(1)) return IntegerParameter(context, 1);
  return IntegerParameter(context, "split", 13, 1);
}

void check_count(std::size_t count, std::size_t outputs) {
  if (count != outputs) {
    fail(ErrorCode::mismatch, "split into ", count, " parts for ", outputs, " outputs");
  }
}

std::vector<std::int64_t> equal_parts(const NodeView& node, std::int64_t size) {
  const auto count = static_cast<std::int64_t>(node.output_count());
  const std::int64_t asked = node.attr_int("num_outputs", count);
  if (asked != count) {
    fail(ErrorCode::mismatch, "num_outputs is ", asked, " for ", count, " outputs");
  }
  if (node.version() < 18 && size % count != 0) {
    fail(ErrorCode::mismatch, "axis of size ", size, " does not split into ", count,
         " equal parts");
  }
  const std::int64_t part = size / count + (size % count != 0);
  std::vector<std::int64_t> sizes;
  for (std::int64_t i = 0; i < count; ++i) {
    sizes.push_back(std::min(part, size));
    size -= sizes.back();
  }
  return sizes;
}

void check_sizes(std::span<const std::int64_t> sizes, std::int64_t dim) {
  std::int64_t rest = dim;
  for (const std::int64_t size : sizes) {
    if (size < 0) fail(ErrorCode::mismatch, "a part of size ", size);
    rest = size <= rest ? rest - size : -1;
    if (rest < 0) break;
  }
  if (rest != 0) {
    fail(ErrorCode::mismatch, "the sizes of the ", sizes.size(),
         " parts do not add up to the size ", dim);
  }
}

void infer(InferContext& context) {
  const IntegerParameter given = sizes_of(context);
  if (!context.ranked(0)) {
    for (std::size_t i = 0; i < context.output_count(); ++i) {
      context.set_output(i, context.dtype(0), std::nullopt);
    }
    return;
  }
  Dims dims = context.dims(0);
  const std::size_t axis = NodeView::normalize_axis(context.attr_int("axis", 0), dims.size());
  const Dim size = dims[axis];
  Dims parts(context.output_count());
  if (given.given() && given.known()) {
    const auto sizes = given.values();
    check_count(sizes.size(), parts.size());
    if (size.known()) check_sizes(sizes, size.size());
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] < 0) context.reject("a part of size ", sizes[i]);
      parts[i] = sizes[i];
    }
  } else if (given.given()) {
    const auto known = context.known_dims(1);
    if (known && known->size() == parts.size()) parts = *known;
  } else if (size.known()) {
    const auto sizes = equal_parts(context, size.size());
    parts.assign(sizes.begin(), sizes.end());
  } else if (parts.size() == 1) {
    parts[0] = size;
  }
  for (std::size_t i = 0; i < parts.size(); ++i) {
    dims[axis] = parts[i];
    context.set_output(i, context.dtype(0), dims);
  }
}

Kernel bind(BindContext& context) {
  const DType dtype = context.dtype(0);
  const Shape x = context.shape(0);
  const std::size_t axis = NodeView::normalize_axis(context.attr_int("axis", 0), x.rank());
  const IntegerParameter given = sizes_of(context);
  std::vector<Output> outputs;
  for (std::size_t i = 0; i < context.output_count(); ++i) outputs.emplace_back(context, i);

  const auto prepare = [=, count = outputs.size()](const std::vector<std::int64_t>& sizes) {
    check_count(sizes.size(), count);
    check_sizes(sizes, x[axis]);
    const AxisView view(x, axis);
    std::vector<std::pair<Shape, StridedCopy>> parts;
    std::int64_t offset = 0;
    for (const std::int64_t size : sizes) {
      const std::int64_t length = size * view.inner;
      const std::array<StridedCopy::Axis, 2> axes{
          {{view.outer, view.dim * view.inner, length}, {length, 1, 1}}};
      Shape shape = x;
      shape[axis] = size;
      parts.emplace_back(shape, StridedCopy(dtype, axes, offset));
      offset += length;
    }
    return parts;
  };
  const auto run = [outputs](KernelContext& call, const auto& parts) {
    for (std::size_t i = 0; i < parts.size(); ++i) {
      void* to = outputs[i].memory(call, parts[i].first);
      if (outputs[i].wanted()) parts[i].second.run(call.pool(), call.in<void>(0), to);
    }
  };
  if (given.known()) {
    const auto sizes = given.given() ? given.values() : equal_parts(context, x[axis]);
    return [run, parts = prepare(sizes)](KernelContext& call) { run(call, parts); };
  }
  return [run, prepare, given](KernelContext& call) { run(call, prepare(given.read(call))); };
}

std::vector<Val> grad(GradContext& g) {
  std::vector<Val> parts;
  for (std::size_t i = 0; i < g.output_count(); ++i) parts.push_back(g.dy_or_zeros(i));
  return {concat(parts, g.attr_int("axis", 0))};
}

}  // namespace

extern const OpDef split{.name = "Split",
                         .infer = infer,
                         .bind = bind,
                         .grad = grad,
                         .traits = {.cheap = true},
                         .no_gradient = 0b10};

}  // namespace ondine::kernels::ops
