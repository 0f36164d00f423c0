// Box and Muller's transform of the words of Philox, in float.
#include "kernels/simd/exact/exact_parts.h"
#include "kernels/simd/exact/philox.h"
#include "kernels/simd/vector/functions.h"

namespace ondine::math::ONDINE_ISA {
namespace {

constexpr int group = 16;             // blocks
constexpr int blocks = lanes<float>;  // of one step: the even and the odd ones in a vector each

// The low halves of both, in turns.
ONDINE_INLINE Vi interleave(const Words& even, const Words& odd) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  return reinterpret_cast<Vi>((odd & 0xffffffffU) | (even << 32));
#else
  return reinterpret_cast<Vi>((even & 0xffffffffU) | (odd << 32));
#endif
}

// Two normal numbers for each pair of words.
ONDINE_INLINE void store_pair(float* to, const Vi& u, const Vi& v) {
  const Vi positive = reinterpret_cast<Vi>(reinterpret_cast<Vec<std::uint32_t>>(u) >> 1);
  const Vf uniform = __builtin_convertvector(positive, Vf) * 0x1p-31f + 0x1p-32f;
  const Vf radius = square_root<float>(-2.0f * log_of(uniform));
  const Vf angle = __builtin_convertvector(v, Vf) * 1.46291807926715968e-9f;  // 2 pi / 2^32
  store<float>(to, radius * sine(angle, 1));
  store<float>(to + group, radius * sine(angle, 0));
}

}  // namespace

void normal_groups(float* to, const RandomKey& key, std::uint64_t first, std::int64_t groups) {
  Words even_blocks{};
  for (int i = 0; i < lanes<std::uint64_t>; ++i) {
    even_blocks[i] = 2 * static_cast<std::uint64_t>(i);
  }
  for (std::int64_t g = 0; g < groups; ++g, to += 4 * group) {
    for (int done = 0; done < group; done += blocks) {
      Words even[4], odd[4];
      const std::uint64_t block =
          group * (first + static_cast<std::uint64_t>(g)) + static_cast<std::uint64_t>(done);
      philox(key, even_blocks + block, even);
      philox(key, even_blocks + block + std::uint64_t{1}, odd);
      store_pair(to + done, interleave(even[0], odd[0]), interleave(even[1], odd[1]));
      store_pair(to + done + 2 * group, interleave(even[2], odd[2]), interleave(even[3], odd[3]));
    }
  }
}

}  // namespace ondine::math::ONDINE_ISA
