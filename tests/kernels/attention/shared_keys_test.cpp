// Attention in which several heads of queries share a head of keys and values, and with a cap.
#include <numeric>

#include <ondine/error.h>

#include "graph/contract/catalogue.h"
#include "kernels/attention/attention_primitive.h"
#include "tests/kernels/common/row_test.h"
#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

const std::string domain(graph::ondine_domain);

Tensor op(const char* name, std::vector<Value> inputs, graph::Attributes attributes = {}) {
  return run_op_tensor({name, std::move(inputs), std::move(attributes)});
}

struct Setting {
  std::int64_t heads = 4, key_heads = 2, queries = 3, keys = 4;
  Shape mask = {};
  bool transposed = false;
  float cap = 0;
};

OpCase op_case(const Setting& s) {
  const Shape k =
      s.transposed ? Shape{2, s.key_heads, 2, s.keys} : Shape{2, s.key_heads, s.keys, 2};
  OpCase one{
      .op = "ScaledAttention",
      .inputs = {random_tensor({2, s.heads, s.queries, 2}, 1), random_tensor(k, 2),
                 random_tensor({2, s.key_heads, s.keys, 3}, 3)},
      .attributes = {{"scale", 1.5F}, {"transK", std::int64_t{s.transposed}}, {"softcap", s.cap}},
      .domain = domain};
  if (s.mask.rank() > 0) one.inputs.emplace_back(random_tensor(s.mask, 4));
  return one;
}

Tensor turned(const Tensor& x, std::vector<std::int64_t> perm) {
  return op("Transpose", {x}, {{"perm", std::move(perm)}});
}

OpCase interleaved_case(const Setting& s) {
  OpCase one = op_case(s);
  for (std::size_t i = 0; i < 3; ++i) one.inputs[i] = turned(one.inputs[i].tensor(), {0, 2, 1, 3});
  one.attributes = {{"scale", 1.5F}, {"interleaved", std::int64_t{1}}, {"softcap", s.cap}};
  return one;
}

// Each head as often as it is shared.
Tensor repeated(const Tensor& x, std::int64_t times) {
  std::vector<std::int64_t> heads;
  for (std::int64_t i = 0; i < x.shape()[1] * times; ++i) heads.push_back(i / times);
  const auto count = static_cast<std::int64_t>(heads.size());
  return op("Gather", {x, Tensor::of<std::int64_t>({count}, heads)}, {{"axis", std::int64_t{1}}});
}

// Result of the standard's operators.
Tensor expected(const Setting& s) {
  const OpCase one = op_case(s);
  const std::int64_t times = s.heads / s.key_heads;
  Tensor k = repeated(one.inputs[1].tensor(), times);
  if (!s.transposed) k = turned(k, {0, 1, 3, 2});
  Tensor scores = op("Mul", {op("MatMul", {one.inputs[0], k}), Tensor::scalar(1.5)});
  if (s.cap > 0) {
    const Value cap = Tensor::scalar(double{s.cap});
    scores = op("Mul", {op("Tanh", {op("Div", {scores, cap})}), cap});
  }
  if (s.mask.rank() > 0) scores = op("Add", {scores, one.inputs[3]});
  return op("MatMul", {op("Softmax", {scores}), repeated(one.inputs[2].tensor(), times)});
}

const Setting settings[] = {{},
                            {.heads = 6, .key_heads = 1},
                            {.heads = 6, .mask = {2, 1, 3, 4}},
                            {.mask = {1, 4, 3, 4}},
                            {.mask = {2, 4, 3, 1}, .transposed = true},
                            {.key_heads = 1, .transposed = true, .cap = 0.5F},
                            {.heads = 2, .cap = 0.25F},
                            {.mask = {2, 1, 1, 4}, .cap = 2},
                            {.queries = 70, .keys = 130, .mask = {1, 1, 70, 130}},
                            {.queries = 2, .keys = 600, .mask = {600}, .cap = 1}};

}  // namespace

TEST_CASE("heads of queries that share keys see what they would see in copies, capped or not") {
  for (const Setting& s : settings) {
    CAPTURE(s.heads, s.key_heads, s.queries, s.keys, s.mask.rank(), s.cap);
    const Tensor wanted = expected(s);
    check_close(run_op_tensor(op_case(s)), wanted);
    if (s.transposed) continue;
    check_close(turned(run_op_tensor(interleaved_case(s)), {0, 2, 1, 3}), wanted);
  }
}

TEST_CASE("derivatives of attention whose heads share keys, and of capped scores") {
  for (const Setting& s : settings) {
    if (s.keys > 4) continue;
    CAPTURE(s.heads, s.key_heads, s.mask.rank(), s.cap);
    check_gradient(op_case(s), {.variants = false});
    if (!s.transposed) check_gradient(interleaved_case(s), {.variants = false});
  }
}

TEST_CASE("ScaledAttentionGrad of shared keys and capped scores is what its expansion is") {
  for (const Setting& s : {settings[3], settings[5], settings[7]}) {
    OpCase one = op_case(s);
    one.op = "ScaledAttentionGrad";
    one.inputs.insert(one.inputs.begin(), random_tensor({2, s.heads, s.queries, 3}, 9));
    one.outputs = s.mask.rank() > 0 ? 4 : 3;
    check_gradient(one, {.order = 1, .elements = 6, .variants = false});
  }
}

