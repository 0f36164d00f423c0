// The gradient of masks that several heads share.
#include <algorithm>
#include <limits>
#include <numeric>

#include "kernels/attention/attention_primitive.h"
#include "tests/kernels/common/row_test.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

using Index = std::int64_t;
constexpr double infinity = std::numeric_limits<double>::infinity();

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

// Head i has mask i % masks.
template <class T>
struct Shared {
  AttentionShape shape;
  std::vector<T> q, k, v, dy, mask;
  std::vector<Index> offsets, heads;

  // Keys after a query are hidden where `hidden` is not 0.
  Shared(Index count, Index masks, Index queries, Index keys, bool one_row, double hidden = 0)
      : shape{count, queries, keys, 5, 3, true, masks, !one_row}, heads(at(count)) {
    Numbers numbers(static_cast<std::uint64_t>(count * 100 + keys));
    q = numbers.row<T>(count * queries * shape.head_size);
    k = numbers.row<T>(count * keys * shape.head_size);
    v = numbers.row<T>(count * keys * shape.v_head_size);
    dy = numbers.row<T>(count * queries * shape.v_head_size);
    mask = numbers.row<T>(masks * elements());
    for (Index i = 0; hidden != 0 && i < masks * elements(); ++i) {
      if (i % keys > i / keys % queries) mask[at(i)] = static_cast<T>(hidden);
    }
    for (Index head = 0; head < count; ++head) offsets.push_back(head % masks * elements());
    std::iota(heads.begin(), heads.end(), 0);
    std::ranges::stable_sort(heads, {}, [&](Index head) { return head % masks; });
  }

  Index elements() const { return shape.keys * (shape.mask_per_query ? shape.queries : 1); }

  // dmask, then the other gradients.
  std::vector<T> run(ThreadPool& pool, const SimdTables& kernels, bool others = true) const {
    const AttentionPrimitive<T> primitive(shape, pool.threads(), kernels, true);
    Scratch scratch(primitive.workspace());
    const Workspace work = scratch;
    std::vector<T> all(mask.size(), T{7}), dq(q.size(), T{7}), dk(k.size(), T{7}),
        dv(v.size(), T{7});
    primitive.run_gradient(pool, {T{0.5}, mask.data(), offsets.data(), heads.data()},
                           {q.data(), k.data(), v.data()}, dy.data(),
                           {others ? dq.data() : nullptr, others ? dk.data() : nullptr,
                            others ? dv.data() : nullptr, all.data()},
                           work.data);
    CHECK(scratch.intact());
    if (!others) return all;
    for (const auto& more : {dq, dk, dv}) all.insert(all.end(), more.begin(), more.end());
    return all;
  }

  // The gradients other than that of the mask.
  std::vector<T> without_mask(ThreadPool& pool, const SimdTables& kernels) const {
    const AttentionPrimitive<T> primitive(shape, pool.threads(), kernels);
    Scratch scratch(primitive.workspace());
    const Workspace work = scratch;
    std::vector<T> dq(q.size()), dk(k.size()), dv(v.size());
    primitive.run_gradient(pool, {T{0.5}, mask.data(), offsets.data(), nullptr},
                           {q.data(), k.data(), v.data()}, dy.data(),
                           {dq.data(), dk.data(), dv.data(), nullptr}, work.data);
    for (const auto& more : {dk, dv}) dq.insert(dq.end(), more.begin(), more.end());
    return dq;
  }

