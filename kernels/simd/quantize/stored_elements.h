// How products read a matrix of few bits (stored_product_table.h).
#pragma once

#include "kernels/simd/quantize/levels.h"
#include "kernels/simd/quantize/stored_product_table.h"

namespace ondine::math::ONDINE_ISA {

inline constexpr bool has_many_registers = vector_bytes == 64;

ONDINE_INLINE std::int64_t lesser(std::int64_t a, std::int64_t b) { return a < b ? a : b; }

// The first `count` of a vector's elements; 0 where there are none.
ONDINE_INLINE Vec<float> load_some(const float* p, std::int64_t count) {
  return count >= lanes<float> ? load(p) : load_n(p, count < 0 ? 0 : count);
}

// Elements of B that lie one behind the other, two vectors of them at a time. The first vector has
// those of even places and the second those of odd places where they are nibbles.
template <StoredAs As>
class Elements {
 public:
  static constexpr bool pairs = As == StoredAs::nibbles;
  // Bytes of a vector's elements, and of `count` elements.
  static constexpr std::int64_t vector_size = pairs ? lanes<float> / 2 : lanes<float>;
  static constexpr std::int64_t size_of(std::int64_t count) { return pairs ? count / 2 : count; }

  ONDINE_MEMBER explicit Elements(const float* levels) : levels_(pairs ? levels : unread) {}

  ONDINE_MEMBER void read(const std::uint8_t* p, Vec<float>& first, Vec<float>& second) const {
    if constexpr (pairs) {
      const Vec<std::uint32_t> both = load_byte_lanes(p);
      first = levels_[both];
      second = levels_[both >> 4];
    } else {
      first = numbers(p);
      second = numbers(p + lanes<float>);
    }
  }
  // The first `count` of them, fewer than two vectors; others are any finite numbers.
  ONDINE_MEMBER void read_n(const std::uint8_t* p, std::int64_t count, Vec<float>& first,
                            Vec<float>& second) const {
    std::uint8_t some[2 * lanes<float>] = {};
    const std::int64_t bytes = pairs ? (count + 1) / 2 : count;
    for (std::int64_t i = 0; i < bytes; ++i) some[i] = p[i];
    read(some, first, second);
  }

 private:
  static constexpr float unread[16] = {};

  ONDINE_MEMBER static Vec<float> numbers(const std::uint8_t* p) {
    if constexpr (As == StoredAs::signed_bytes) {
      return __builtin_convertvector(load_signed_byte_lanes(p), Vec<float>);
    } else {
      return __builtin_convertvector(reinterpret_cast<Vec<std::int32_t>>(load_byte_lanes(p)),
                                     Vec<float>);
    }
  }

  Levels levels_;
};

template <int From, int... I>
ONDINE_INLINE Vec<float> in_turn(const Vec<float>& even, const Vec<float>& odd,
                                 std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(even, odd, ((I & 1) * lanes<float> + (From + I) / 2)...);
}
template <int From, int... I>
ONDINE_INLINE Vec<float> every_second(const Vec<float>& a, const Vec<float>& b,
                                      std::integer_sequence<int, I...>) {
  return __builtin_shufflevector(a, b, (2 * I + From)...);
}

// The elements of two vectors in turn, and those of even and of odd places.
ONDINE_INLINE void interleave(Vec<float>& first, Vec<float>& second) {
  constexpr auto every = std::make_integer_sequence<int, lanes<float>>();
  const Vec<float> low = in_turn<0>(first, second, every);
  second = in_turn<lanes<float>>(first, second, every);
  first = low;
}
ONDINE_INLINE void separate(Vec<float>& first, Vec<float>& second) {
  constexpr auto every = std::make_integer_sequence<int, lanes<float>>();
  const Vec<float> even = every_second<0>(first, second, every);
  second = every_second<1>(first, second, every);
  first = even;
}

// Number `at` of the zero points.
ONDINE_INLINE float zero_point(const StoredMatrix& b, std::int64_t at) {
  const std::uint8_t byte = b.zero_points[at];
  return b.signed_zero_points ? static_cast<float>(static_cast<std::int8_t>(byte))
                              : static_cast<float>(byte);
}

}  // namespace ondine::math::ONDINE_ISA
