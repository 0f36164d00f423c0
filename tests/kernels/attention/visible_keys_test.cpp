#include "kernels/attention/visible_keys.h"

#include <functional>
#include <limits>

#include "kernels/attention/attention_primitive.h"
#include "tests/kernels/attention/attention_definition.h"
#include "tests/kernels/common/row_test.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

using Index = std::int64_t;
constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double lowest = static_cast<double>(std::numeric_limits<float>::lowest());

std::size_t at(Index i) { return static_cast<std::size_t>(i); }

// The mask of query i and key j.
using Mask = std::function<double(Index, Index)>;

Mask causal(double hidden) {
  return [=](Index i, Index j) { return j <= i ? 0.0 : hidden; };
}

template <class T>
struct Masked : AttentionHeads<T> {
  using AttentionHeads<T>::shape, AttentionHeads<T>::scale, AttentionHeads<T>::q,
      AttentionHeads<T>::k, AttentionHeads<T>::v, AttentionHeads<T>::dy, AttentionHeads<T>::mask,
      AttentionHeads<T>::offsets;

  Masked(Index queries, Index keys, const Mask& element, bool key_rows = true, bool one_row = false)
      : AttentionHeads<T>({3, queries, keys, 20, 17, key_rows, 1, !one_row}, T{0.5}) {
    for (Index i = 0; i < (one_row ? 1 : queries); ++i) {
      for (Index j = 0; j < keys; ++j) mask.push_back(static_cast<T>(element(i, j)));
    }
    offsets.assign(at(shape.count), 0);
  }

  AttentionScores<T> scores() const { return {scale, mask.data(), offsets.data()}; }
  AttentionOperands<T> operands() const { return {q.data(), k.data(), v.data()}; }

  // y, dq, dk and dv.
  std::vector<T> run(ThreadPool& pool, const SimdTables& kernels) const {
    const AttentionPrimitive<T> primitive(shape, pool.threads(), kernels);
    Scratch scratch(primitive.workspace());
    const Workspace work = scratch;
    std::vector<T> y(dy.size(), T{7}), dq(q.size(), T{7}), dk(k.size(), T{7}), dv(v.size(), T{7});
    primitive.run(pool, scores(), operands(), y.data(), work.data);
    primitive.run_gradient(pool, scores(), operands(), dy.data(), {dq.data(), dk.data(), dv.data()},
                           work.data);
    CHECK(scratch.intact());
    for (const auto& more : {dq, dk, dv}) y.insert(y.end(), more.begin(), more.end());
    return y;
  }

  // Expected results of run().
  std::vector<double> expected() const { return AttentionHeads<T>::expected(false); }

  // Range of keys that each tile of a head sees; nothing if no keys are hidden.
  std::vector<std::pair<Index, Index>> ranges(Index head = 0) const {
    Scratch scratch(VisibleKeys<T>::bytes(shape));
    const Workspace work = scratch;
    const auto masked = scores();
    VisibleKeys<T> visible(shape, masked, simd_tables(), work.data);
    ThreadPool pool(2);
    std::vector<std::pair<Index, Index>> all;
    if (!visible.find(pool, operands(), dy.data()) || !visible.hides(head)) return all;
    const Index rows = VisibleKeys<T>::tile_rows(shape);
    for (Index tile = 0; tile * rows < shape.queries; ++tile) {
      const KeyRange range = visible.range(head, tile);
      all.emplace_back(range.begin, range.begin + range.size);
    }
    CHECK(scratch.intact());
    return all;
  }
};

using Ranges = std::vector<std::pair<Index, Index>>;

// NaN where NaN is due.
template <class T>
bool same_but_for_nan(const std::vector<T>& a, const std::vector<double>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) != std::isnan(b[i])) return false;
    if (!std::isnan(b[i]) && std::abs(static_cast<double>(a[i]) - b[i]) > 1e-4) return false;
  }
  return a.size() == b.size();
}

}  // namespace