  // dmask, score by score.
  std::vector<double> expected() const {
    std::vector<double> sums(mask.size());
    const auto number = [](T x) { return static_cast<double>(x); };
    for (Index row = 0; row < shape.count * shape.queries; ++row) {
      const Index head = row / shape.queries;
      const Index i = row % shape.queries;
      const Index first = offsets[at(head)] + (shape.mask_per_query ? i * shape.keys : 0);
      std::vector<double> p, dp;
      double largest = -infinity;
      for (Index j = 0; j < shape.keys; ++j) {
        double score = 0, derivative = 0;
        for (Index f = 0; f < shape.head_size; ++f) {
          score += number(q[at(row * shape.head_size + f)]) *
                   number(k[at((head * shape.keys + j) * shape.head_size + f)]);
        }
        for (Index f = 0; f < shape.v_head_size; ++f) {
          derivative += number(dy[at(row * shape.v_head_size + f)]) *
                        number(v[at((head * shape.keys + j) * shape.v_head_size + f)]);
        }
        p.push_back(score / 2 + number(mask[at(first + j)]));
        dp.push_back(derivative);
        largest = std::max(largest, p.back());
      }
      for (double& x : p) x = std::exp(x - largest);
      const double sum = std::accumulate(p.begin(), p.end(), 0.0);
      for (double& x : p) x /= sum;
      const double mean = std::inner_product(p.begin(), p.end(), dp.begin(), 0.0);
      for (Index j = 0; j < shape.keys; ++j) {
        sums[at(first + j)] += p[at(j)] * (dp[at(j)] - mean);
      }
    }
    return sums;
  }
};

}  // namespace

TEMPLATE_TEST_CASE("the gradient of a mask is the sum of those of its heads' scores", "", float,
                   double) {
  using T = TestType;
  struct Sizes {
    Index count, masks, queries, keys;
  };
  for (const Sizes& s : {Sizes{1, 1, 1, 1},
                         {3, 1, 5, 7},
                         {24, 1, 49, 49},
                         {23, 1, 3, 65},
                         {18, 2, 17, 33},
                         {40, 5, 4, 9},
                         {6, 6, 8, 6},
                         {30, 3, 270, 20},
                         {9, 1, 150, 2100}}) {
    for (const bool one_row : {false, true}) {
      for (const double hidden : {0.0, -1e9, -infinity}) {
        if (one_row && hidden != 0) continue;
        INFO(s.count << " heads, " << s.masks << " masks, " << s.queries << " x " << s.keys
                     << ", one row " << one_row << ", hidden " << hidden);
        const Shared<T> m(s.count, s.masks, s.queries, s.keys, one_row, hidden);
        check<T>(m.expected(), sizeof(T) == 4 ? 1e-4 : 1e-12,
                 [&](ThreadPool& pool, const SimdTables& kernels) {
                   return m.run(pool, kernels, false);
                 });
      }
    }
  }
}

TEST_CASE("with the gradient of a mask the others have the same bits as without") {
  for (const double hidden : {0.0, -1e9}) {
    const Shared<float> m(26, 2, 70, 200, false, hidden);
    for (const auto* kernels : all_kernels()) {
      INFO(isa_name(*kernels) << ", hidden " << hidden);
      ThreadPool pool(3);
      auto all = m.run(pool, *kernels);
      all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(m.mask.size()));
      CHECK(same_bits(all, m.without_mask(pool, *kernels)));
    }
  }
}

TEST_CASE("a hidden key has a gradient of 0") {
  for (const double hidden : {-1e9, -infinity}) {
    const Shared<float> m(8, 1, 200, 200, false, hidden);
    ThreadPool pool(2);
    const auto all = m.run(pool, simd_tables(), false);
    for (Index i = 0; i < 200 * 200; ++i) {
      if (i % 200 > i / 200 && all[at(i)] != 0) FAIL("element " << i);
    }
  }
}

TEST_CASE("the gradient of a mask in bfloat16 has the same bits for any number of threads") {
  const SimdTables& bfloat16 = math::simd_tables(Precision::bfloat16);
  const Shared<float> m(30, 3, 49, 49, false);
  ThreadPool one(1), two(2), three(3);
  const auto y = m.run(one, bfloat16, false);
  CHECK(worst_error(y, m.expected()) < 0.05);
  CHECK(same_bits(m.run(two, bfloat16, false), y));
  CHECK(same_bits(m.run(three, bfloat16, false), y));
}
