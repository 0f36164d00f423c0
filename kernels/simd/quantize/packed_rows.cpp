#include "kernels/simd/quantize/packed_rows.h"

#include "kernels/simd/quantize/levels.h"

namespace ondine::math::ONDINE_ISA {
namespace {

using Bytes = std::uint8_t __attribute__((vector_size(16)));

// The elements of 16 bytes; x ^ s - s extends the sign bit s.
ONDINE_INLINE void unpack_vector(std::uint8_t* y, const std::uint8_t* x, std::uint8_t sign) {
  Bytes packed;
  __builtin_memcpy(&packed, x, sizeof(packed));
  const Bytes low = ((packed & 15) ^ sign) - sign;
  const Bytes high = ((packed >> 4) ^ sign) - sign;
  const Bytes first =
      __builtin_shufflevector(low, high, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const Bytes second = __builtin_shufflevector(low, high, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13,
                                               29, 14, 30, 15, 31);
  __builtin_memcpy(y, &first, sizeof(first));
  __builtin_memcpy(y + 16, &second, sizeof(second));
}

}  // namespace

void unpack_4bits(std::uint8_t* __restrict y, const std::uint8_t* __restrict x, std::uint8_t sign,
                  std::int64_t n) {
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16) unpack_vector(y + 2 * i, x + i, sign);
  for (; i < n; ++i) {
    y[2 * i] = static_cast<std::uint8_t>(((x[i] & 15) ^ sign) - sign);
    y[2 * i + 1] = static_cast<std::uint8_t>(((x[i] >> 4) ^ sign) - sign);
  }
}

void look_up_levels(float* __restrict y, const std::uint8_t* __restrict x, const float* levels,
                    const float* scale, bool each, std::int64_t n) {
  std::int64_t i = 0;
#if defined(__AVX2__)
  const Levels table(levels);
  const Vec<float> common = broadcast(scale[0]);
  for (; i + lanes<float> <= n; i += lanes<float>) {
    store(y + i, table[load_byte_lanes(x + i)] * (each ? load(scale + i) : common));
  }
#endif
  for (; i < n; ++i) y[i] = levels[x[i]] * scale[each ? i : 0];
}

}  // namespace ondine::math::ONDINE_ISA
