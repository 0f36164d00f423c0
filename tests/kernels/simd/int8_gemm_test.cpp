#include "kernels/simd/matmul/int8_gemm_table.h"

#include <algorithm>
#include <tuple>

#include "kernels/simd/tables.h"
#include "tests/kernels/common/math_test.h"

using namespace ondine::math;

namespace {

using Index = std::int64_t;

std::vector<std::uint8_t> bytes(Index n, std::uint64_t seed) {
  test::Numbers numbers(seed);
  std::vector<std::uint8_t> result(static_cast<std::size_t>(n));
  for (auto& x : result) x = static_cast<std::uint8_t>(static_cast<int>(numbers.next() * 1024));
  return result;
}

std::vector<const Int8GemmKernels*> every_implementation() {
  std::vector<const Int8GemmKernels*> all;
  for (const SimdTables* kernels : test::all_kernels()) {
    const Int8GemmList list = int8_gemm_implementations(*kernels);
    all.push_back(list.first);
    if (list.second != nullptr) all.push_back(list.second);
  }
  return all;
}

// Element (p, j) of B, seen as unsigned.
int element(const std::vector<std::uint8_t>& b, Index at, std::uint8_t flip) {
  const int raw = b[static_cast<std::size_t>(at)];
  if (flip == 0) return raw;
  return (raw < 128 ? raw : raw - 256) + 128;  // a signed number, 128 more
}

enum class Stored { by_rows, by_columns, in_rows };

void check_product(const Int8GemmKernels& gemm, Index m, Index n, Index k, Stored stored,
                   std::uint8_t flip) {
  INFO(gemm.isa << " " << gemm.name << ": " << m << " x " << n << " x " << k);
  const Index first = 3;  // columns of B that are left out
  const auto a = bytes(m * k, 1);
  const auto b = bytes(k * (n + first), 2);
  const bool columns = stored == Stored::by_columns;
  const auto at = [&](Index p, Index j) { return columns ? j * k + p : p * (n + first) + j; };
  const Index width = (n + gemm.nr - 1) / gemm.nr * gemm.nr;
  const test::Scratch panels(static_cast<std::size_t>(gemm.packed_bytes(k, n)));
  auto* const packed = static_cast<std::byte*>(Workspace(panels).data);
  if (stored == Stored::in_rows) {
    std::vector<const std::uint8_t*> rows;
    for (Index p = 0; p < k; ++p) rows.push_back(b.data() + at(p, 0));
    gemm.pack_rows(packed, rows.data(), first, k, n, flip);
  } else {
    gemm.pack_b(packed, b.data() + at(0, first), columns ? 1 : n + first, columns ? k : 1, k, n,
                flip);
  }
  CHECK(panels.intact());
  const test::Scratch sums(static_cast<std::size_t>(m * width) * 4);
  auto* const c = static_cast<std::int32_t*>(Workspace(sums).data);
  gemm.run({m, n, k, reinterpret_cast<const std::int8_t*>(a.data()), k, packed, c, width});
  CHECK(sums.intact());
  bool equal = true;
  for (Index i = 0; i < m; ++i) {
    for (Index j = 0; j < n; ++j) {
      Index sum = 0;
      for (Index p = 0; p < k; ++p) {
        const int left = static_cast<std::int8_t>(a[static_cast<std::size_t>(i * k + p)]);
        sum += left * element(b, at(p, j + first), flip);
      }
      equal = equal && sum == c[i * width + j];
    }
  }
  CHECK(equal);
}

}  // namespace

TEST_CASE("products of 8-bit integers are exact in every implementation") {
  for (const Int8GemmKernels* gemm : every_implementation()) {
    for (const std::uint8_t flip : {std::uint8_t{0}, std::uint8_t{0x80}}) {
      for (const Stored stored : {Stored::by_rows, Stored::by_columns, Stored::in_rows}) {
        for (const Index k : {1, 2, 3, 4, 5, 7, 64, 131}) {
          check_product(*gemm, 5, 37, k, stored, flip);
        }
        for (const Index n : {1, 15, 16, 17, 32, 33, 64, 70}) {
          check_product(*gemm, 7, n, 9, stored, flip);
        }
        for (const Index m : {1, 4, 11, 12, 13, 25, 40}) {
          check_product(*gemm, m, 20, 10, stored, flip);
        }
      }
    }
  }
}

