#include "kernels/simd/attention/attention_rows_table.h"

#include <limits>

#include "core/float_formats.h"
#include "tests/kernels/common/lower_kernels.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

constexpr float inf = std::numeric_limits<float>::infinity();

struct Row {
  std::vector<float> values;
  std::vector<std::uint16_t> rounded;
};

AttentionRows rows_of(Row& row, std::int64_t n, float scale) {
  return {.count = 1,
          .n = n,
          .scale = scale,
          .values = row.values.data(),
          .step = n,
          .rounded = row.rounded.data(),
          .rounded_step = 0,
          .padded = (n + 31) / 32 * 32};
}

Row row_of(const std::vector<float>& values) {
  return {values, std::vector<std::uint16_t>((values.size() + 31) / 32 * 32 + 1, 0xabcd)};
}

// `body(row)` computes a row; what is rounded has the bits of the values times `scale`, then zeros.
template <class Body>
Row run(const std::vector<float>& values, float scale, Body&& body) {
  Row row = row_of(values);
  body(row);
  CHECK(row.rounded.back() == 0xabcd);
  for (std::size_t i = 0; i + 1 < row.rounded.size(); ++i) {
    const float value = i < values.size() ? row.values[i] * scale : 0.0F;
    if (row.rounded[i] != to_bfloat16(value).bits && !std::isnan(value)) FAIL("element " << i);
  }
  return row;
}

constexpr std::int64_t lengths[] = {1, 7, 16, 17, 32, 49, 64, 65, 80, 97, 128, 129, 200, 257, 303};

}  // namespace

TEST_CASE("weights of attention are the softmax of scaled scores and a mask") {
  const SimdTables* kernels = each_lower_kernels();
  if (kernels == nullptr) return;
  Numbers numbers(3);
  for (const std::int64_t n : lengths) {
    CAPTURE(n);
    const auto scores = numbers.row<float>(n);
    auto mask = numbers.row<float>(n);
    mask[0] = n > 1 ? -inf : 0;
    for (const bool masked : {true, false}) {
      std::vector<double> wanted;
      double sum = 0;
      for (std::size_t i = 0; i < scores.size(); ++i) {
        wanted.push_back(std::exp(double{scores[i]} * 3 + (masked ? double{mask[i]} : 0)));
        sum += wanted.back();
      }
      for (double& x : wanted) x /= sum;
      const auto weights = [&](Row& to, bool keep) {
        kernels->attention_rows->weights(rows_of(to, n, 3), masked ? mask.data() : nullptr, 0,
                                         keep);
      };
      const Row row = run(scores, 1, [&](Row& to) { weights(to, true); });
      CHECK(worst_error(row.values, wanted) < 1e-6);
      Row lost = row_of(scores);
      weights(lost, false);
      CHECK(lost.rounded == row.rounded);
    }
  }
}

TEST_CASE("weights that are nothing beside the largest are 0, and those of no key NaN") {
  const SimdTables* kernels = each_lower_kernels();
  if (kernels == nullptr) return;
  for (const std::int64_t n : lengths) {
    if (n < 3) continue;
    CAPTURE(n);
    std::vector<float> scores(static_cast<std::size_t>(n), -100);
    scores[1] = 0;
    scores[2] = -60;
    const auto weights = [&](const float* mask) {
      return run(scores, 1, [&](Row& row) {
        kernels->attention_rows->weights(rows_of(row, n, 1), mask, 0, true);
      });
    };
    const Row row = weights(nullptr);
    CHECK(row.values[1] == 1.0F);
    CHECK(row.values[2] > 8e-27F);
    CHECK(row.values[0] == 0.0F);
    CHECK(std::count(row.values.begin(), row.values.end(), 0.0F) == n - 2);
    const std::vector<float> nothing(scores.size(), -inf);
    const Row none = weights(nothing.data());
    CHECK(std::isnan(none.values[0]));
    CHECK(std::isnan(none.values.back()));
  }
}

TEST_CASE("derivatives of scores follow the definition of the softmax") {
  const SimdTables* kernels = each_lower_kernels();
  if (kernels == nullptr) return;
  Numbers numbers(4);
  for (const std::int64_t n : lengths) {
    CAPTURE(n);
    auto weights = numbers.row<float>(n);
    const auto dy = numbers.row<float>(n);
    const auto gradient = [&](const std::vector<float>& from) {
      return run(from, 0.5F, [&](Row& row) {
        kernels->attention_rows->gradient(rows_of(row, n, 0.5F), weights.data());
      });
    };
    double product = 0;
    for (std::size_t i = 0; i < dy.size(); ++i) product += double{weights[i]} * double{dy[i]};
    std::vector<double> wanted;
    for (std::size_t i = 0; i < dy.size(); ++i) {
      wanted.push_back(double{weights[i]} * (double{dy[i]} - product));
    }
    CHECK(worst_error(gradient(dy).values, wanted) < 2e-6);
    weights[static_cast<std::size_t>(n / 2)] = std::numeric_limits<float>::quiet_NaN();
    CHECK(std::isnan(gradient(dy).values[0]));
    const std::vector<float> nothing(dy.size(), 0);
    CHECK(gradient(nothing).values == nothing);
  }
}

TEST_CASE("rows of attention that are computed together have the bits of single ones") {
  const SimdTables* kernels = each_lower_kernels();
  if (kernels == nullptr) return;
  Numbers numbers(5);
  for (const std::int64_t n : lengths) {
    CAPTURE(n);
    constexpr std::int64_t count = 5;
    const std::int64_t step = n + 3, mask_step = n + 1, padded = (n + 31) / 32 * 32;
    const std::int64_t rounded_step = padded + 2;
    const auto values = numbers.row<float>(count * step);
    const auto mask = numbers.row<float>(count * mask_step);
    const auto weights = numbers.row<float>(count * step);
    for (const bool gradient : {false, true}) {
      const auto run_rows = [&](std::int64_t first, std::int64_t rows, Row& to) {
        const AttentionRows call{.count = rows,
                                 .n = n,
                                 .scale = 0.5F,
                                 .values = to.values.data() + first * step,
                                 .step = step,
                                 .rounded = to.rounded.data() + first * rounded_step,
                                 .rounded_step = rounded_step,
                                 .padded = padded};
        if (gradient) return kernels->attention_rows->gradient(call, weights.data() + first * step);
        kernels->attention_rows->weights(call, mask.data() + first * mask_step, mask_step, true);
      };
      const std::vector<std::uint16_t> empty(static_cast<std::size_t>(count * rounded_step),
                                             0xabcd);
      Row together{values, empty}, apart{values, empty};
      run_rows(0, count, together);
      for (std::int64_t i = 0; i < count; ++i) run_rows(i, 1, apart);
      CHECK(together.values == apart.values);
      CHECK(together.rounded == apart.rounded);
      CHECK(together.rounded.back() == 0xabcd);
    }
  }
}