TEMPLATE_TEST_CASE("attention under masks follows its definition", "", float, double) {
  using T = TestType;
  Numbers random(5);
  const std::vector<std::pair<std::string, Mask>> masks = {
      {"causal, -inf", causal(-infinity)},
      {"causal, lowest", causal(lowest)},
      {"causal, -1e9", causal(-1e9)},
      {"causal, -1e4", causal(-1e4)},
      {"causal, -20, which hides nothing", causal(-20)},
      {"window", [](Index i, Index j) { return j <= i && j + 70 > i ? 0.0 : -1e9; }},
      {"looks ahead", [](Index i, Index j) { return j >= i ? 0.0 : lowest; }},
      {"padding and bias", [](Index i, Index j) { return j < 60 ? 0.01 * double(i % 7) : -1e9; }},
      {"bias falling with distance",
       [](Index i, Index j) { return j <= i ? -2.0 * double(i - j) : lowest; }},
      {"queries that see nothing",
       [](Index i, Index j) { return j <= i && i % 100 != 3 ? 0.0 : lowest; }}};
  for (const auto& [name, mask] : masks) {
    for (const auto& [queries, keys] :
         {std::pair<Index, Index>{256, 256}, {70, 150}, {200, 130}, {3, 200}}) {
      for (const bool key_rows : {true, false}) {
        INFO(name << ", " << queries << " x " << keys << ", rows of keys " << key_rows);
        const Masked<T> m(queries, keys, mask, key_rows);
        check<T>(m.expected(), sizeof(T) == 4 ? 2e-5 : 1e-12,
                 [&](ThreadPool& pool, const SimdTables& kernels) { return m.run(pool, kernels); });
      }
    }
  }
  for (const double hidden : {-1e9, -1e4, 0.0}) {
    for (const auto& [queries, keys] : {std::pair<Index, Index>{256, 256}, {200, 230}, {70, 130}}) {
      INFO("interleaved heads, " << hidden << ", " << queries << " x " << keys);
      Masked<T> m(queries, keys, causal(hidden));
      m.shape.interleaved = m.shape.count;
      check<T>(m.expected(), sizeof(T) == 4 ? 2e-5 : 1e-12,
               [&](ThreadPool& pool, const SimdTables& kernels) { return m.run(pool, kernels); });
    }
  }
  const Masked<T> padded(
      130, 300, [](Index, Index j) { return j < 120 ? 0.0 : -1e9; }, true, true);
  check<T>(padded.expected(), sizeof(T) == 4 ? 2e-5 : 1e-12,
           [&](ThreadPool& pool, const SimdTables& kernels) { return padded.run(pool, kernels); });
  const Masked<T> noise(200, 256,
                        [&](Index, Index) { return random.next() < 0 ? -infinity : 0.0; });
  check<T>(noise.expected(), sizeof(T) == 4 ? 2e-5 : 1e-12,
           [&](ThreadPool& pool, const SimdTables& kernels) { return noise.run(pool, kernels); });
}

TEST_CASE("attention in bfloat16 passes over keys with the same bits for any number of threads") {
  const SimdTables& kernels = math::simd_tables(Precision::bfloat16);
  for (const Index keys : {Index{256}, Index{230}}) {
    const Masked<float> m(keys, keys, causal(-1e9), false);
    ThreadPool one(1), two(2), three(3);
    const auto y = m.run(one, kernels);
    CHECK(worst_error(y, m.expected()) < 0.02);
    CHECK(same_bits(m.run(two, kernels), y));
    CHECK(same_bits(m.run(three, kernels), y));
  }
}

