// scaled_attention.cpp — y = softmax(scale q k^T + mask) v over the last two dims (ai.ondine); the
// dims before them are the same for q, k and v, the mask broadcasts to the scores. A second mask is
// added too, so that masks whose sum would be as large as the scores stay apart. transK: k is
// stored transposed, head_size x keys; with interleaved the dims of q, k, v and y are ..., rows,
// heads, size, as layers compute them. Attributes scale (1), transK (0), interleaved (0; not with
// transK), zero_rows (0): the rows of y of queries from which the masks hide all keys, by minus
// infinity, are 0 and not NaN; replaces: "products" or "mask", in the place of which the second
// mask stands where it is not 0, so that they have no derivative there.
// ScaledAttentionGrad (dy, q, k, v, mask?, more?) -> dq, dk, dv, dmask? recomputes the scores tile
// by tile:
//   P = softmax(S);  dv = P^T dy;  dS = P (dy v^T - sum P dy v^T)
//   dq = scale dS k;  dk = scale dS^T q;  dmask = dS, summed to the shape of the mask
// The derivative of the second mask is that of the first after both are swapped. Neither keeps a
// matrix of all scores.
#include <numeric>

#include "kernels/attention/attention_kernels.h"
#include "kernels/attention/attention_rules.h"
#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"

namespace ondine::kernels::ops {
namespace {

// Checks q, k, v and the mask, which are the inputs from `at` on, and returns the dims of y.
Dims check(InferContext& context, std::size_t at) {
  require_same_dtype(context, {at, at + 1, at + 2, at + 3, at + 4});
  check_replaces(context);
  const bool interleaved = is_interleaved(context);
  const auto dims = [&](std::size_t i) {
    return interleaved ? swap_heads(context.dims(i)) : context.dims(i);
  };
  Dims q = dims(at);
  const Dims k = dims(at + 1);
  const Dims v = dims(at + 2);
  if (interleaved && (q.size() < 3 || stores_transposed_keys(context))) {
    context.reject("interleaved heads need a rank of 3 or more and keys as they are");
  }
  if (q.size() < 2 || k.size() != q.size() || v.size() != q.size()) {
    context.reject("q, k and v must have one rank of 2 or more, found ", q.size(), ", ", k.size(),
                   " and ", v.size());
  }
  const std::size_t n = q.size();
  for (std::size_t i = 0; i + 2 < n; ++i) {
    q[i] = unify(q[i], k[i], "outer dims of q and k");
    q[i] = unify(q[i], v[i], "outer dims of q and v");
  }
  const bool transposed = stores_transposed_keys(context);
  unify(q[n - 1], k[transposed ? n - 2 : n - 1], "head sizes of q and k");
  const Dim keys = unify(k[transposed ? n - 1 : n - 2], v[n - 2], "keys of k and v");
  Dims scores = q;
  scores.back() = keys;
  check_mask(context, at + 3, scores);
  check_mask(context, at + 4, scores);
  q.back() = v.back();
  return interleaved ? swap_heads(std::move(q)) : q;
}

std::optional<Dims> checked(InferContext& context, std::size_t at) {
  const bool known = context.ranked(at) && context.ranked(at + 1) && context.ranked(at + 2);
  return known ? std::optional(check(context, at)) : std::nullopt;
}

void infer(InferContext& context) { context.set_output(0, context.dtype(0), checked(context, 0)); }

void infer_grad(InferContext& context) {
  infer_attention_gradient(context, checked(context, 1), 3);
}

Kernel bind(BindContext& context) {
  return bind_attention(context, AttentionCall::separate(context, 0));
}

Kernel bind_grad(BindContext& context) {
  return bind_attention_gradient(context, AttentionCall::separate(context, 1));
}

template <std::size_t At>
RoundedInputs rounded_at(const BindContext& context) {
  return rounded_operands(context, AttentionCall::separate(context, At));
}

struct Operands {
  Val q, k, v, mask, more;
  double scale;
  bool transposed;
  bool interleaved;
  bool zero_rows;
  math::Replaced replaced;

