// matmul.cpp — y = a b over the last two dims, the others broadcast; a vector gets a leading (a) or
// trailing (b) dim that the result does not have. da = dy b^T, db = a^T dy, summed over what was
// broadcast. Version 9 added integers, 13 bfloat16.
// MatMulT (ai.ondine): y = activation of (op(a) op(b) + addend + bias), op being the transposition
// of the last two dims where transA or transB says so. No vectors. The bias, if there is one, has
// one number for each column, the addend the shape of y; the attribute `activation` names Relu or
// Relu6. Its derivatives are products of the same kind.
#include "kernels/matmul/matmul.h"

#include <algorithm>
#include <memory>

#include "kernels/common/broadcast.h"
#include "kernels/common/compute_type.h"
#include "kernels/common/expansion.h"
#include "kernels/common/infer_checks.h"
#include "kernels/common/op.h"
#include "kernels/common/stored_input.h"
#include "kernels/matmul/fused_activation.h"
#include "kernels/matmul/gemm_primitive.h"
#include "kernels/matmul/integer_gemm.h"
#include "kernels/matmul/product_kernels.h"
#include "kernels/matmul/rounded_factors.h"

namespace ondine::kernels::ops {

Dims matmul_dims(Dims a, Dims b, bool trans_a, bool trans_b) {
  if (a.empty() || b.empty()) fail(ErrorCode::mismatch, "a matrix product of a scalar");
  const bool row = a.size() == 1;
  const bool column = b.size() == 1;
  if (row) a.insert(a.begin(), Dim(1));
  if (column) b.emplace_back(1);
  if (trans_a) std::swap(a[a.size() - 1], a[a.size() - 2]);
  if (trans_b) std::swap(b[b.size() - 1], b[b.size() - 2]);
  unify(a.back(), b[b.size() - 2], "inner dimensions");
  Dims out = broadcast(Dims(a.begin(), a.end() - 2), Dims(b.begin(), b.end() - 2));
  if (!row) out.push_back(a[a.size() - 2]);
  if (!column) out.push_back(b.back());
  return out;
}

MatmulBatches matmul_batches(const Shape& a_shape, const Shape& b_shape, bool trans_a,
                             bool trans_b) {
  const Shape a = a_shape.rank() == 1 ? Shape{1, a_shape[0]} : a_shape;
  const Shape b = b_shape.rank() == 1 ? Shape{b_shape[0], 1} : b_shape;
  const std::size_t a_batch = a.rank() - 2;
  const std::size_t b_batch = b.rank() - 2;
  MatmulBatches batches;
  math::GemmShape& s = batches.shape;
  s.trans_a = trans_a;
  s.trans_b = trans_b;
  s.m = a[trans_a ? a_batch + 1 : a_batch];
  s.k = a[trans_a ? a_batch : a_batch + 1];
  s.n = b[trans_b ? b_batch : b_batch + 1];
  if (b_batch == 0 && !trans_a) {
    // One matrix b for all rows of a: a single product.
    s.m = a.size(0, a_batch + 1);
    batches.a.assign(1, 0);
    batches.b.assign(1, 0);
    return batches;
  }
  if (s.m == 0 || s.n == 0) {
    batches.count = 0;
    return batches;
  }
  const Shape batch = *to_shape(
      broadcast(to_dims(Shape(a.span().first(a_batch))), to_dims(Shape(b.span().first(b_batch)))));
  batches.count = batch.size();
  batches.a = broadcast_offsets(a.span().first(a_batch), batch.span(), s.m * s.k);
  batches.b = broadcast_offsets(b.span().first(b_batch), batch.span(), s.k * s.n);
  return batches;
}

namespace {

constexpr std::size_t bias_input = 2;  // of MatMulT
constexpr std::size_t addend_input = 3;

struct Sides {
  bool trans_a = false;
  bool trans_b = false;
};

Sides sides(const NodeView& node) {
  return {node.attr_int("transA", 0) != 0, node.attr_int("transB", 0) != 0};
}

void infer(InferContext& context) {
  require_same_dtype(context, {0, 1});
  if (!context.ranked(0) || !context.ranked(1)) {
    return context.set_output(0, context.dtype(0), std::nullopt);
  }
  const Sides trans = sides(context);
  context.set_output(0, context.dtype(0),
                     matmul_dims(context.dims(0), context.dims(1), trans.trans_a, trans.trans_b));
}

void infer_transposed(InferContext& context) {
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    if (context.ranked(i) && context.rank(i) < 2) {
      context.reject("input ", i, " must have rank 2 or more, found ", to_string(context.dims(i)));
    }
  }
  require_same_dtype(context, {0, bias_input, addend_input});
  for (const std::size_t i : {bias_input, addend_input}) {
    if (context.has_input(i) && is_integer(context.dtype(0))) {
      context.reject("a product of ", context.dtype(0), " takes neither a bias nor an addend");
    }
  }
  infer(context);
  if (!context.ranked(0) || !context.ranked(1)) return;
  const Sides trans = sides(context);
  if (context.has_input(bias_input) && context.ranked(bias_input)) {
    const Dims bias = dims_of_rank(context, bias_input, 1, "the bias");
    const std::size_t rank = context.rank(1);
    unify(bias[0], context.dims(1)[trans.trans_b ? rank - 2 : rank - 1],
          "columns and numbers of the bias");
  }
  const Type y = Type::tensor(context.dtype(0), matmul_dims(context.dims(0), context.dims(1),
                                                            trans.trans_a, trans.trans_b));
  if (context.has_input(addend_input) && !compatible(context.input(addend_input), y)) {
    context.reject("the addend is ", to_string(context.input(addend_input)),
                   ", needed: ", to_string(y));
  }
}

template <class C>
Kernel bind_float(BindContext& context, MatmulBatches batches) {
  Scratch scratch;
  const bool rounds = math::GemmPrimitive<C>::takes_bf16(batches.shape, product_kernels(context));
  const StoredIn<C> a(context, scratch, 0, rounds);
  const bool reads_b =
      rounds || math::GemmPrimitive<C>::widens_b(batches.shape, product_kernels(context));
  const StoredIn<C> b(context, scratch, 1, reads_b);
  batches.shape.a_stored = a.storage();
  batches.shape.b_stored = b.storage();
  const ComputeIn<C> bias(context, scratch, bias_input);
  const ComputeIn<C> addend(context, scratch, addend_input);
  const StoredOut<C> y(
      context, scratch, 0, batches.count * batches.shape.m * batches.shape.n,
      math::GemmPrimitive<C>::rounds_result(batches.shape, product_kernels(context)));
  batches.shape.c_stored = y.storage();
  const math::GemmPrimitive<C> gemm(batches.shape, batches.count, context.threads(),
                                    product_kernels(context));
  const std::size_t work = scratch.add_bytes(gemm.workspace());
  context.set_implementation(gemm.name(), gemm.isa());
  scratch.request(context);
  const math::Activation activation = fused_activation(context);
  return [=, batches = std::move(batches)](KernelContext& call) {
    const math::GemmBatch batch{.count = batches.count,
                                .stride_c = batches.shape.m * batches.shape.n,
                                .offsets_a = batches.a.data(),
                                .offsets_b = batches.b.data()};
    if (batches.count == 0) return;
    const math::Elements<C> to = y(call);
    math::GemmOptions<C> options{.col_bias = bias(call), .activation = activation};
    if (addend) {
      const C* const more = addend(call);
      options.beta = 1;
      options.addend = more == to.memory() ? nullptr : more;
    }
    gemm.run(call.pool(), batch, a(call), b(call), to, options, Scratch::at<std::byte>(call, work));
    y.store(call);
  };
}

template <class T>
Kernel bind_integer(MatmulBatches batches) {
  return [batches = std::move(batches)](KernelContext& call) {
    const auto& s = batches.shape;
    const std::int64_t grain = std::max<std::int64_t>(1, 16 / std::max<std::int64_t>(1, s.m));
    call.pool().for_chunks(batches.count, grain, [&](std::int64_t first, std::int64_t last) {
      for (auto i = first; i < last; ++i) {
        const auto at = static_cast<std::size_t>(i);
        math::integer_gemm(call.pool(), s, call.in<T>(0) + batches.a[at],
                           call.in<T>(1) + batches.b[at], call.out<T>(0) + i * s.m * s.n);
      }
    });
  };
}

Kernel bind(BindContext& context) {
  const Sides trans = sides(context);
  MatmulBatches batches =
      matmul_batches(context.shape(0), context.shape(1), trans.trans_a, trans.trans_b);
  if (is_integer(context.dtype(0))) {
    context.set_implementation("integer_gemm");
    return visit(context.dtype(0),
                 Types<std::int32_t, std::int64_t, std::uint32_t, std::uint64_t>{},
                 [&]<class T>() -> Kernel { return bind_integer<T>(std::move(batches)); });
  }
  return visit_compute(context.dtype(0), [&]<class C>() -> Kernel {
    return bind_float<C>(context, std::move(batches));
  });
}

Val product(Val a, Val b, bool trans_a, bool trans_b) {
  if (!trans_a && !trans_b) return graph::matmul(a, b);
  const Attributes attributes{{"transA", std::int64_t{trans_a}}, {"transB", std::int64_t{trans_b}}};
  if (a.rank() == 2 && b.rank() == 2) return a.builder().node("Gemm", {a, b}, attributes);
  return a.builder().node("MatMulT", {a, b}, attributes, ondine_domain);
}

Val rows(Val x) {
  if (x.rank() == 2) return x;
  return x.builder().node("Flatten", {x}, {{"axis", static_cast<std::int64_t>(x.rank()) - 1}});
}

std::vector<Val> grad(GradContext& g) {
  const auto [ta, tb] = sides(g);
  Val a = g.x(0);
  Val b = g.x(1);
  Val dy = g.dy(0);
  if (!a.ranked() || !b.ranked()) {
    fail(ErrorCode::unsupported, "the derivative of a matrix product needs known ranks");
  }
  const bool row = a.rank() == 1;
  const bool column = b.rank() == 1;
  if (column) {
    b = graph::unsqueeze(b, {1});
    dy = graph::unsqueeze(dy, {-1});
  }
  if (row) {
    a = graph::unsqueeze(a, {0});
    dy = graph::unsqueeze(dy, {-2});
  }
  std::vector<Val> result(2);
  if (g.wants(0)) {
    Val da = ta ? product(b, dy, tb, true) : product(dy, b, false, !tb);
    if (b.rank() > 2) da = sum_to(da, a);
    result[0] = row ? reshape_like(da, g.x(0)) : da;
  }
  if (g.wants(1)) {
    // One matrix b for all of a: its derivative is a single product too.
    const bool single = b.rank() == 2 && !ta;
    const Val left = single ? rows(a) : a;
    const Val right = single ? rows(dy) : dy;
    Val db = tb ? product(right, left, true, ta) : product(left, right, !ta, false);
    if (!single) db = sum_to(db, b);
    result[1] = column ? reshape_like(db, g.x(1)) : db;
  }
  if (g.has_input(bias_input)) result.push_back(sum_to(dy, g.x(bias_input)));
  return result;
}

std::vector<Val> grad_transposed(GradContext& g) {
  const bool is_linear = fused_activation(g) == math::Activation::none;
  return is_linear && !g.has_input(addend_input) ? grad(g) : grad_of_expansion(g);
}

std::vector<Val> expand_transposed(ExpandContext& context) {
  const auto [ta, tb] = sides(context);
  const auto transposed = [](Val x, bool trans) {
    if (!trans) return x;
    std::vector<std::int64_t> perm(x.rank());
    for (std::size_t i = 0; i < perm.size(); ++i) perm[i] = static_cast<std::int64_t>(i);
    std::swap(perm[perm.size() - 1], perm[perm.size() - 2]);
    return graph::transpose(x, perm);
  };
  Val y = graph::matmul(transposed(context.x(0), ta), transposed(context.x(1), tb));
  for (const std::size_t more : {bias_input, addend_input}) {
    if (context.x(more)) y = y + context.x(more);
  }
  return {activated(context, y, fused_activation(context))};
}

// Rows of every sample times the same matrix, plus the same bias.
bool multiplies_samples(const Node& node, const Graph& graph) {
  const auto rank = [&](std::size_t i) { return graph[node.inputs[i]].type.rank(); };
  const bool has_bias = node.inputs.size() > bias_input && node.inputs[bias_input] != no_value;
  return rank(0) > 2 && rank(1) == 2 && !(has_bias && rank(bias_input) > 1);
}

}  // namespace

extern const OpDef matmul_op{
    .name = "MatMul",
    .infer = infer,
    .bind = bind,
    .grad = grad,
    .traits = {.per_sample = 1, .is_per_sample = multiplies_samples, .cannot_fail = true},
    .rounded = rounds_product<2>};
extern const OpDef matmul_t{.name = "MatMulT",
                            .domain = ondine_domain,
                            .infer = infer_transposed,
                            .bind = bind,
                            .grad = grad_transposed,
                            .expand = expand_transposed,
                            .traits = {.inplace = 1U << addend_input,
                                       .per_sample = 1U | 1U << addend_input,
                                       .is_per_sample = multiplies_samples,
                                       .cannot_fail = true},
                            .rounded = rounds_product<addend_input>};

}  // namespace ondine::kernels::ops