TEST_CASE("tiles of queries see what their mask shows, in blocks of keys") {
  const Ranges steps = {{0, 64}, {0, 128}, {0, 192}, {0, 256}};
  for (const double hidden : {-infinity, lowest, -1e9, -1e4, -200.0}) {
    INFO(hidden);
    CHECK(Masked<float>(256, 256, causal(hidden)).ranges() == steps);
    CHECK(Masked<double>(256, 256, causal(hidden > -1e3 ? -1e3 : hidden)).ranges() == steps);
  }
  const auto window = [](Index i, Index j) { return j <= i && j + 64 > i ? 0.0 : -1e9; };
  CHECK(Masked<float>(256, 256, window).ranges() ==
        Ranges{{0, 64}, {0, 128}, {64, 192}, {128, 256}});
  // The last block of keys is not whole.
  CHECK(Masked<float>(200, 200, [](Index, Index j) { return j >= 128 ? 0.0 : -1e9; }).ranges() ==
        Ranges{{72, 200}, {72, 200}, {72, 200}, {72, 200}});
  const auto padding = [](Index, Index j) { return j < 100 ? 0.0 : -1e9; };
  CHECK(Masked<float>(130, 300, padding, true, true).ranges() ==
        Ranges{{0, 128}, {0, 128}, {0, 128}});
}

TEST_CASE("keys stay in sight where their weights might not be 0") {
  // Differences that the scores, at most 10 here, might make up for.
  CHECK(Masked<float>(256, 256, causal(-110)).ranges().empty());
  CHECK(Masked<double>(256, 256, causal(-740)).ranges().empty());
  CHECK(Masked<float>(256, 256, [](Index i, Index j) { return 0.1 * double(j - i); })
            .ranges()
            .empty());
  // A query whose scores are all far below has equal weights.
  const auto blind = [](Index i, Index j) { return j <= i && i != 70 ? 0.0 : lowest; };
  CHECK(Masked<float>(256, 256, blind).ranges() == Ranges{{0, 64}, {0, 256}, {0, 192}, {0, 256}});
  // Too little to be worth it.
  CHECK(Masked<float>(256, 256, [](Index i, Index j) { return i < 64 && j >= 192 ? -1e9 : 0.0; })
            .ranges()
            .empty());
}

TEST_CASE("what is not finite is NaN where it was, behind a mask too") {
  constexpr float nan = std::numeric_limits<float>::quiet_NaN();
  constexpr float inf = std::numeric_limits<float>::infinity();
  const Masked<float> plain(128, 200, causal(-1e9));
  for (const float value : {nan, inf}) {
    for (const auto part : {&Masked<float>::q, &Masked<float>::k, &Masked<float>::v,
                            &Masked<float>::dy, &Masked<float>::mask}) {
      Masked<float> m = plain;
      (m.*part)[(m.*part).size() - 3] = value;
      const bool of_mask = part == &Masked<float>::mask;
      CHECK(m.ranges(of_mask ? 0 : 2).size() == (of_mask ? 2 : 0));
      ThreadPool pool(2);
      CHECK(same_but_for_nan(m.run(pool, simd_tables()), m.expected()));
    }
  }
  Masked<float> m(128, 200, causal(-infinity));
  std::fill_n(m.mask.begin() + 5 * 200, 200, -inf);
  ThreadPool pool(2);
  CHECK(same_but_for_nan(m.run(pool, simd_tables()), m.expected()));
}

TEST_CASE("each head has the mask that its offset names") {
  Masked<float> m(256, 256, causal(-1e9));
  m.shape.masks = 2;
  m.mask.resize(2 * m.mask.size());  // the second shows everything
  m.offsets = {256 * 256, 0, 256 * 256};
  CHECK(m.ranges(0).empty());
  CHECK(m.ranges(1).size() == 4);
  Masked<float> open(256, 256, [](Index, Index) { return 0.0; });
  Masked<float> closed(256, 256, causal(-1e9));
  auto want = open.expected();
  const auto other = closed.expected();
  const auto copy_head = [&](std::size_t first, std::size_t size) {
    std::copy_n(other.begin() + static_cast<std::ptrdiff_t>(first + size), size,
                want.begin() + static_cast<std::ptrdiff_t>(first + size));
  };
  std::size_t first = 0;
  for (const auto* part : {&m.dy, &m.q, &m.k, &m.v}) {
    copy_head(first, part->size() / 3);
    first += part->size();
  }
  ThreadPool pool(2);
  CHECK(worst_error(m.run(pool, simd_tables()), want) < 2e-5);
}
