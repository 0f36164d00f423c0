// Where random operators take their numbers from.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/random_blocks.h"
#include "graph/contract/node_view.h"

namespace ondine::kernels {

// Attribute `seed`, a float or an integer, as bits; absent: none.
std::optional<std::uint64_t> seed_attribute(const graph::NodeView& node);

// A seed of the node's own replaces the model's; steps still advance the numbers.
inline RandomKey own_key(RandomKey key, const std::optional<std::uint64_t>& seed) {
  if (seed) key.seed = *seed;
  return key;
}

inline constexpr std::int64_t random_piece = 256;

// Calls body(i, n, bits) for pieces of [first, last), of at most random_piece elements: bits[k] are
// 32 random bits for element i + k. `first` is a multiple of 4.
template <class Body>
void for_random_bits(const RandomKey& key, std::int64_t first, std::int64_t last, Body&& body) {
  std::uint32_t bits[random_piece];
  for (std::int64_t i = first; i < last; i += random_piece) {
    const std::int64_t n = std::min(random_piece, last - i);
    random_blocks(key, static_cast<std::uint64_t>(i / 4), static_cast<std::size_t>((n + 3) / 4),
                  bits);
    body(i, n, bits);
  }
}

// Whether `bits`, taken as a number in [0, 1), are below p.
inline bool below(std::uint32_t bits, double p) { return bits * 0x1p-32 < p; }
// The bits that are below p are those less than this.
inline std::uint64_t threshold(double p) {
  return static_cast<std::uint64_t>(std::ceil(p * 0x1p+32));
}

}  // namespace ondine::kernels
