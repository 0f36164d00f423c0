// Attention whose products round their factors to bfloat16.
#include "kernels/attention/rounded_heads.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/float_formats.h"
#include "kernels/attention/attention_primitive.h"
#include "tests/kernels/attention/attention_definition.h"
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

struct Heads : AttentionHeads<float> {
  double hidden;  // the mask of keys after a query; 0: none are hidden
  std::vector<Index> heads;
  bool zero_rows = false;

  explicit Heads(const AttentionShape& s, double hidden_keys = 0)
      : AttentionHeads<float>(s, 0.25F, rounded), hidden(hidden_keys), heads(at(s.count)) {
    const Index mask_elements = s.keys * (s.mask_per_query ? s.queries : 1);
    mask = numbers.row<float>(s.masks * mask_elements);
    for (Index i = 0; hidden != 0 && i < static_cast<Index>(mask.size()); ++i) {
      if (i % s.keys > i / s.keys % s.queries) mask[at(i)] = static_cast<float>(hidden);
    }
    for (Index head = 0; head < s.count; ++head) {
      offsets.push_back(s.masks > 0 ? head % s.masks * mask_elements : 0);
    }
    std::iota(heads.begin(), heads.end(), 0);
    std::ranges::stable_sort(heads, {}, [&](Index head) { return offsets[at(head)]; });
  }

  // y, dq, dk, dv and dmask.
  std::vector<float> run(ThreadPool& pool, const SimdTables& kernels) const {
    const bool trains = !mask.empty();
    const AttentionPrimitive<float> primitive(shape, pool.threads(), kernels, trains);
    REQUIRE(primitive.name() == "tiled_bf16");
    Scratch scratch(primitive.workspace());
    const Workspace work = scratch;
    std::memset(work.data, 0xff, work.bytes);  // NaN
    std::vector<float> y(dy.size()), dq(q.size()), dk(k.size()), dv(v.size()), dmask(mask.size());
    const AttentionScores<float> scores{scale, trains ? mask.data() : nullptr, offsets.data(),
                                        heads.data(), zero_rows};
    primitive.run(pool, scores, {q.data(), k.data(), v.data()}, y.data(), work.data);
    primitive.run_gradient(pool, scores, {q.data(), k.data(), v.data()}, dy.data(),
                           {dq.data(), dk.data(), dv.data(), trains ? dmask.data() : nullptr},
                           work.data);
    CHECK(scratch.intact());
    for (const auto& more : {dq, dk, dv, dmask}) y.insert(y.end(), more.begin(), more.end());
    return y;
  }

  // Results of run() with q, k and v, of equal shapes, as parts of one operand, in bfloat16 if
  // `narrow`; without dmask.
  std::vector<float> run_packed(ThreadPool& pool, const SimdTables& kernels, bool narrow) const {
    AttentionShape packed = shape;
    packed.packed = 3;
    const AttentionPrimitive<float> primitive(packed, pool.threads(), kernels);
    REQUIRE(AttentionPrimitive<float>::takes_bf16(packed, kernels));
    const Index row = shape.interleaved * shape.head_size;
    const auto size = static_cast<Index>(q.size());
    std::vector<float> wide(at(3 * size));
    for (Index i = 0; i < size; ++i) {
      float* const to = wide.data() + i / row * 3 * row + i % row;
      to[0] = q[at(i)];
      to[row] = k[at(i)];
      to[2 * row] = v[at(i)];
    }
    std::vector<bfloat16> rounds(wide.size());
    std::ranges::transform(wide, rounds.begin(), to_bfloat16);
    Elements<const float> first = wide.data();
    if (narrow) first = rounds.data();
    const AttentionOperands<float> operands{first, first + row, first + 2 * row};
    std::vector<float> y(dy.size()), derivatives(wide.size());
    float* const dq = derivatives.data();
    const AttentionScores<float> scores{scale, mask.empty() ? nullptr : mask.data(), offsets.data(),
                                        heads.data()};
    Scratch scratch(primitive.workspace());
    const Workspace work = scratch;
    primitive.run(pool, scores, operands, y.data(), work.data);
    primitive.run_gradient(pool, scores, operands, dy.data(), {dq, dq + row, dq + 2 * row, nullptr},
                           work.data);
    CHECK(scratch.intact());
    for (Index part = 0; part < 3; ++part) {
      for (Index i = 0; i < size; ++i) y.push_back(dq[i / row * 3 * row + part * row + i % row]);
    }
    return y;
  }
};

void check(const Heads& heads, const SimdTables& kernels) {
  const AttentionShape& s = heads.shape;
  CAPTURE(s.count, s.queries, s.keys, s.head_size, s.v_head_size, s.masks, s.interleaved,
          heads.hidden);
  ThreadPool one(1), three(3);
  const auto result = heads.run(one, kernels);
  // A number in the middle between two of bfloat16 may be rounded to either.
  CHECK(worst_error(result, heads.expected(!heads.mask.empty())) < 5e-4);
  CHECK(same_bits(heads.run(three, kernels), result));
}

}  // namespace