  // The inputs from `at` on.
  Operands(ExpandContext& context, std::size_t at)
      : q(context.x(at)),
        k(context.x(at + 1)),
        v(context.x(at + 2)),
        mask(context.x(at + 3)),
        more(context.x(at + 4)),
        scale(double{context.attr_float("scale", 1)}),
        transposed(stores_transposed_keys(context)),
        interleaved(is_interleaved(context)),
        zero_rows(has_zero_rows(context)),
        replaced(more ? replaced_by(context) : math::Replaced::nothing) {
    if (!interleaved) return;
    for (Val* x : {&q, &k, &v}) *x = swapped(*x);
  }
  // Brings y or a derivative into the layout that the node returns, or dy out of the layout in
  // which it is given.
  Val arranged(Val x) const { return interleaved ? swapped(x) : x; }

  static Val product(Val a, Val b, bool trans_a, bool trans_b) {
    return a.builder().node("MatMulT", {a, b},
                            {{"transA", std::int64_t{trans_a}}, {"transB", std::int64_t{trans_b}}},
                            ondine_domain);
  }
  // Swaps rows and heads.
  static Val swapped(Val x) {
    std::vector<std::int64_t> perm(x.rank());
    std::iota(perm.begin(), perm.end(), 0);
    std::swap(perm[perm.size() - 3], perm[perm.size() - 2]);
    return graph::transpose(x, perm);
  }
  Val weights() const {
    Val scores = product(q, k, false, !transposed) * scale;
    const Val total = total_mask(replaced, mask, more);
    if (replaced == math::Replaced::products) {
      scores = where_replaced(more, scores, more);
      if (mask) scores = scores + mask;
    } else if (total) {
      scores = scores + total;
    }
    if (!zero_rows || !total) return graph::softmax(scores, -1);
    // Scores are replaced too, since the derivative of the softmax would be NaN.
    const Val zero = graph::scalar_like(scores, 0);
    const Val hidden = hidden_rows(total);
    return graph::where(hidden, zero, graph::softmax(graph::where(hidden, zero, scores), -1));
  }
};

std::vector<Val> expand(ExpandContext& context) {
  const Operands in(context, 0);
  return {in.arranged(Operands::product(in.weights(), in.v, false, false))};
}

std::vector<Val> grad(GradContext& g) { return attention_gradient(g, "ScaledAttentionGrad", 3); }

std::vector<Val> expand_grad(ExpandContext& context) {
  const Operands in(context, 1);
  const Val dy = in.arranged(context.x(0));
  const Val weights = in.weights();
  const Val by_weights = Operands::product(dy, in.v, false, true);
  const Val by_scores =
      weights * (by_weights - graph::reduce_sum(by_weights * weights, {-1}, true));
  Val scores = by_scores * in.scale;
  const Val zero = graph::scalar_like(scores, 0);
  if (in.replaced == math::Replaced::products) scores = where_replaced(in.more, scores, zero);
  const Val dk = in.transposed ? Operands::product(in.q, scores, true, false)
                               : Operands::product(scores, in.q, true, false);
  std::vector<Val> parts{in.arranged(Operands::product(scores, in.k, false, in.transposed)),
                         in.arranged(dk), in.arranged(Operands::product(weights, dy, true, false))};
  if (context.has_output(3)) {
    const bool replaced = in.replaced == math::Replaced::mask;
    parts.push_back(
        graph::sum_to(replaced ? where_replaced(in.more, by_scores, zero) : by_scores, in.mask));
  }
  return parts;
}

}  // namespace

extern const OpDef scaled_attention{.name = "ScaledAttention",
                                    .domain = ondine_domain,
                                    .infer = infer,
                                    .bind = bind,
                                    .grad = grad,
                                    .expand = expand,
                                    .rounded = {.writes = true, .inputs = rounded_at<0>}};
extern const OpDef scaled_attention_grad{.name = "ScaledAttentionGrad",
                                         .domain = ondine_domain,
                                         .infer = infer_grad,
                                         .bind = bind_grad,
                                         .grad = grad_of_expansion,
                                         .expand = expand_grad,
                                         .traits = {.cannot_fail = true},
                                         .rounded = {.inputs = rounded_at<1>}};

}  // namespace ondine::kernels::ops
