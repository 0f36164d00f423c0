// Attention with a second mask, which is added too or stands in the place of what it replaces.
#include <algorithm>
#include <limits>
#include <numeric>

#include <ondine/error.h>

#include "graph/contract/catalogue.h"
#include "graph/ir/type.h"
#include "kernels/attention/attention_primitive.h"
#include "tests/kernels/attention/attention_definition.h"
#include "tests/kernels/common/row_test.h"
#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

const std::string domain(graph::ondine_domain);
constexpr double infinity = std::numeric_limits<double>::infinity();

struct Setting {
  Shape mask, more;  // of rank 0: none
  std::string replaces = {};
  std::int64_t queries = 3, keys = 4;
  bool zeros = true;  // whether elements of the second mask are 0 where it replaces
};

Tensor more_of(const Setting& s) {
  Tensor more = random_tensor(s.more, 6);
  const auto values = more.mutable_values<double>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!s.replaces.empty() && s.zeros && i % 3 != 1) values[i] = 0;
  }
  return more;
}

OpCase op_case(const Setting& s) {
  OpCase one{.op = "ScaledAttention",
             .inputs = {random_tensor({2, 2, s.queries, 2}, 1), random_tensor({2, 2, s.keys, 2}, 2),
                        random_tensor({2, 2, s.keys, 3}, 3), Value(), more_of(s)},
             .attributes = {{"scale", 0.5F}},
             .domain = domain};
  if (s.mask.rank() > 0) one.inputs[3] = random_tensor(s.mask, 4);
  if (!s.replaces.empty()) one.attributes.emplace_back("replaces", s.replaces);
  return one;
}

Tensor op(const char* name, std::vector<Value> inputs, graph::Attributes attributes = {}) {
  return run_op_tensor({name, std::move(inputs), std::move(attributes)});
}

// Computed by operators of the standard.
Tensor expected(const Setting& s) {
  const OpCase one = op_case(s);
  const std::vector<std::int64_t> turn{0, 1, 3, 2};
  const Tensor keys = op("Transpose", {one.inputs[1]}, {{"perm", turn}});
  const Value half = Tensor::scalar(0.5);
  const Tensor product = op("Mul", {op("MatMul", {one.inputs[0], keys}), half});
  const Value more = one.inputs[4];
  const Value mask = s.mask.rank() > 0 ? one.inputs[3] : Value(Tensor::scalar(0.0));
  const Tensor none = op("Equal", {more, Tensor::scalar(0.0)});
  Tensor scores;
  if (s.replaces == "products") {
    scores = op("Add", {op("Where", {none, product, more}), mask});
  } else if (s.replaces == "both") {
    scores = op("Where", {none, op("Add", {product, mask}), more});
  } else if (s.replaces == "mask") {
    scores = op("Add", {product, op("Where", {none, mask, more})});
  } else {
    scores = op("Add", {op("Add", {product, more}), mask});
  }
  return op("MatMul", {op("Softmax", {scores}), one.inputs[2]});
}

const Setting settings[] = {{{2, 1, 3, 4}, {1, 2, 3, 4}},
                            {{2, 1, 1, 4}, {2, 3, 4}},
                            {{2, 1, 3, 4}, {1, 2, 3, 1}},
                            {{}, {2, 1, 3, 4}},
                            {{4}, {2, 2, 3, 4}},
                            {{2, 1, 3, 4}, {1, 1, 3, 4}, "products"},
                            {{}, {3, 4}, "products"},
                            {{1, 2, 3, 4}, {2, 1, 3, 4}, "mask"},
                            {{1, 2, 3, 4}, {2, 1, 1, 4}, "mask"},
                            {{2, 2, 3, 4}, {2, 1, 3, 4}, "both"},
                            {{1, 2, 3, 4}, {2, 1, 1, 4}, "both"},
                            {{}, {2, 1, 3, 4}, "both"},
                            {{1, 2, 70, 130}, {70, 130}, "both", 70, 130},
                            {{2, 1, 70, 130}, {2, 70, 130}, "", 70, 130},
                            {{2, 1, 70, 130}, {70, 130}, "products", 70, 130},
                            {{2, 70, 130}, {2, 1, 70, 130}, "mask", 70, 130}};

}  // namespace

TEST_CASE("ScaledAttention adds a second mask, or lets it replace products or the first mask") {
  for (const Setting& s : settings) {
    INFO(graph::to_string(graph::to_dims(s.mask))
         << " and " << graph::to_string(graph::to_dims(s.more)) << " replaces " << s.replaces);
    check_close(run_op_tensor(op_case(s)), expected(s));
  }
}