TEST_CASE("attention with rounded factors follows its definition") {
  const SimdTables* kernels = each_lower_kernels();
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
  const SimdTables* kernels = each_lower_kernels();
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
  const SimdTables* kernels = each_lower_kernels();
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

TEST_CASE("attention with rounded factors reads parts of one operand, with the same bits") {
  const SimdTables* kernels = each_lower_kernels();
  if (kernels == nullptr) return;
  const AttentionShape plain{
      .count = 6, .queries = 49, .keys = 49, .head_size = 32, .v_head_size = 32, .interleaved = 3};
  const AttentionShape causal{.count = 4,
                              .queries = 200,
                              .keys = 200,
                              .head_size = 33,
                              .v_head_size = 33,
                              .masks = 1,
                              .mask_per_query = true,
                              .interleaved = 2};
  for (const AttentionShape& shape : {plain, causal}) {
    Heads heads(shape, shape.masks > 0 ? -1e9 : 0);
    for (auto* operand : {&heads.q, &heads.k, &heads.v}) {
      for (float& x : *operand) x = to_float(to_bfloat16(x));
    }
    ThreadPool one(1), three(3);
    auto wanted = heads.run(one, *kernels);
    wanted.resize(wanted.size() - heads.mask.size());
    for (const bool narrow : {false, true}) {
      CHECK(same_bits(heads.run_packed(one, *kernels, narrow), wanted));
      CHECK(same_bits(heads.run_packed(three, *kernels, narrow), wanted));
    }
  }
}

TEST_CASE("a query whose weights are NaN spoils no other one") {
  const SimdTables* kernels = each_lower_kernels();
  if (kernels == nullptr) return;
  const Heads plain({.count = 2, .queries = 49, .keys = 49, .head_size = 32, .v_head_size = 32});
  Heads spoiled = plain;
  spoiled.q[plain.place(1, 49, 7, 32, 0)] = std::numeric_limits<float>::quiet_NaN();
  ThreadPool pool(1);
  const auto wanted = plain.run(pool, *kernels);
  const auto got = spoiled.run(pool, *kernels);
  for (Index i = 0; i < 2 * 49 * 32; ++i) {
    const bool own = i / 32 == 49 + 7;
    if (std::isnan(got[at(i)]) != own) FAIL("element " << i);
    if (!own && got[at(i)] != wanted[at(i)]) FAIL("element " << i);
  }
}

TEST_CASE("a query without a key gives 0 and adds nothing to derivatives with zero_rows") {
  const SimdTables* kernels = each_lower_kernels();
  if (kernels == nullptr) return;
  Heads hidden({.count = 2,
                .queries = 49,
                .keys = 49,
                .head_size = 32,
                .v_head_size = 32,
                .masks = 1,
                .mask_per_query = true});
  std::fill_n(hidden.mask.data() + 7 * 49, 49, -std::numeric_limits<float>::infinity());
  ThreadPool pool(1);
  for (const bool zero_rows : {true, false}) {
    hidden.zero_rows = zero_rows;
    const auto got = hidden.run(pool, *kernels);
    for (Index i = 0; i < 2 * 49 * 32; ++i) {
      const bool own = i / 32 % 49 == 7;
      if (own && (zero_rows ? got[at(i)] != 0 : !std::isnan(got[at(i)]))) FAIL("element " << i);
    }
    const auto finite = [](float x) { return std::isfinite(x); };
    CHECK(std::ranges::all_of(got, finite) == zero_rows);
  }
}

TEST_CASE("attention rounds its factors where it has enough of everything and they are not large") {
  const SimdTables* kernels = each_lower_kernels();
  if (kernels == nullptr) return;
  const AttentionShape shape{
      .count = 1, .queries = 16, .keys = 16, .head_size = 16, .v_head_size = 16};
  const auto with = [&](auto member, auto value) {
    AttentionShape other = shape;
    other.*member = value;
    return RoundedHeads::takes(other, *kernels);
  };
  CHECK(RoundedHeads::takes(shape, *kernels));
  CHECK(!RoundedHeads::takes(shape, *simd_tables_for(Isa::baseline)));
  for (const auto member : {&AttentionShape::queries, &AttentionShape::keys,
                            &AttentionShape::head_size, &AttentionShape::v_head_size}) {
    CHECK(!with(member, Index{15}));
    CHECK(with(member, Index{1} << 14));
    CHECK(!with(member, (Index{1} << 14) + 1));
  }
  CHECK(!with(&AttentionShape::key_rows, false));
}
