#include <algorithm>
#include <bit>
#include <cmath>

#include "kernels/simd/quantize/quantize_table.h"
#include "kernels/simd/tables.h"
#include "kernels/simd/vector/convert_table.h"
#include "tests/kernels/common/math_test.h"

using namespace ondine::math;

namespace {

constexpr std::int64_t longest = 75;

std::vector<float> inputs() {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> x{0,      -0.0F, 0.25F, -0.25F, 0.75F,  1.25F,    -1.25F,    1e30F,
                       -1e30F, 64,    -64,   63.75F, 1e-40F, infinity, -infinity, std::nanf("")};
  test::Numbers numbers(4);
  while (static_cast<std::int64_t>(x.size()) < longest) {
    x.push_back(static_cast<float>(numbers.next() * 200));
  }
  return x;
}

double quantum(float x, float scale, float zero, double low, double high) {
  const double v = static_cast<double>(x / scale);
  const double whole = std::isnan(v) ? 0 : std::nearbyint(v);
  return std::min(std::max(whole + static_cast<double>(zero), low), high);
}

}  // namespace

TEST_CASE("rows are quantized to even, saturated, for every instruction set") {
  const auto x = inputs();
  test::Numbers numbers(5);
  std::vector<float> scales, zeros;
  for (std::int64_t i = 0; i < longest; ++i) {
    scales.push_back(static_cast<float>(std::abs(numbers.next())) + 0.01F);
    zeros.push_back(std::nearbyint(static_cast<float>(numbers.next()) * 100));
  }
  scales[0] = zeros[0] = 0.5F;
  zeros[0] = 13;
  for (const SimdTables* kernels : test::all_kernels()) {
    for (const bool each : {false, true}) {
      for (const std::int64_t n : {std::int64_t{1}, std::int64_t{17}, longest}) {
        INFO(isa_name(*kernels) << (each ? ", a scale for each" : "") << ", " << n);
        const QuantizeParameters p{scales.data(), zeros.data(), each};
        std::vector<std::uint8_t> byte(longest, 99);
        std::vector<std::uint16_t> word(longest, 99);
        kernels->quantize->quantize_bytes(byte.data(), x.data(), p, {-128, 127}, n);
        kernels->quantize->quantize_words(word.data(), x.data(), p, {0, 65535}, n);
        for (std::int64_t i = 0; i < n; ++i) {
          const auto at = static_cast<std::size_t>(i);
          const std::size_t k = each ? at : 0;
          INFO(x[at]);
          CHECK(static_cast<std::int8_t>(byte[at]) ==
                quantum(x[at], scales[k], zeros[k], -128, 127));
          CHECK(word[at] == quantum(x[at], scales[k], zeros[k], 0, 65535));
        }
        if (n < longest) {
          CHECK(byte[static_cast<std::size_t>(n)] == 99);
          CHECK(word[static_cast<std::size_t>(n)] == 99);
        }
      }
    }
  }
}

TEST_CASE("rows are dequantized with one rounding, for every instruction set") {
  std::vector<std::int16_t> x;
  std::vector<float> scales, zeros;
  test::Numbers numbers(6);
  for (std::int64_t i = 0; i < longest; ++i) {
    x.push_back(static_cast<std::int16_t>(numbers.next() * 32767));
    scales.push_back(static_cast<float>(numbers.next()));
    zeros.push_back(std::nearbyint(static_cast<float>(numbers.next()) * 32767));
  }
  for (const SimdTables* kernels : test::all_kernels()) {
    for (const bool each : {false, true}) {
      INFO(isa_name(*kernels) << each);
      const QuantizeParameters p{scales.data(), zeros.data(), each};
      std::vector<float> y(longest), z(longest);
      kernels->quantize->dequantize_i16(y.data(), x.data(), p, longest);
      kernels->quantize->dequantize_u8(z.data(), reinterpret_cast<const std::uint8_t*>(x.data()), p,
                                       longest);
      for (std::size_t i = 0; i < y.size(); ++i) {
        const std::size_t k = each ? i : 0;
        const auto value = [&](double q) {
          return static_cast<float>((q - static_cast<double>(zeros[k])) *
                                    static_cast<double>(scales[k]));
        };
        CHECK(y[i] == value(x[i]));
        CHECK(z[i] == value(reinterpret_cast<const std::uint8_t*>(x.data())[i]));
      }
    }
  }
}

