// Attention whose products round their factors to bfloat16.
#include "kernels/attention/rounded_heads.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/float_formats.h"
#include "kernels/attention/attention_primitive.h"
#include "tests/kernels/common/lower_kernels.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

using Index = std::int64_t;

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

double rounded(double x) {
  return static_cast<double>(to_float(to_bfloat16(static_cast<float>(x))));
}

struct Heads {
  AttentionShape shape;
  double hidden;  // the mask of keys after a query; 0: none are hidden
  std::vector<float> q, k, v, dy, mask;
  std::vector<Index> offsets, heads;
  static constexpr float scale = 0.25F;

  explicit Heads(const AttentionShape& s, double hidden_keys = 0)
      : shape(s), hidden(hidden_keys), heads(at(s.count)) {
    Numbers numbers(static_cast<std::uint64_t>(s.queries * 1000 + s.keys));
    q = numbers.row<float>(s.count * s.queries * s.head_size);
    k = numbers.row<float>(s.count * s.keys * s.head_size);
    v = numbers.row<float>(s.count * s.keys * s.v_head_size);
    dy = numbers.row<float>(s.count * s.queries * s.v_head_size);
    mask = numbers.row<float>(s.masks * mask_elements());
    for (Index i = 0; hidden != 0 && i < static_cast<Index>(mask.size()); ++i) {
      if (i % s.keys > i / s.keys % s.queries) mask[at(i)] = static_cast<float>(hidden);
    }
    for (Index head = 0; head < s.count; ++head) {
      offsets.push_back(s.masks > 0 ? head % s.masks * mask_elements() : 0);
    }
    std::iota(heads.begin(), heads.end(), 0);
    std::ranges::stable_sort(heads, {}, [&](Index head) { return offsets[at(head)]; });
  }

  Index mask_elements() const { return shape.keys * (shape.mask_per_query ? shape.queries : 1); }
  std::size_t mask_place(Index head, Index i, Index j) const {
    return at(offsets[at(head)] + (shape.mask_per_query ? i * shape.keys : 0) + j);
  }
  std::size_t place(Index head, Index rows, Index i, Index size, Index f) const {
    return at(shape.offset(head, rows, i, size) + f);
  }

  // y, dq, dk, dv and dmask.
  std::vector<float> run(ThreadPool& pool, const Kernels& kernels) const {
    const bool trains = !mask.empty();
    const AttentionPrimitive<float> primitive(shape, pool.threads(), kernels, trains);
    REQUIRE(primitive.name() == "tiled_bf16");
    Scratch scratch(primitive.workspace());
    const Workspace work = scratch;
    std::memset(work.data, 0xff, work.bytes);  // NaN
    std::vector<float> y(dy.size()), dq(q.size()), dk(k.size()), dv(v.size()), dmask(mask.size());
    const AttentionScores<float> scores{scale, trains ? mask.data() : nullptr, offsets.data(),
                                        heads.data()};
    primitive.run(pool, scores, {q.data(), k.data(), v.data()}, y.data(), work.data);
    primitive.run_gradient(pool, scores, {q.data(), k.data(), v.data()}, dy.data(),
                           {dq.data(), dk.data(), dv.data(), trains ? dmask.data() : nullptr},
                           work.data);
    CHECK(scratch.intact());
    for (const auto& more : {dq, dk, dv, dmask}) y.insert(y.end(), more.begin(), more.end());
    return y;
  }

  std::vector<double> weights(Index head, Index i) const {
    std::vector<double> row;
    for (Index j = 0; j < shape.keys; ++j) {
      double score = 0;
      for (Index f = 0; f < shape.head_size; ++f) {
        score += rounded(double{q[place(head, shape.queries, i, shape.head_size, f)]}) *
                 rounded(double{k[place(head, shape.keys, j, shape.head_size, f)]});
      }
      row.push_back(score * double{scale} +
                    (mask.empty() ? 0 : double{mask[mask_place(head, i, j)]}));
    }
    const double largest = *std::ranges::max_element(row);
    double sum = 0;
    for (double& x : row) sum += x = std::exp(x - largest);
    for (double& x : row) x /= sum;
    return row;
  }

  // What run returns, score by score from the definition, with all factors rounded.
  std::vector<double> expected() const {
    const auto& s = shape;
    std::vector<double> y(dy.size()), dq(q.size()), dk(k.size()), dv(v.size()), dmask(mask.size());
    for (Index row = 0; row < s.count * s.queries; ++row) {
      const Index head = row / s.queries;
      const Index i = row % s.queries;
      const auto p = weights(head, i);
      std::vector<double> dp(p.size());
      double product = 0;
      for (Index j = 0; j < s.keys; ++j) {
        for (Index f = 0; f < s.v_head_size; ++f) {
          const std::size_t value = place(head, s.keys, j, s.v_head_size, f);
          const std::size_t result = place(head, s.queries, i, s.v_head_size, f);
          const double d = rounded(double{dy[result]});
          y[result] += rounded(p[at(j)]) * rounded(double{v[value]});
          dv[value] += rounded(p[at(j)]) * d;
          dp[at(j)] += d * rounded(double{v[value]});
        }
        product += p[at(j)] * dp[at(j)];
      }
      for (Index j = 0; j < s.keys; ++j) {
        const double ds = p[at(j)] * (dp[at(j)] - product);
        if (!mask.empty()) dmask[mask_place(head, i, j)] += ds;
        for (Index f = 0; f < s.head_size; ++f) {
          const std::size_t query = place(head, s.queries, i, s.head_size, f);
          const std::size_t key = place(head, s.keys, j, s.head_size, f);
          dq[query] += rounded(ds * double{scale}) * rounded(double{k[key]});
          dk[key] += rounded(ds * double{scale}) * rounded(double{q[query]});
        }
      }
    }
    for (const auto& more : {dq, dk, dv, dmask}) y.insert(y.end(), more.begin(), more.end());
    return y;
  }
};