TEST_CASE("derivatives of ScaledAttention by both masks") {
  for (const Setting& s : settings) {
    if (s.keys > 4) continue;
    INFO(graph::to_string(graph::to_dims(s.mask))
         << " and " << graph::to_string(graph::to_dims(s.more)) << " replaces " << s.replaces);
    if (s.replaces.empty()) {
      check_gradient(op_case(s), {.variants = false});
      continue;
    }
    // At 0 the second mask begins to replace.
    check_gradient(op_case(s), {.variants = false, .skip = {4}});
    Setting everywhere = s;
    everywhere.zeros = false;
    check_gradient(op_case(everywhere), {.variants = false});
  }
}

TEST_CASE("ScaledAttentionGrad with two masks is what its expansion is") {
  for (const Setting& s : settings) {
    if (s.keys > 4 || s.mask.rank() == 0) continue;
    INFO(graph::to_string(graph::to_dims(s.mask))
         << " and " << graph::to_string(graph::to_dims(s.more)) << " replaces " << s.replaces);
    OpCase one = op_case(s);
    one.op = "ScaledAttentionGrad";
    one.inputs.insert(one.inputs.begin(), random_tensor({2, 2, 3, 3}, 9));
    one.outputs = 4;
    GradientCheck once{.order = 1, .elements = 6, .variants = false};
    if (!s.replaces.empty()) once.skip = {5};
    check_gradient(one, once);
  }
}

TEST_CASE("PackedAttention takes a second mask as ScaledAttention does") {
  for (const std::string replaces : {"", "products", "mask", "both"}) {
    OpCase one{.op = "PackedAttention",
               .inputs = {random_tensor({2, 4, 3, 2, 5}, 1), random_tensor({2, 1, 4, 4}, 2),
                          more_of({{}, {2, 4, 4}, replaces})},
               .attributes = {{"scale", 0.5F}},
               .domain = domain};
    if (!replaces.empty()) one.attributes.emplace_back("replaces", replaces);
    OpCase apart = one;
    apart.op = "ScaledAttention";
    apart.attributes.emplace_back("interleaved", std::int64_t{1});
    apart.inputs.clear();
    const Tensor axes = Tensor::of<std::int64_t>({1}, {2});
    const auto parts = run_op({"Split",
                               {one.inputs[0]},
                               {{"axis", std::int64_t{2}}, {"num_outputs", std::int64_t{3}}},
                               3});
    for (const Value& part : parts) apart.inputs.emplace_back(op("Squeeze", {part, axes}));
    apart.inputs.insert(apart.inputs.end(), one.inputs.begin() + 1, one.inputs.end());
    check_close(run_op_tensor(one), run_op_tensor(apart));
    GradientCheck check{.variants = false};
    if (!replaces.empty()) check.skip = {2};
    check_gradient(one, check);
  }
}

TEST_CASE("a query from which two masks together hide all keys gives 0 with zero_rows") {
  for (const std::string replaces : {"", "products", "mask", "both"}) {
    OpCase one = op_case({{1, 1, 1, 4}, {1, 1, 3, 4}, replaces});
    auto mask = one.inputs[3].tensor().mutable_values<double>();
    mask[0] = mask[1] = -infinity;
    auto more = one.inputs[4].tensor().mutable_values<double>();
    for (std::size_t i = 0; i < 4; ++i) more[4 + i] = i < 2 ? 0 : -infinity;
    one.attributes.emplace_back("zero_rows", std::int64_t{1});
    const auto y = as_doubles(run_op_tensor(one));
    for (std::size_t i = 0; i < y.size(); ++i) CHECK((y[i] == 0) == (i / 3 % 3 == 1));
  }
}

TEST_CASE("what a second mask replaces is checked, as are its dims") {
  OpCase one = op_case({{}, {3, 4}, "scores"});
  CHECK_THROWS_AS(run_op(one), Error);
  CHECK_THROWS_AS(run_op(op_case({{}, {3, 5}})), Error);
}

}  // namespace ondine::test

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

using Index = std::int64_t;

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

// Six heads in two samples: a causal mask of each sample, whose last keys are padding, and a bias
// of each of three heads. `swapped`: the bias is the first mask.
template <class T>
struct Both {
  AttentionHeads<T> heads;
  std::vector<T> causal, bias;
  std::vector<Index> causal_at, bias_at, order;
  bool swapped;

  Both(Index queries, Index keys, Index size, bool swapped_masks, Replaced replaced)
      : heads({.count = 6,
               .queries = queries,
               .keys = keys,
               .head_size = size,
               .v_head_size = size,
               .masks = swapped_masks ? 3 : 2,
               .mask_per_query = true,
               .more_masks = swapped_masks ? 2 : 3,
               .more_per_query = true,
               .replaced = replaced},
              T{0.25}),
        order(6),
        swapped(swapped_masks) {
    const Index elements = queries * keys;
    bias = heads.numbers.template row<T>(3 * elements);
    for (Index i = 0; i < 2 * elements; ++i) {
      const Index key = i % keys;
      const bool seen = key <= i / keys % queries && key < keys - 3 * (i / elements);
      causal.push_back(seen ? T{0} : T{-1e9});
    }
    for (Index head = 0; head < 6; ++head) {
      causal_at.push_back(head / 3 * elements);
      bias_at.push_back(head % 3 * elements);
    }
    std::iota(order.begin(), order.end(), 0);
    const auto& first = swapped ? bias_at : causal_at;
    std::ranges::stable_sort(order, {}, [&](Index head) { return first[at(head)]; });
  }

