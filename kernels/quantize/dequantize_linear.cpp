// dequantize_linear.cpp — y = (x - zero point) scale. Version 10 has one scale, 13 adds axes, 19
// float8, 21 blocks, 16- and 4-bit integers, 23 `output_dtype` and float4, 24 scales of
// float8e8m0, 25 2-bit integers.
// Derivatives: d scale = sum of dy (x - zero point) over what shares the scale. Where x is the
// output of a QuantizeLinear node of v (a float), rounding counts as the identity and saturation
// as a constant: dv = dy scale / its scale where not saturated, else 0, and that node's scale gets
// the derivative of v / scale in the same way (with one scale s for both nodes:
// ds = dy (q - v / s where not saturated), as in learned step sizes). Zero points get none.
// StraightThrough (ai.ondine): (value, r, mask) -> value;  dr = dy mask.
#include <cstring>

#include "kernels/common/compute_type.h"
#include "kernels/common/convert_rows.h"
#include "kernels/common/dtype_attribute.h"
#include "kernels/common/op.h"
#include "kernels/quantize/float_rows.h"
#include "kernels/quantize/granularity.h"

namespace ondine::kernels::ops {
namespace {

DType result_dtype(const NodeView& node, DType scale) {
  return float_attribute(node, "output_dtype", scale);
}

void infer(InferContext& context) {
  check_granularity(context);
  if (context.has_input(2) && context.dtype(2) != context.dtype(0)) {
    context.reject("x is ", context.dtype(0), ", its zero point ", context.dtype(2));
  }
  row_to_double(context.dtype(0));
  context.set_output(0, result_dtype(context, context.dtype(1)), context.input(0).dims);
}

Kernel bind(BindContext& context) {
  if (Kernel rows = bind_dequantize_rows(context)) return rows;
  const Granularity granularity(context, context.shape(0), context.shape(1));
  const std::int64_t n = context.shape(0).size();
  const std::int64_t scales = context.shape(1).size();
  const ConvertRow read = row_to_double(context.dtype(0));
  const ConvertRow read_scale = row_to_double(context.dtype(1));
  const auto write = write_row<double>(context.output_dtype(0));
  const auto in_size = static_cast<std::int64_t>(size_of(context.dtype(0)));
  const auto out_size = static_cast<std::int64_t>(size_of(context.output_dtype(0)));
  const bool shifted = context.has_input(2);
  Scratch scratch;
  const std::size_t scale_at = scratch.add<double>(scales);
  const std::size_t zero_at = scratch.add<double>(scales);
  scratch.request(context);
  return [=](KernelContext& call) {
    auto* s = Scratch::at<double>(call, scale_at);
    auto* z = Scratch::at<double>(call, zero_at);
    read_scale(s, call.in<void>(1), scales);
    if (shifted) {
      read(z, call.in<void>(2), scales);
    } else {
      std::fill_n(z, scales, 0.0);
    }
    const auto* x = call.in<std::byte>(0);
    auto* y = call.out<std::byte>(0);
    constexpr std::int64_t width = 512;
    call.pool().for_chunks(n, 16 * width, [&](std::int64_t first, std::int64_t last) {
      double row[width];
      for (auto at = first; at < last; at += width) {
        const std::int64_t end = std::min(at + width, last);
        read(row, x + at * in_size, end - at);
        granularity.for_elements(at, end, [&](std::int64_t i, std::int64_t k) {
          row[i - at] = (row[i - at] - z[k]) * s[k];
        });
        if (write != nullptr) {
          write(y + at * out_size, row, end - at);
        } else {
          std::copy_n(row, end - at, reinterpret_cast<double*>(y) + at);
        }
      }
    });
  };
}

const Node* producer(const Graph& graph, ValueId id) {
  for (auto node = graph.nodes.rbegin(); node != graph.nodes.rend(); ++node) {
    if (!node->outputs.empty() && node->outputs[0] == id) return &*node;
  }
  return nullptr;
}

// Used where derivatives are asked for.
std::vector<Val> expand(ExpandContext& context) {
  Builder& b = context.builder();
  const Val x = context.x(0);
  const DType result = result_dtype(context, context.x(1).dtype());
  const DType compute = result == DType::float64 ? DType::float64 : DType::float32;
  Val value = graph::cast(x, compute);
  if (context.x(2)) value = value - broadcastable(context, graph::cast(context.x(2), compute), x);

  const Node* found = producer(b.graph(), x.id());
  if (found != nullptr && found->op->name == "QuantizeLinear") {
    const Node quantize = *found;  // a copy: appending moves the nodes
    std::vector<Val> inputs;
    for (const ValueId id : quantize.inputs) {
      inputs.push_back(id == no_value ? Val() : b.value(id));
    }
    if (is_differentiable(inputs[0].dtype())) {
      const NodeView view(quantize);
      const Val v = graph::cast(inputs[0], compute);
      const Val quotient = v / broadcastable(view, graph::cast(inputs[1], compute), v);
      const Val mask =
          b.nodes("QuantizeMask", inputs, quantize.attributes, 1, ondine_domain, view.version())[0];
      value = b.node("StraightThrough", {value, quotient, graph::cast(mask, compute)}, {},
                     ondine_domain);
    }
  }
  const Val scale = broadcastable(context, graph::cast(context.x(1), compute), x);
  return {graph::cast(value * scale, result)};
}

Kernel bind_straight(BindContext& context) {
  const auto bytes = static_cast<std::size_t>(context.shape(0).size()) * size_of(context.dtype(0));
  return [bytes](KernelContext& call) {
    if (bytes > 0 && call.out<void>(0) != call.in<void>(0)) {
      std::memcpy(call.out<void>(0), call.in<void>(0), bytes);
    }
  };
}

std::vector<Val> grad_straight(GradContext& g) { return {Val(), g.dy(0) * g.x(2)}; }

std::vector<Val> expand_straight(ExpandContext& context) {
  return {unary("Identity", context.x(0))};
}

}  // namespace

extern const OpDef dequantize_linear{.name = "DequantizeLinear",
                                     .infer = infer,
                                     .bind = bind,
                                     .expand = expand,
                                     .no_gradient = 0b101};
extern const OpDef straight_through{.name = "StraightThrough",
                                    .domain = ondine_domain,
                                    .infer = infer_same_as_input,
                                    .bind = bind_straight,
                                    .grad = grad_straight,
                                    .expand = expand_straight,
                                    .traits = {.inplace = 1, .shape_only = 0b110},
                                    .no_gradient = 0b101};

}  // namespace ondine::kernels::ops
