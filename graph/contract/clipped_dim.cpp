#include "graph/contract/clipped_dim.h"

#include <algorithm>

namespace ondine::graph {
namespace {

// The symbol of such a dim: a bit that names of models do not reach, the other symbol, the bound.
constexpr std::uint32_t mark = std::uint32_t{1} << 31;
constexpr int bound_bits = 20;
constexpr std::uint32_t max_bound = (std::uint32_t{1} << bound_bits) - 1;
constexpr std::uint32_t max_symbol = (mark >> bound_bits) - 1;

}  // namespace

Dim clipped(Dim length, std::int64_t bound) {
  if (const auto part = clipped_dim(length)) {
    return clipped(part->length, std::min(part->bound, bound));
  }
  if (!length.is_symbolic() || length.symbol() > max_symbol) return {};
  // One element broadcasts, and of none nothing is left.
  if (bound < 2 || bound > std::int64_t{max_bound}) return {};
  return Dim::symbolic(mark | length.symbol() << bound_bits | static_cast<std::uint32_t>(bound));
}

std::optional<ClippedDim> clipped_dim(Dim dim) {
  if (!dim.is_symbolic() || (dim.symbol() & mark) == 0) return std::nullopt;
  const std::uint32_t both = dim.symbol() & ~mark;
  return ClippedDim{Dim::symbolic(both >> bound_bits), std::int64_t{both & max_bound}};
}

bool broadcasts_only_whole(Dim part, Dim length) {
  const auto of = clipped_dim(part);
  return of && of->length.same(length);
}

}  // namespace ondine::graph