TEST_CASE("products of 8-bit integers are quantized as their sums would be, and no more columns") {
  for (const Int8GemmKernels* gemm : every_implementation()) {
    for (const auto& [m, n, k] : {std::tuple<Index, Index, Index>{1, 1, 4},
                                  {13, 37, 40},
                                  {25, 64, 7},
                                  {12, 33, 64},
                                  {5, 16, 12}}) {
      INFO(gemm->isa << " " << gemm->name << ": " << m << " x " << n << " x " << k);
      const auto a = bytes(m * k, 1);
      const auto b = bytes(k * n, 2);
      const test::Scratch panels(static_cast<std::size_t>(gemm->packed_bytes(k, n)));
      auto* const packed = static_cast<std::byte*>(Workspace(panels).data);
      gemm->pack_b(packed, b.data(), n, 1, k, n, 0);
      std::vector<std::int32_t> adds;
      std::vector<float> scales;
      for (Index i = 0; i < m; ++i) {
        adds.push_back(static_cast<std::int32_t>(i * 31 - 200));
        scales.push_back(i == 0 ? 0.5F : 0.0007F * static_cast<float>(i));
      }
      const Index row = n + 3;
      std::vector<std::uint8_t> y(static_cast<std::size_t>(m * row), 77);
      const Int8Quantized to{y.data(), row, adds.data(), scales.data(), -90, 110, 17};
      gemm->run(
          {m, n, k, reinterpret_cast<const std::int8_t*>(a.data()), k, packed, nullptr, 0, &to});
      bool equal = true;
      for (Index i = 0; i < m; ++i) {
        const auto at = static_cast<std::size_t>(i);
        for (Index j = 0; j < row; ++j) {
          std::int32_t sum = adds[at];
          for (Index p = 0; p < k && j < n; ++p) {
            sum += static_cast<std::int8_t>(a[static_cast<std::size_t>(i * k + p)]) *
                   element(b, p * n + j, 0);
          }
          const float v = std::nearbyint(static_cast<float>(sum) * scales[at]);
          const float want = j < n ? std::min(std::max(v, -90.0F), 110.0F) + 17 : 77;
          equal = equal && static_cast<std::int8_t>(y[static_cast<std::size_t>(i * row + j)]) ==
                               static_cast<std::int8_t>(want);
        }
      }
      CHECK(equal);
    }
  }
}

TEST_CASE("the largest products of 8-bit integers do not saturate") {
  for (const Int8GemmKernels* gemm : every_implementation()) {
    INFO(gemm->isa << " " << gemm->name);
    constexpr Index k = 64;
    for (const auto& [left, right] : {std::pair(-128, 255), {127, 255}}) {
      const std::vector<std::int8_t> a(k, static_cast<std::int8_t>(left));
      const std::vector<std::uint8_t> b(k, static_cast<std::uint8_t>(right));
      const test::Scratch panels(static_cast<std::size_t>(gemm->packed_bytes(k, 1)));
      auto* const packed = static_cast<std::byte*>(Workspace(panels).data);
      gemm->pack_b(packed, b.data(), 1, k, k, 1, 0);
      std::vector<std::int32_t> c(static_cast<std::size_t>(gemm->nr));
      gemm->run({1, 1, k, a.data(), k, packed, c.data(), gemm->nr});
      CHECK(c[0] == k * left * right);
    }
  }
}