TEST_CASE("sums are requantized in float, with the same bits for every instruction set") {
  test::Numbers numbers(7);
  std::vector<std::int32_t> sums{0, 1, -1, 2, 3, -3, 5, 2147483647, -2147483647 - 1};
  std::vector<std::int32_t> columns(longest);
  std::vector<float> scales(longest);
  while (static_cast<std::int64_t>(sums.size()) < longest) {
    sums.push_back(static_cast<std::int32_t>(numbers.next() * 1000));
  }
  for (auto& c : columns) c = static_cast<std::int32_t>(numbers.next() * 100);
  for (auto& s : scales) s = static_cast<float>(numbers.next());
  scales[0] = 0.5;  // ties
  for (const SimdTables* kernels : test::all_kernels()) {
    for (const bool with_columns : {false, true}) {
      for (const bool each : {false, true}) {
        INFO(isa_name(*kernels) << with_columns << each);
        std::vector<std::uint8_t> y(longest);
        kernels->quantize->requantize(
            y.data(), sums.data(),
            {3, with_columns ? columns.data() : nullptr, scales.data(), each, -100, 90, -7},
            longest);
        for (std::size_t i = 0; i < y.size(); ++i) {
          const auto sum = static_cast<std::int32_t>(std::int64_t{sums[i]} + 3 +
                                                     (with_columns ? columns[i] : 0));
          const float v = std::nearbyint(static_cast<float>(sum) * scales[each ? i : 0]);
          CHECK(static_cast<std::int8_t>(y[i]) == std::min(std::max(v, -100.0F), 90.0F) - 7);
        }
      }
    }
  }
}

TEST_CASE(
    "the maxima of rows of bytes, and sums and products of quantized rows, have the same bits "
    "everywhere") {
  test::Numbers numbers(8);
  std::vector<std::vector<std::uint8_t>> x(3, std::vector<std::uint8_t>(200));
  for (auto& row : x) {
    for (auto& each : row) each = static_cast<std::uint8_t>(static_cast<int>(numbers.next() * 999));
  }
  const std::uint8_t* const rows[] = {x[0].data(), x[1].data(), x[2].data()};
  std::vector<std::uint8_t> table(256);
  for (auto& each : table) each = static_cast<std::uint8_t>(static_cast<int>(numbers.next() * 999));
  QuantizedPair pair{0.0423F, 141, 0.0625F, 100, 0x80, 0, 0.0371F, -120, 100, -8, false};
  for (const SimdTables* kernels : test::all_kernels()) {
    for (const std::int64_t n : {1, 15, 16, 17, 63, 64, 65, 127, 200}) {
      INFO(isa_name(*kernels) << ", " << n);
      for (const bool is_signed : {false, true}) {
        const std::uint8_t flip = is_signed ? 0x80 : 0;
        std::vector<std::uint8_t> y(201, 99);
        kernels->quantize->maximum(y.data(), rows, 3, n, flip, flip);
        for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
          int best = -128;
          for (const auto& row : x) {
            best = std::max<int>(best, is_signed ? static_cast<std::int8_t>(row[i]) : row[i]);
          }
          CHECK(static_cast<std::uint8_t>(best) == y[i]);
        }
        CHECK(y[static_cast<std::size_t>(n)] == 99);
      }
      std::vector<std::uint8_t> found(201, 99);
      kernels->quantize->look_up(found.data(), rows[0], table.data(), n);
      for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        CHECK(found[i] == table[x[0][i]]);
      }
      CHECK(found[static_cast<std::size_t>(n)] == 99);
      for (const bool product : {false, true}) {
        for (const bool one_b : {false, true}) {
          pair.one_b = one_b;
          std::vector<std::uint8_t> y(201, 99);
          (product ? kernels->quantize->multiply : kernels->quantize->add)(y.data(), rows[0],
                                                                           rows[1], pair, n);
          for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
            const volatile float a =
                static_cast<float>(static_cast<std::int8_t>(x[0][i]) - 13) * 0.0423F;
            const volatile float b = static_cast<float>(x[1][one_b ? 0 : i] - 100) * 0.0625F;
            const volatile float both = product ? a * b : a + b;
            const float v = std::nearbyint(both / 0.0371F);
            CHECK(static_cast<std::int8_t>(y[i]) == std::min(std::max(v, -120.0F), 100.0F) - 8);
          }
          CHECK(y[static_cast<std::size_t>(n)] == 99);
        }
      }
    }
  }
}