TEST_CASE("a cap of scores is checked, and PackedAttention has one") {
  OpCase one = op_case({});
  one.attributes = {{"softcap", -1.0F}};
  CHECK_THROWS_AS(run_op(one), Error);
  OpCase packed{.op = "PackedAttention",
                .inputs = {random_tensor({2, 4, 3, 2, 5}, 1)},
                .attributes = {{"softcap", 0.5F}},
                .domain = domain};
  check_gradient(packed, {.variants = false});
  const Tensor capped = run_op_tensor(packed);
  packed.attributes = {{"softcap", 100.0F}};
  const auto free = as_doubles(run_op_tensor(packed));
  CHECK(as_doubles(capped) != free);
}

}  // namespace ondine::test

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

using Index = std::int64_t;

// Six heads of queries, three of each sample, on one head of keys; the mask is that of each head.
template <class T>
struct Shared {
  AttentionShape shape;
  std::vector<T> q, k, v, dy, mask;
  std::vector<Index> offsets, order;

  Shared(Index queries, Index keys, Index size, Index interleaved)
      : shape{.count = 6,
              .queries = queries,
              .keys = keys,
              .head_size = size,
              .v_head_size = size,
              .masks = 3,
              .mask_per_query = true,
              .interleaved = interleaved,
              .group = 3},
        order{0, 3, 1, 4, 2, 5} {
    Numbers numbers(11);
    q = numbers.row<T>(6 * queries * size);
    k = numbers.row<T>(2 * keys * size);
    v = numbers.row<T>(2 * keys * size);
    dy = numbers.row<T>(6 * queries * size);
    mask = numbers.row<T>(3 * queries * keys);
    for (Index i = 0; i < std::ssize(mask); ++i) {
      if (i % keys > i / keys % queries) mask[static_cast<std::size_t>(i)] = T{-1e9};
    }
    for (Index head = 0; head < 6; ++head) offsets.push_back(head % 3 * queries * keys);
  }

  // As many heads of keys as of queries.
  Shared apart() const {
    Shared all = *this;
    all.shape.group = 1;
    all.k.clear();
    all.v.clear();
    const Index keys = shape.keys, size = shape.head_size, beside = shape.interleaved;
    for (Index i = 0; i < 6 * keys; ++i) {
      // Rows of heads beside each other, or one matrix after the other.
      const Index row = beside > 1 ? i / beside : i / (3 * keys) * keys + i % keys;
      for (Index f = 0; f < size; ++f) {
        all.k.push_back(k[static_cast<std::size_t>(row * size + f)]);
        all.v.push_back(v[static_cast<std::size_t>(row * size + f)]);
      }
    }
    return all;
  }

  // y, dq, dk, dv and the gradient of the mask; dk and dv summed over heads that share keys.
  std::vector<T> run(ThreadPool& pool, const SimdTables& kernels, bool by_mask = true) const {
    const AttentionPrimitive<T> primitive(shape, pool.threads(), kernels, by_mask);
    Scratch scratch(primitive.workspace());
    const Workspace work = scratch;
    const AttentionScores<T> scores{T{0.25}, mask.data(), offsets.data(), order.data()};
    std::vector<T> y(dy.size(), T{7}), dq(q.size(), T{7}), dk(k.size(), T{7}), dv(v.size(), T{7}),
        dmask(mask.size(), T{7});
    const AttentionOperands<T> operands{q.data(), k.data(), v.data()};
    primitive.run(pool, scores, operands, y.data(), work.data);
    primitive.run_gradient(pool, scores, operands, dy.data(),
                           {dq.data(), dk.data(), dv.data(), by_mask ? dmask.data() : nullptr},
                           work.data);
    CHECK(scratch.intact());
    if (!by_mask) dmask.clear();
    for (const auto& more : {dq, summed(dk), summed(dv), dmask}) {
      y.insert(y.end(), more.begin(), more.end());
    }
    return y;
  }
  std::vector<T> summed(const std::vector<T>& each) const {
    if (shape.group > 1) return each;
    const Index keys = shape.keys, size = shape.head_size;
    std::vector<T> sums(static_cast<std::size_t>(2 * keys * size));
    for (Index i = 0; i < 6 * keys; ++i) {
      const Index row =
          shape.interleaved > 1 ? i / shape.interleaved : i / (3 * keys) * keys + i % keys;
      for (Index f = 0; f < size; ++f) {
        sums[static_cast<std::size_t>(row * size + f)] +=
            each[static_cast<std::size_t>(i * size + f)];
      }
    }
    return sums;
  }
};

}  // namespace

TEMPLATE_TEST_CASE("heads that share keys give the sums of the derivatives of copies", "", float,
                   double) {
  using T = TestType;
  for (const Index interleaved : {1, 3}) {
    for (const auto& [queries, keys] : {std::pair<Index, Index>{5, 9}, {150, 200}}) {
      for (const bool by_mask : {false, true}) {
        INFO(queries << " x " << keys << ", interleaved " << interleaved << ", " << by_mask);
        const Shared<T> shared(queries, keys, 20, interleaved);
        ThreadPool pool(2);
        const auto wanted = shared.apart().run(pool, simd_tables(), by_mask);
        check<T>(to_double(wanted), sizeof(T) == 4 ? 1e-4 : 1e-12,
                 [&](ThreadPool& threads, const SimdTables& each) {
                   return shared.run(threads, each, by_mask);
                 });
      }
    }
  }
}

TEST_CASE("heads that share keys in bfloat16 are as copies, for any number of threads") {
  const SimdTables& kernels = math::simd_tables(Precision::bfloat16);
  for (const Index interleaved : {1, 3}) {
    const Shared<float> shared(130, 200, 32, interleaved);
    ThreadPool one(1), three(3);
    const auto y = shared.run(one, kernels);
    CHECK(worst_error(y, to_double(shared.apart().run(one, kernels))) < 0.02);
    CHECK(same_bits(shared.run(three, kernels), y));
  }
}
