// scaled_attention.cpp — y = softmax(scale q k^T + mask) v over the last two dims (ai.ondine); the
// dims before them are the same for q, k and v, but that k and v may have a head for several of q,
// if the last of these dims are heads. The mask broadcasts to the scores. A second mask is added
// too, so that masks whose sum would be as large as the scores stay apart. transK: k is stored
// transposed, head_size x keys; with interleaved the dims of q, k, v and y are ..., rows, heads,
// size, as layers compute them. Attributes scale (1), transK (0), interleaved (0; not with transK),
// zero_rows (0): the rows of y of queries from which the masks hide all keys, by minus infinity,
// are 0 and not NaN; replaces: "products", "mask" or "both", in the place of which the second mask
// stands where it is not 0, so that they have no derivative there; softcap (0): where above 0, cap
// tanh(scale q k^T / cap) stands for scale q k^T. ScaledAttentionGrad (dy, q, k, v, mask?, more?)
// -> dq, dk, dv, dmask? recomputes the scores tile by tile:
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

// Whether each of some heads of keys may be that of several heads of queries.
bool shares_heads(Dim queries, Dim keys) {
  if (!queries.known() || !keys.known()) return !queries.same(keys);
  return keys.size() > 0 && queries.size() > keys.size() && queries.size() % keys.size() == 0;
}

// Checks q, k, v and the mask, which are the inputs from `at` on, and returns the dims of y.
Dims check(InferContext& context, std::size_t at) {
  require_same_dtype(context, {at, at + 1, at + 2, at + 3, at + 4});
  check_attributes(context);
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
    if (i + 3 == n && shares_heads(q[i], k[i])) {
      unify(k[i], v[i], "heads of k and v");
      continue;
    }
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
  Val key_heads, group;  // where heads are shared
  double scale;
  bool transposed;
  bool interleaved;
  bool zero_rows;
  math::Replaced replaced;
  double cap;
  bool shared = false;  // whether heads of q may share those of k and v

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
        replaced(more ? replaced_by(context) : math::Replaced::nothing),
        cap(double{context.attr_float("softcap", 0)}) {
    for (Val* x : {&q, &k, &v}) *x = interleaved ? swapped(*x) : *x;
    const std::size_t n = q.rank();
    shared = n > 2 && !q.dims()[n - 3].same(k.dims()[n - 3]);
    if (!shared) return;
    key_heads = graph::dim_of(k, -3);
    const Val divisor =
        key_heads.builder().node("Max", {key_heads, key_heads.builder().int64s({1})});
    group = graph::dim_of(q, -3) / divisor;
    k = repeated(k);
    v = repeated(v);
  }
  // Each head as often as heads of q share it, and the sums of what they have of one.
  Val repeated(Val x) const {
    const Val split = graph::unsqueeze(x, {-3});
    std::vector<Val> sizes = outer_sizes(split, 3);
    sizes.push_back(group);
    for (const std::int64_t axis : {-2, -1}) sizes.push_back(graph::dim_of(x, axis));
    std::vector<Val> joined = outer_sizes(x, 3);
    joined.push_back(key_heads * group);
    for (const std::int64_t axis : {-2, -1}) joined.push_back(graph::dim_of(x, axis));
    return graph::reshape(x.builder().node("Expand", {split, graph::concat(sizes, 0)}),
                          graph::concat(joined, 0));
  }
  Val summed(Val x) const {
    if (!shared) return x;
    std::vector<Val> sizes = outer_sizes(x, 3);
    for (const Val size : {key_heads, group}) sizes.push_back(size);
    for (const std::int64_t axis : {-2, -1}) sizes.push_back(graph::dim_of(x, axis));
    return graph::reduce_sum(graph::reshape(x, graph::concat(sizes, 0)), {-3}, false);
  }
  // The sizes of all but the last dims.
  static std::vector<Val> outer_sizes(Val x, std::size_t last) {
    std::vector<Val> sizes;
    for (std::size_t i = 0; i + last < x.rank(); ++i) {
      sizes.push_back(graph::dim_of(x, static_cast<std::int64_t>(i)));
    }
    return sizes;
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
  Val capped_scores() const {
    const Val scores = product(q, k, false, !transposed) * scale;
    return cap > 0 ? curve(scores) * cap : scores;
  }
  Val curve(Val scores) const { return scores.builder().node("Tanh", {scores * (1 / cap)}); }
  Val weights() const {
    Val scores = capped_scores();
    const Val total = total_mask(replaced, mask, more);
    if (replaced == math::Replaced::products) {
      scores = where_replaced(more, scores, more);
      if (mask) scores = scores + mask;
    } else if (replaced == math::Replaced::both) {
      scores = where_replaced(more, mask ? scores + mask : scores, more);
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
  if (replaces_products(in.replaced)) scores = where_replaced(in.more, scores, zero);
  if (in.cap > 0) {
    const Val curve = in.curve(Operands::product(in.q, in.k, false, !in.transposed) * in.scale);
    scores = scores - scores * curve * curve;
  }
  const Val dk = in.transposed ? Operands::product(in.q, scores, true, false)
                               : Operands::product(scores, in.q, true, false);
  const Val dv = Operands::product(weights, dy, true, false);
  std::vector<Val> parts{in.arranged(Operands::product(scores, in.k, false, in.transposed)),
                         in.arranged(in.summed(dk)), in.arranged(in.summed(dv))};
  if (context.has_output(3)) {
    const bool replaced = replaces_mask(in.replaced);
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