TEST_CASE("elements of 4 bits are unpacked, signed or not, for every instruction set") {
  test::Numbers numbers(9);
  std::vector<std::uint8_t> x;
  for (std::int64_t i = 0; i < longest; ++i) {
    x.push_back(static_cast<std::uint8_t>((numbers.next() + 1) * 127.99));
  }
  for (const SimdTables* kernels : test::all_kernels()) {
    for (const bool is_signed : {false, true}) {
      for (const std::int64_t n : {std::int64_t{0}, std::int64_t{1}, std::int64_t{16}, longest}) {
        INFO(isa_name(*kernels) << is_signed << ", " << n);
        std::vector<std::uint8_t> y(2 * longest + 1, 99);
        kernels->quantize->unpack_4bits(y.data(), x.data(), is_signed ? 8 : 0, n);
        for (std::int64_t i = 0; i < 2 * n; ++i) {
          const int byte = x[static_cast<std::size_t>(i / 2)];
          const int unsigned_value = i % 2 == 0 ? byte % 16 : byte / 16;
          const int value = is_signed && unsigned_value > 7 ? unsigned_value - 16 : unsigned_value;
          CHECK(static_cast<std::int8_t>(y[static_cast<std::size_t>(i)]) == value);
        }
        CHECK(y[static_cast<std::size_t>(2 * n)] == 99);
      }
    }
  }
}

TEST_CASE("levels are looked up and scaled with one rounding, for every instruction set") {
  test::Numbers numbers(10);
  const std::vector<float> levels = numbers.row<float>(16);
  const std::vector<float> scales = numbers.row<float>(longest);
  std::vector<std::uint8_t> x;
  for (std::int64_t i = 0; i < longest; ++i) x.push_back(static_cast<std::uint8_t>(i * 7 % 16));
  for (const SimdTables* kernels : test::all_kernels()) {
    for (const bool each : {false, true}) {
      for (const std::int64_t n : {std::int64_t{0}, std::int64_t{5}, longest}) {
        INFO(isa_name(*kernels) << each << ", " << n);
        std::vector<float> y(longest + 1, 99);
        kernels->quantize->look_up_levels(y.data(), x.data(), levels.data(), scales.data(), each,
                                          n);
        for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
          CHECK(y[i] == static_cast<float>(static_cast<double>(levels[x[i]]) *
                                           static_cast<double>(scales[each ? i : 0])));
        }
        CHECK(y[static_cast<std::size_t>(n)] == 99);
      }
    }
  }
}

namespace {

std::vector<float> finite_row(std::int64_t n, std::uint64_t seed) {
  test::Numbers numbers(seed);
  std::vector<float> row;
  for (std::int64_t i = 0; i < n; ++i) row.push_back(static_cast<float>(numbers.next() * 3));
  return row;
}

std::vector<std::uint16_t> bfloat16_bits(const std::vector<float>& row) {
  std::vector<std::uint16_t> bits;
  for (const float x : row) {
    bits.push_back(static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(x) >> 16));
  }
  return bits;
}

float from_bits(std::uint16_t bits) { return std::bit_cast<float>(std::uint32_t{bits} << 16); }

}  // namespace

TEST_CASE("a row of floats becomes bytes by its largest magnitude, for every instruction set") {
  for (const SimdTables* kernels : test::all_kernels()) {
    for (const std::int64_t n : {std::int64_t{1}, std::int64_t{17}, longest}) {
      for (const bool scaled : {false, true}) {
        INFO(isa_name(*kernels) << (scaled ? ", factors, " : ", ") << n);
        auto x = finite_row(n, 8);
        const auto bits = bfloat16_bits(x);
        const auto factors = finite_row(n, 9);
        for (const bool narrow : {false, true}) {
          std::vector<std::int8_t> y(static_cast<std::size_t>(n) + 1, 99);
          float scale = 0;
          const float* const by = scaled ? factors.data() : nullptr;
          const std::int32_t sum =
              narrow ? kernels->quantize->bf16_to_bytes(y.data(), &scale, bits.data(), by, n)
                     : kernels->quantize->to_bytes(y.data(), &scale, x.data(), by, n);
          float largest = 0;
          std::vector<float> products;
          for (std::size_t i = 0; i < x.size(); ++i) {
            products.push_back((narrow ? from_bits(bits[i]) : x[i]) * (scaled ? factors[i] : 1));
            largest = std::max(largest, std::abs(products.back()));
          }
          CHECK(scale == largest / 127);
          std::int32_t total = 0;
          for (std::size_t i = 0; i < x.size(); ++i) {
            total += y[i];
            CHECK(std::abs(static_cast<float>(y[i]) - products[i] / scale) <= 0.5001F);
          }
          CHECK(sum == total);
          CHECK(y.back() == 99);
        }
      }
    }
  }
}