  // One mask, the sum of both, which each head has for itself.
  AttentionHeads<T> together() const {
    AttentionHeads<T> one = heads;
    const Index elements = one.shape.queries * one.shape.keys;
    for (Index i = 0; i < 6 * elements; ++i) {
      const T a = causal[at(causal_at[at(i / elements)] + i % elements)];
      const T b = bias[at(bias_at[at(i / elements)] + i % elements)];
      one.mask.push_back(one.shape.replaced == Replaced::mask && a != T{0} ? a : a + b);
    }
    for (Index head = 0; head < 6; ++head) one.offsets.push_back(head * elements);
    return one;
  }

  // y, dq, dk and dv, and the gradient of the first mask.
  std::vector<double> expected() const {
    const AttentionHeads<T> one = together();
    std::vector<double> all = one.expected(true);
    const auto masks = static_cast<std::ptrdiff_t>(one.mask.size());
    std::vector<double> each(all.end() - masks, all.end());
    all.resize(all.size() - each.size());
    const Index elements = one.shape.queries * one.shape.keys;
    std::vector<double> sums((swapped ? bias : causal).size());
    for (Index i = 0; i < 6 * elements; ++i) {
      const Index head = i / elements;
      const bool hidden = one.shape.replaced == Replaced::mask &&
                          causal[at(causal_at[at(head)] + i % elements)] != T{0};
      if (!hidden)
        sums[at((swapped ? bias_at : causal_at)[at(head)] + i % elements)] += each[at(i)];
    }
    all.insert(all.end(), sums.begin(), sums.end());
    return all;
  }

  std::vector<T> run(ThreadPool& pool, const SimdTables& kernels) const {
    const AttentionPrimitive<T> primitive(heads.shape, pool.threads(), kernels, true);
    Scratch scratch(primitive.workspace());
    const Workspace work = scratch;
    AttentionScores<T> scores{.scale = heads.scale,
                              .mask = causal.data(),
                              .offsets = causal_at.data(),
                              .heads_by_mask = order.data(),
                              .more = bias.data(),
                              .more_offsets = bias_at.data()};
    if (swapped) scores = scores.with_masks_swapped();
    const AttentionOperands<T> operands{heads.q.data(), heads.k.data(), heads.v.data()};
    std::vector<T> y(heads.dy.size(), T{7}), dq(heads.q.size(), T{7}), dk(heads.k.size(), T{7}),
        dv(heads.v.size(), T{7}), dmask((swapped ? bias : causal).size(), T{7});
    primitive.run(pool, scores, operands, y.data(), work.data);
    primitive.run_gradient(pool, scores, operands, heads.dy.data(),
                           {dq.data(), dk.data(), dv.data(), dmask.data()}, work.data);
    CHECK(scratch.intact());
    for (const auto& more : {dq, dk, dv, dmask}) y.insert(y.end(), more.begin(), more.end());
    return y;
  }
};

}  // namespace

TEMPLATE_TEST_CASE("two masks are as their sum, whichever of them hides keys", "", float, double) {
  using T = TestType;
  for (const auto& [queries, keys] : {std::pair<Index, Index>{7, 9}, {130, 200}, {150, 150}}) {
    for (const bool swapped : {false, true}) {
      for (const Replaced replaced : {Replaced::nothing, Replaced::mask}) {
        if (replaced == Replaced::mask && !swapped) continue;
        INFO(queries << " x " << keys << ", swapped " << swapped << ", replaced "
                     << static_cast<int>(replaced));
        const Both<T> both(queries, keys, 20, swapped, replaced);
        check<T>(
            both.expected(), sizeof(T) == 4 ? 1e-4 : 1e-12,
            [&](ThreadPool& pool, const SimdTables& kernels) { return both.run(pool, kernels); });
      }
    }
  }
}

TEST_CASE("two masks in bfloat16 have the same bits for any number of threads") {
  const SimdTables& kernels = math::simd_tables(Precision::bfloat16);
  for (const Replaced replaced : {Replaced::nothing, Replaced::mask}) {
    const Both<float> both(130, 200, 32, true, replaced);
    ThreadPool one(1), two(2), three(3);
    const auto y = both.run(one, kernels);
    CHECK(worst_error(y, both.expected()) < 0.03);
    CHECK(same_bits(both.run(two, kernels), y));
    CHECK(same_bits(both.run(three, kernels), y));
  }
}
