// flex_attention.cpp — ai.onnx.preview FlexAttention: y = prob_mod(softmax(score_mod(scale q k^T)))
// v for each head, in softmax_precision; the modifiers are graphs of one input and one output of
// the same type. k and v may have fewer heads than q. An expansion with the graphs inlined.
#include "kernels/attention/grouped_heads.h"
#include "kernels/common/dtype_attribute.h"
#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/inline_subgraph.h"
#include "kernels/common/op.h"

namespace ondine::kernels::ops {
namespace {

DType precision(const NodeView& node, DType dtype) {
  return float_attribute(node, "softmax_precision",
                         dtype == DType::float64 ? dtype : DType::float32);
}

const Subgraph* modifier(const NodeView& node, std::string_view name) {
  for (const Subgraph& body : node.node().subgraphs) {
    if (body.attribute == name) return &body;
  }
  return nullptr;
}

void infer(InferContext& context) {
  require_same_dtype(context, {0, 1, 2});
  const Dims q = dims_of_rank(context, 0, 4, "Q");
  const Dims k = dims_of_rank(context, 1, 4, "K");
  const Dims v = dims_of_rank(context, 2, 4, "V");
  const Dim batch = unify(unify(q[0], k[0], "batches"), v[0], "batches");
  unify(q[3], k[3], "head sizes of Q and K");
  const Dim keys = unify(k[2], v[2], "sequence lengths of K and V");
  const Dim heads = unify(k[1], v[1], "heads of K and V");
  if (q[1].known() && heads.known() && (heads.size() == 0 || q[1].size() % heads.size() != 0)) {
    context.reject(q[1].size(), " heads of Q are not a multiple of ", heads.size(), " heads of K");
  }
  const Type scores =
      Type::tensor(precision(context, context.dtype(0)), Dims{batch, q[1], q[2], keys});
  for (const char* name : {"score_mod", "prob_mod"}) {
    if (modifier(context, name) == nullptr) continue;
    const auto types = context.infer_subgraph(context.subgraph_index(name), {&scores, 1});
    if (types.size() != 1 || !compatible(types[0], scores)) {
      context.reject("graph ", std::string_view(name), " gives ",
                     types.empty() ? std::string("nothing") : graph::to_string(types[0]),
                     ", needed: one ", graph::to_string(scores));
    }
  }
  context.set_output(0, context.dtype(0), Dims{batch, q[1], q[2], v[3]});
}

std::vector<Val> expand(ExpandContext& context) {
  Builder& b = context.builder();
  const DType dtype = context.x(0).dtype();
  const DType compute = precision(context, dtype);
  const Val q = graph::cast(context.x(0), compute);
  const Val k = with_dims_of(graph::cast(context.x(1), compute), {0}, q, {0}, "batches");
  const Val v = with_dims_of(graph::cast(context.x(2), compute), {0, 1, 2}, k, {0, 1, 2},
                             "batches, heads or lengths of V and K");
  const SharedHeads heads(q, k);
  Val scores = heads.join(b.node("MatMulT", {heads.split(q), heads.keys(k)},
                                 {{"transB", std::int64_t{1}}}, ondine_domain));
  if (context.has_attr("scale")) {
    scores = scores * double{context.attr_float("scale", 1)};
  } else {
    scores = scores * graph::pow(graph::cast(graph::dim_of(q, 3), compute), -0.5);
  }
  const auto modify = [&](Val x, std::string_view name) {
    const Subgraph* body = modifier(context, name);
    return body == nullptr ? x : inline_subgraph(b, *body, {&x, 1}).at(0);
  };
  scores = modify(scores, "score_mod");
  const Val probabilities = modify(graph::softmax(scores, -1), "prob_mod");
  return {graph::cast(heads.join(graph::matmul(heads.split(probabilities), heads.keys(v))), dtype)};
}

}  // namespace

extern const OpDef flex_attention{
    .name = "FlexAttention", .domain = "ai.onnx.preview", .infer = infer, .expand = expand};

}  // namespace ondine::kernels::ops