TEST_CASE("a row with a number that is not finite has no scale, and one of zeros the scale 0") {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const SimdTables* kernels : test::all_kernels()) {
    INFO(isa_name(*kernels));
    for (const float odd : {infinity, -infinity, std::nanf(""), 0.0F, 1e-40F}) {
      auto x = finite_row(longest, 3);
      if (std::abs(odd) < 1) std::fill(x.begin(), x.end(), 0.0F);
      x[70] = odd;
      std::vector<std::int8_t> y(x.size(), 99);
      float scale = 1;
      CHECK(kernels->quantize->to_bytes(y.data(), &scale, x.data(), nullptr, longest) == 0);
      CHECK(std::all_of(y.begin(), y.end(), [](auto each) { return each == 0; }));
      CHECK((std::abs(odd) < 1 ? scale == 0 : std::isnan(scale)));
    }
  }
}

TEST_CASE("numbers are rounded to bytes by a factor, for every instruction set") {
  for (const SimdTables* kernels : test::all_kernels()) {
    for (const bool each : {false, true}) {
      for (const std::int64_t n : {std::int64_t{1}, std::int64_t{17}, longest}) {
        const auto x = finite_row(n, 5);
        std::vector<float> factors;
        for (std::int64_t i = 0; i < n; ++i) factors.push_back(40.0F - static_cast<float>(i) / 4);
        std::vector<std::int8_t> y(static_cast<std::size_t>(n) + 1, 99);
        kernels->quantize->round_to_bytes(y.data(), x.data(), factors.data(), each, n);
        for (std::size_t i = 0; i < x.size(); ++i) {
          CHECK(static_cast<float>(y[i]) == std::nearbyint(x[i] * factors[each ? i : 0]));
        }
        CHECK(y.back() == 99);
      }
    }
  }
}

TEST_CASE("sums become numbers by the scales of rows and columns, for every instruction set") {
  std::vector<std::int32_t> sums;
  test::Numbers numbers(6);
  for (std::int64_t i = 0; i < longest; ++i) {
    sums.push_back(static_cast<std::int32_t>(numbers.next() * 1e6));
  }
  const auto columns = finite_row(longest, 2);
  const auto bias = finite_row(longest, 3);
  for (const SimdTables* kernels : test::all_kernels()) {
    for (const bool scaled : {false, true}) {
      for (const std::int64_t n : {std::int64_t{1}, std::int64_t{17}, longest}) {
        INFO(isa_name(*kernels) << (scaled ? ", scaled, " : ", ") << n);
        const ScaledRow by{-12345, 0.37F, scaled ? columns.data() : nullptr,
                           scaled ? bias.data() : nullptr};
        std::vector<float> plain(static_cast<std::size_t>(n) + 1, 99);
        std::vector<std::uint16_t> narrow(plain.size(), 99);
        kernels->quantize->scale_sums(plain.data(), sums.data(), by, n);
        kernels->quantize->scale_sums(narrow.data(), sums.data(), by, n);
        std::vector<std::uint16_t> rounded(plain.size());
        kernels->convert->float_to_bfloat16(rounded.data(), plain.data(), n);
        for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
          const float scale = scaled ? 0.37F * columns[i] : 0.37F;
          float y = static_cast<float>(sums[i] - 12345) * scale;
          if (scaled) y += bias[i];
          CHECK(plain[i] == y);
          CHECK(narrow[i] == rounded[i]);
        }
        CHECK(plain.back() == 99);
        CHECK(narrow.back() == 99);
      }
    }
  }
}
