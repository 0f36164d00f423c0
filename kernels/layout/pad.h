// The arithmetic of Pad, shared with its derivative.
#pragma once

#include <string>
#include <vector>

#include "kernels/common/integer_parameters.h"
#include "kernels/common/op.h"

namespace ondine::kernels {

enum class PadMode : std::uint8_t { constant, reflect, edge, wrap };
// The attribute "mode". Error(invalid_model) for an unknown value.
PadMode pad_mode(const graph::NodeView& node);

// Numbers of elements added before and after each axis; negative numbers remove elements.
struct Pads {
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> end;

  // `pads`: all begins, then all ends, for the given axes (all axes when there are none).
  Pads(std::size_t rank, std::span<const std::int64_t> pads, std::span<const std::int64_t> axes);
  // Error(mismatch) for a negative dim.
  Shape padded(const Shape& x) const;
};

// Offsets in x, one list for each axis: the element of the padded tensor at i is the one of x at
// the sum over a of offsets[a][i[a]]. Not for constant. Error(mismatch) when x has no elements.
std::vector<std::vector<std::int64_t>> pad_sources(PadMode mode, const Shape& x, const Pads& pads);

// Calls body(first, offset, row) for every row (last axis) of the padded tensor: `first` is its
// first element, and element first + k comes from offset + row[k] of x.
template <class Body>
void for_padded_rows(const Shape& padded, const std::vector<std::vector<std::int64_t>>& sources,
                     std::int64_t first_row, std::int64_t last_row, const Body& body) {
  const std::size_t rank = padded.rank();
  const std::int64_t width = padded.back();
  for (auto row = first_row; row < last_row; ++row) {
    std::int64_t offset = 0;
    std::int64_t rest = row;
    for (std::size_t a = rank - 1; a-- > 0;) {
      offset += sources[a][static_cast<std::size_t>(rest % padded[a])];
      rest /= padded[a];
    }
    body(row * width, offset, sources[rank - 1].data());
  }
}

}  // namespace ondine::kernels
