// The nine taps of the windows of a vector of channels: channel by channel, as they lie in memory,
// and as vectors over the channels.
#pragma once

#include "kernels/simd/conv/conv_parts.h"

namespace ondine::math::ONDINE_ISA {
namespace {

constexpr int window = 9;  // taps

// In memory, element p of vector v is tap L v + p modulo 9. Taken in the order of their first taps,
// vector m begins with tap m: it is vector first_vector(m).
constexpr int first_vector(int m) {
  constexpr int lanes_of = lanes<float>;
  for (int v = 0; v < window; ++v) {
    if (lanes_of * v % window == m) return v;
  }
  return 0;
}

template <int Bit, int... P>
ONDINE_INLINE Vec<float> take_positions(const Vec<float>& from, const Vec<float>& other,
                                        std::integer_sequence<int, P...>) {
  return __builtin_shufflevector(from, other, (P % window & Bit ? lanes<float> + P : P)...);
}

// Moves position p of nine vectors on by p Places vectors, in a circle: by the bits of p, in turn.
template <int Places, int Bit = 1>
ONDINE_INLINE void turn_positions(Vec<float>* a) {
  constexpr auto every = std::make_integer_sequence<int, lanes<float>>();
  Vec<float> b[window];
#pragma GCC unroll 9
  for (int m = 0; m < window; ++m) {
    b[m] = take_positions<Bit>(a[m], a[(m + Bit * Places) % window], every);
  }
#pragma GCC unroll 9
  for (int m = 0; m < window; ++m) a[m] = b[m];
  constexpr int most = lanes<float> < window ? lanes<float> - 1 : window - 1;
  if constexpr (2 * Bit <= most) turn_positions<Places, 2 * Bit>(a);
}

// Lane l of tap k lies at position 9 l + k, modulo the lanes, of the vector that has all of tap k.
template <int Tap, int... Lane>
ONDINE_INLINE Vec<float> order_lanes(const Vec<float>& v, std::integer_sequence<int, Lane...>) {
  return __builtin_shufflevector(v, v, ((Lane * window + Tap) % lanes<float>)...);
}
template <int Tap, int... Position>
ONDINE_INLINE Vec<float> order_positions(const Vec<float>& v,
                                         std::integer_sequence<int, Position...>) {
  // The inverse: 9 is its own inverse modulo 4, 8 and 16.
  static_assert(window * window % lanes<float> == 1);
  return __builtin_shufflevector(
      v, v, ((Position + lanes<float> * window - Tap) * window % lanes<float>)...);
}
template <int... Tap>
ONDINE_INLINE void order_all_lanes(Vec<float>* taps, const Vec<float>* a,
                                   std::integer_sequence<int, Tap...>) {
  ((taps[Tap] = order_lanes<Tap>(a[Tap], std::make_integer_sequence<int, lanes<float>>())), ...);
}
template <int... Tap>
ONDINE_INLINE void order_all_positions(Vec<float>* a, const Vec<float>* taps,
                                       std::integer_sequence<int, Tap...>) {
  ((a[Tap] = order_positions<Tap>(taps[Tap], std::make_integer_sequence<int, lanes<float>>())),
   ...);
}

// Lane l of taps[k] is w[9 l + k].
ONDINE_INLINE void split_taps(Vec<float>* taps, const float* w) {
  Vec<float> a[window];
#pragma GCC unroll 9
  for (int m = 0; m < window; ++m) a[m] = load(w + first_vector(m) * lanes<float>);
  turn_positions<window - 1>(a);
  order_all_lanes(taps, a, std::make_integer_sequence<int, window>());
}

// The reverse: taps of at most `count` channels.
ONDINE_INLINE void join_taps(float* w, const Vec<float>* taps, N count) {
  Vec<float> a[window];
  order_all_positions(a, taps, std::make_integer_sequence<int, window>());
  turn_positions<1>(a);
#pragma GCC unroll 9
  for (int m = 0; m < window; ++m) {
    const N from = first_vector(m) * lanes<float>;
    if (count == lanes<float>) {
      store(w + from, a[m]);
    } else {
      store_n(w + from, a[m], max(0, min(lanes<float>, count * window - from)));
    }
  }
}

}  // namespace
}  // namespace ondine::math::ONDINE_ISA