void check(const Heads& heads, const Kernels& kernels) {
  const AttentionShape& s = heads.shape;
  CAPTURE(s.count, s.queries, s.keys, s.head_size, s.v_head_size, s.masks, s.interleaved,
          heads.hidden);
  ThreadPool one(1), three(3);
  const auto result = heads.run(one, kernels);
  // A number in the middle between two of bfloat16 may be rounded to either.
  CHECK(worst_error(result, heads.expected()) < 5e-4);
  CHECK(same_bits(heads.run(three, kernels), result));
}

}  // namespace

TEST_CASE("attention with rounded factors follows its definition") {
  const Kernels* kernels = each_lower_kernels();
  if (kernels == nullptr) return;
  // Windows of an image, a class token more, few keys, heads of odd sizes, more rows than a tile.
  check(Heads({.count = 6, .queries = 49, .keys = 49, .head_size = 32, .v_head_size = 32}),
        *kernels);
  check(Heads({.count = 4,
               .queries = 65,
               .keys = 65,
               .head_size = 64,
               .v_head_size = 64,
               .interleaved = 4}),
        *kernels);
  check(Heads({.count = 2, .queries = 17, .keys = 16, .head_size = 16, .v_head_size = 48}),
        *kernels);
  check(Heads({.count = 2, .queries = 33, .keys = 140, .head_size = 45, .v_head_size = 19}),
        *kernels);
  check(Heads({.count = 2, .queries = 300, .keys = 261, .head_size = 40, .v_head_size = 33}),
        *kernels);
}

TEST_CASE("attention with rounded factors adds masks and gives their gradients") {
  const Kernels* kernels = each_lower_kernels();
  if (kernels == nullptr) return;
  for (const bool per_query : {true, false}) {
    check(Heads({.count = 12,
                 .queries = 49,
                 .keys = 49,
                 .head_size = 32,
                 .v_head_size = 32,
                 .masks = 6,
                 .mask_per_query = per_query,
                 .interleaved = 3}),
          *kernels);
  }
}

TEST_CASE("attention with rounded factors passes over hidden keys, from any key on") {
  const Kernels* kernels = each_lower_kernels();
  if (kernels == nullptr) return;
  for (const double hidden : {-1e9, -std::numeric_limits<double>::infinity()}) {
    check(Heads({.count = 4,
                 .queries = 200,
                 .keys = 200,
                 .head_size = 32,
                 .v_head_size = 32,
                 .masks = 1,
                 .mask_per_query = true,
                 .interleaved = 2},
                hidden),
          *kernels);
  }
  Heads last({.count = 2,
              .queries = 70,
              .keys = 230,
              .head_size = 32,
              .v_head_size = 16,
              .masks = 1,
              .mask_per_query = false});
  std::fill_n(last.mask.begin(), 140, -1e9F);  // 166 is where the last three blocks of keys begin
  check(last, *kernels);
}

TEST_CASE("a query whose weights are NaN spoils no other one") {
  const Kernels* kernels = each_lower_kernels();
  if (kernels == nullptr) return;
  const Heads plain({.count = 2, .queries = 49, .keys = 49, .head_size = 32, .v_head_size = 32});
  Heads spoiled = plain;
  spoiled.q[at(plain.shape.offset(1, 49, 7, 32))] = std::numeric_limits<float>::quiet_NaN();
  ThreadPool pool(1);
  const auto wanted = plain.run(pool, *kernels);
  const auto got = spoiled.run(pool, *kernels);
  for (Index i = 0; i < 2 * 49 * 32; ++i) {
    const bool own = i / 32 == 49 + 7;
    if (std::isnan(got[at(i)]) != own) FAIL("element " << i);
    if (!own && got[at(i)] != wanted[at(i)]) FAIL("element " << i);
  }
}

TEST_CASE("attention rounds its factors where it has enough of everything and they are not large") {
  const Kernels* kernels = each_lower_kernels();
  if (kernels == nullptr) return;
  const AttentionShape shape{
      .count = 1, .queries = 16, .keys = 16, .head_size = 16, .v_head_size = 16};
  const auto with = [&](auto member, auto value) {
    AttentionShape other = shape;
    other.*member = value;
    return RoundedHeads::takes(other, *kernels);
  };
  CHECK(RoundedHeads::takes(shape, *kernels));
  CHECK(!RoundedHeads::takes(shape, *kernels_for(Isa::baseline)));
  for (const auto member : {&AttentionShape::queries, &AttentionShape::keys,
                            &AttentionShape::head_size, &AttentionShape::v_head_size}) {
    CHECK(!with(member, Index{15}));
    CHECK(with(member, Index{1} << 14));
    CHECK(!with(member, (Index{1} << 14) + 1));
  }
  CHECK(!with(&AttentionShape::key_rows, false));
}
