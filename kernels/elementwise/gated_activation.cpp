// GatedActivation (ai.ondine): y = f(a) b, a and b of one shape. The attribute `activation` names
// f: "Swish" (with `alpha`) or "Gelu" (with `approximate`).
// GatedActivationGrad (ai.ondine): (dy, a, b) -> da = dy b f'(a), where there is an output 1 y
// again (OpDef::repeats), and db = dy f(a).
#include "kernels/elementwise/row_chunks.h"
#include "kernels/elementwise/unary.h"

namespace ondine::kernels::ops {
namespace {

enum class Gate { swish, gelu, gelu_tanh };

Gate gate_of(const NodeView& node) {
  const std::string name = node.attr_string("activation", "");
  if (name == "Swish") return Gate::swish;
  if (name != "Gelu") {
    fail(ErrorCode::invalid_model, "attribute \"activation\" is ", quoted(name),
         ", needed: \"Swish\" or \"Gelu\"");
  }
  const std::string kind = node.attr_string("approximate", "none");
  if (kind != "none" && kind != "tanh") {
    fail(ErrorCode::invalid_model, "attribute \"approximate\" is ", quoted(kind),
         ", needed: \"none\" or \"tanh\"");
  }
  return kind == "tanh" ? Gate::gelu_tanh : Gate::gelu;
}

// The attributes that the operator of the activation alone has.
graph::Attributes attributes_of(const NodeView& node) {
  if (gate_of(node) == Gate::swish) return {{"alpha", node.attr_float("alpha", 1.0F)}};
  return {{"approximate", node.attr_string("approximate", "none")}};
}

Val activate(const NodeView& node, const Val& a) {
  return a.builder().node(node.attr_string("activation", ""), {a}, attributes_of(node));
}

Val differentiate(const NodeView& node, const Val& dy, const Val& a) {
  return a.builder().node(node.attr_string("activation", "") + "Grad", {dy, a}, attributes_of(node),
                          ondine_domain);
}

template <Gate gate, class C>
void activation_row(C* y, const C* x, float alpha, std::int64_t n) {
  const math::VectorKernels<C>& rows = math::vector_kernels<C>();
  if constexpr (gate == Gate::swish) rows.swish(y, x, static_cast<C>(alpha), n);
  if constexpr (gate == Gate::gelu) rows.gelu(y, x, n);
  if constexpr (gate == Gate::gelu_tanh) rows.gelu_tanh(y, x, n);
}

// dx, which may be dy, and y.
template <Gate gate, class C>
void gradient_row(C* dx, C* y, const C* dy, const C* x, float alpha, std::int64_t n) {
  const math::VectorKernels<C>& rows = math::vector_kernels<C>();
  if constexpr (gate == Gate::swish) {
    rows.swish(y, x, static_cast<C>(alpha), n);
    rows.swish_gradient(dx, dy, x, static_cast<C>(alpha), n);
  }
  if constexpr (gate == Gate::gelu) rows.gelu_gradient_and_value(dx, y, dy, x, n);
  if constexpr (gate == Gate::gelu_tanh) rows.gelu_tanh_gradient_and_value(dx, y, dy, x, n);
}

template <Gate gate>
struct GatedRows {
  template <class C>
  static RowFunction make() {
    return [](const Row& row) {
      alignas(64) C gates[row_chunk];
      for (std::int64_t at = 0; at < row.n; at += row_chunk) {
        const std::int64_t n = std::min(row_chunk, row.n - at);
        activation_row<gate>(gates, row.in<C>(0) + at, row.params.a, n);
        math::vector_kernels<C>().mul.vv(row.out<C>() + at, gates, row.in<C>(1) + at, n);
      }
    };
  }
};

// Calls body.operator()<gate>().
template <class Body>
decltype(auto) visit_gate(Gate gate, Body&& body) {
  switch (gate) {
    case Gate::swish:
      return body.template operator()<Gate::swish>();
    case Gate::gelu:
      return body.template operator()<Gate::gelu>();
    case Gate::gelu_tanh:
      break;
  }
  return body.template operator()<Gate::gelu_tanh>();
}

void infer(InferContext& context) {
  gate_of(context);
  infer_equal_inputs(context);
}

Kernel bind(BindContext& context) {
  const DType dtype = compute_dtype(context.dtype(0));
  return visit_gate(gate_of(context), [&]<Gate gate>() -> Kernel {
    return elementwise(context, pick_row<GatedRows<gate>>(dtype, FullFloats{}),
                       {context.attr_float("alpha", 1.0F)});
  });
}

std::vector<Val> expand(ExpandContext& context) {
  return {activate(context, context.x(0)) * context.x(1)};
}

std::vector<Val> grad(GradContext& g) {
  const Val a = g.x(0);
  const Val b = g.x(1);
  if (!g.wants(1)) return {differentiate(g, g.dy(0) * b, a), {}};
  if (!g.wants(0)) return {{}, g.dy(0) * activate(g, a)};
  const Val inputs[] = {g.dy(0), a, b};
  const std::vector<Val> both =
      g.builder().nodes("GatedActivationGrad", inputs, g.node().attributes, 3, ondine_domain);
  return {both[0], both[2]};
}

void infer_grad(InferContext& context) {
  infer(context);
  for (const std::size_t i : {1U, 2U}) {
    if (context.has_output(i)) context.set_output(i, context.input(1));
  }
}

// All results of a chunk are computed before the first is stored, since outputs may lie where
// inputs do.
template <Gate gate, class C>
Kernel gradient_kernel(const BindContext& context) {
  const float alpha = context.attr_float("alpha", 1.0F);
  return [rows = RowChunks<C, 3, 3>(context), alpha](KernelContext& call) {
    rows.run(call, [alpha](const auto& in, const auto& out, std::int64_t n) {
      const math::VectorKernels<C>& kernels = math::vector_kernels<C>();
      alignas(64) C da[row_chunk];
      alignas(64) C db[row_chunk];
      alignas(64) C y[row_chunk];
      kernels.mul.vv(da, in[0], in[2], n);
      gradient_row<gate>(da, y, da, in[1], alpha, n);
      kernels.mul.vv(db, in[0], y, n);
      if (out[1] != nullptr) kernels.mul.vv(y, y, in[2], n);
      const C* const results[] = {da, y, db};
      for (const std::size_t i : {0U, 1U, 2U}) {
        if (out[i] != nullptr) kernels.copy(out[i], results[i], n);
      }
    });
  };
}

Kernel bind_grad(BindContext& context) {
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel {
    return visit_gate(gate_of(context),
                      [&]<Gate gate>() { return gradient_kernel<gate, C>(context); });
  });
}

std::vector<Val> expand_grad(ExpandContext& context) {
  const Val dy = context.x(0);
  const Val a = context.x(1);
  const Val b = context.x(2);
  const Val gates = activate(context, a);
  std::vector<Val> results{differentiate(context, dy * b, a), {}, dy * gates};
  if (context.has_output(1)) results[1] = gates * b;
  return results;
}

}  // namespace

extern const OpDef gated_activation{
    .name = "GatedActivation",
    .domain = ondine_domain,
    .infer = infer,
    .bind = bind,
    .grad = grad,
    .expand = expand,
    .traits = {.inplace = 0b11, .per_sample = 0b11, .cheap = true, .cannot_fail = true},
    .rounded = {.reads = 0b11, .writes = true, .follows = true, .copy = 1}};

extern const OpDef gated_activation_grad{
    .name = "GatedActivationGrad",
    .domain = ondine_domain,
    .infer = infer_grad,
    .bind = bind_grad,
    .grad = grad_of_expansion,
    .expand = expand_grad,
    .traits = {.inplace = 0b111, .cannot_fail = true, .inplace_every_output = true},
    .rounded = {.reads = 0b111, .writes = true, .follows = true},
    .repeats = &gated_activation};

}  // namespace ondine::kernels::ops
