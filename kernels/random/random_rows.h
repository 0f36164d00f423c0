// Random operators: RandomNormal, RandomUniform, their *Like forms, Bernoulli, Multinomial and
// Dropout. Numbers are counter-based: they depend on the seed, the step, the node and the element
// only, never on threads. The elements of a part of a batch (core/random/row_scope.h) count from
// where its rows begin in the whole batch. This header: seeds, and loops over random bits.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/random/random_blocks.h"
#include "graph/contract/kernel.h"
#include "graph/contract/node_view.h"
#include "kernels/common/element_conversion.h"

namespace ondine::kernels {

// Attribute `seed`, a float or an integer, as bits; absent: none.
std::optional<std::uint64_t> seed_attribute(const graph::NodeView& node);

// The key with the node's seed, if it has one, in place of the model's; numbers still change with
// every step.
inline RandomKey own_key(RandomKey key, const std::optional<std::uint64_t>& seed) {
  if (seed) key.seed = *seed;
  return key;
}

// Numbers `first`, first + 1, ... of a key.
struct RandomRun {
  RandomKey key;
  std::uint64_t first = 0;
};
// Random numbers of a node with n elements for which the batch is the outermost dim. A part of a
// batch gets the numbers that its rows have in the whole batch. If n is no multiple of the number
// of rows, the elements belong to no row, and the part has numbers of its own. A part also has
// numbers of its own if the batch is an inner dim.
RandomRun random_run(const graph::KernelContext& call, const std::optional<std::uint64_t>& seed,
                     std::int64_t n);

inline constexpr std::int64_t random_chunk = 256;

// Calls body(i, n, bits) for chunks of [first, last), of at most random_chunk elements: bits[k] are
// 32 random bits for element i + k.
template <class Body>
void for_random_bits(const RandomRun& run, std::int64_t first, std::int64_t last, Body&& body) {
  std::uint32_t bits[random_chunk + 4];
  for (std::int64_t i = first; i < last; i += random_chunk) {
    const std::int64_t n = std::min(random_chunk, last - i);
    const std::uint64_t at = run.first + static_cast<std::uint64_t>(i);
    const std::uint64_t skipped = at % 4;
    random_blocks(run.key, at / 4,
                  static_cast<std::size_t>((skipped + static_cast<std::uint64_t>(n) + 3) / 4),
                  bits);
    body(i, n, static_cast<const std::uint32_t*>(bits) + skipped);
  }
}

// Stores shift + scale * z for elements [first, last) of y, whose numbers begin with that of
// `first`. pair_at(i) gives numbers 2 i and 2 i + 1 as doubles z.
template <class T, class PairAt>
void store_pairs(T* y, std::int64_t first, std::int64_t last, std::uint64_t number, double shift,
                 double scale, PairAt&& pair_at) {
  for (std::int64_t i = first; i < last;) {
    const auto pair = pair_at(number / 2);
    for (std::uint64_t k = number % 2; k < 2 && i < last; ++k, ++i, ++number) {
      y[i] = store<T>(static_cast<compute_t<T>>(shift + scale * pair[k]));
    }
  }
}

// Whether `bits`, taken as a number in [0, 1), are below p.
inline bool below(std::uint32_t bits, double p) { return bits * 0x1p-32 < p; }
// below(bits, p) is bits < threshold(p).
inline std::uint64_t threshold(double p) {
  return static_cast<std::uint64_t>(std::ceil(p * 0x1p+32));
}

}  // namespace ondine::kernels
