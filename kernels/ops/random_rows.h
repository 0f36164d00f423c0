// Where random operators take their numbers from.
#pragma once

#include <algorithm>
#include <optional>

#include "core/random.h"
#include "graph/contract/node_view.h"

namespace ondine::kernels {

// Attribute `seed`, a float or an integer, as bits; absent: none.
std::optional<std::uint64_t> seed_attribute(const graph::NodeView& node);

// A seed of the node's own replaces the model's; steps still advance the numbers.
inline RandomKey own_key(RandomKey key, const std::optional<std::uint64_t>& seed) {
  if (seed) key.seed = *seed;
  return key;
}

// Calls body(i, bits) for first <= i < last: 32 random bits for element i.
template <class Body>
void for_random_bits(const RandomKey& key, std::int64_t first, std::int64_t last, Body&& body) {
  for (std::int64_t i = first; i < last;) {
    const auto words = random_block(key, static_cast<std::uint64_t>(i / 4));
    for (const std::int64_t end = std::min(last, i / 4 * 4 + 4); i < end; ++i) {
      body(i, words[static_cast<std::size_t>(i % 4)]);
    }
  }
}

// Whether `bits`, taken as a number in [0, 1), are below p.
inline bool below(std::uint32_t bits, double p) { return bits * 0x1p-32 < p; }

}  // namespace ondine::kernels