TEST_CASE("sums of 8-bit integers beyond 32 bits wrap around") {
  const auto wrapped = [](Index sum) { return static_cast<std::int32_t>(sum); };
  for (const Int8GemmKernels* gemm : every_implementation()) {
    INFO(gemm->isa << " " << gemm->name);
    constexpr Index k = 70000, n = 21;
    const std::vector<std::int8_t> a(k, 127);
    const std::vector<std::uint8_t> b(k * n, 255);
    const test::Scratch panels(static_cast<std::size_t>(gemm->packed_bytes(k, n)));
    auto* const packed = static_cast<std::byte*>(Workspace(panels).data);
    gemm->pack_b(packed, b.data(), n, 1, k, n, 0);
    std::vector<std::int32_t> c(static_cast<std::size_t>((n + gemm->nr - 1) / gemm->nr * gemm->nr));
    gemm->run({1, n, k, a.data(), k, packed, c.data(), static_cast<Index>(c.size())});
    c.resize(n);
    CHECK(c == std::vector<std::int32_t>(n, wrapped(k * 127 * 255)));

    const std::vector<const std::uint8_t*> rows(k, b.data());
    const std::vector<std::int32_t> factors(k, -255);
    for (const Index columns : {n, Index{3}}) {
      c.resize(static_cast<std::size_t>(columns));
      gemm->taps(c.data(), factors.data(), rows.data(), 0, k, columns, 0);
      CHECK(c == std::vector<std::int32_t>(c.size(), wrapped(k * -255 * 255)));
    }

    constexpr Index length = (Index{1} << 24) + 300000;
    const std::vector<std::uint8_t> row(length, 127);
    std::vector<std::int8_t> numbers(row.size());
    CHECK(gemm->sign_row(nullptr, row.data(), length, 0) == wrapped(length * 127));
    CHECK(gemm->sign_row(numbers.data(), row.data(), length, 0) == wrapped(length * 127));
  }
}

TEST_CASE("rows of taps, signed rows and scaled rows follow their definitions") {
  for (const Int8GemmKernels* gemm : every_implementation()) {
    for (const std::uint8_t flip : {std::uint8_t{0}, std::uint8_t{0x80}}) {
      for (const Index n : {1, 7, 15, 16, 17, 31, 64, 65, 150}) {
        INFO(gemm->isa << ", " << n);
        constexpr Index k = 9;
        const auto x = bytes(k * (n + 5), 3);
        std::vector<const std::uint8_t*> rows;
        for (Index p = 0; p < k; ++p) rows.push_back(x.data() + p * (n + 5));
        const std::vector<std::int32_t> factors{1, -255, 255, 0, 7, -128, 127, 3, -4};
        const test::Scratch out(static_cast<std::size_t>(n) * 4);
        auto* const c = static_cast<std::int32_t*>(Workspace(out).data);
        gemm->taps(c, factors.data(), rows.data(), 5, k, n, flip);
        CHECK(out.intact());
        std::vector<std::int32_t> want;
        for (Index j = 0; j < n; ++j) {
          Index sum = 0;
          for (Index p = 0; p < k; ++p) {
            sum +=
                Index{factors[static_cast<std::size_t>(p)]} * element(x, p * (n + 5) + 5 + j, flip);
          }
          want.push_back(static_cast<std::int32_t>(sum));
        }
        CHECK(std::vector<std::int32_t>(c, c + n) == want);

        std::vector<std::int8_t> row(static_cast<std::size_t>(n));
        // As signed numbers: 128 less where flip makes unsigned ones signed.
        Index signed_sum = 0;
        for (Index j = 0; j < n; ++j) {
          const int raw = x[static_cast<std::size_t>(j)];
          signed_sum += flip != 0 ? raw - 128 : raw < 128 ? raw : raw - 256;
        }
        CHECK(gemm->sign_row(row.data(), x.data(), n, flip) == signed_sum);
        CHECK(gemm->sign_row(nullptr, x.data(), n, flip) == signed_sum);
        Index from_row = 0;
        for (const std::int8_t each : row) from_row += each;
        CHECK(from_row == signed_sum);

        for (const Index stride : {2, 3}) {
          std::vector<std::uint8_t> every(static_cast<std::size_t>(n), 0);
          gemm->copy_strided(every.data(), x.data() + 1, stride, n);
          bool equal = true;
          for (Index j = 0; j < n; ++j) {
            equal = equal && every[static_cast<std::size_t>(j)] ==
                                 x[static_cast<std::size_t>(1 + j * stride)];
          }
          CHECK(equal);
        }

        gemm->add_scaled(c, -3, want.data(), n);
        for (Index j = 0; j < n; ++j) CHECK(c[j] == -2 * want[static_cast<std::size_t>(j)]);
      }
    }
  }
}
