// Terms of Winograd convolutions of 3 x 3 windows. A tile of the source, the weights and a tile of
// the result have components. A term is the product of a component of the source and one of the
// weights, summed over the channels and added to a component of the result. Gradients by the
// weights are the same terms, summed over the tiles and added to components of the weights.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ondine::math {

struct WinogradTerm {
  std::int64_t source, weight, result;  // components
  // Whether no term before has that component of the result, or of the weights.
  bool starts_result = true, starts_weight = true;
};

// Components and terms of a form along one axis, of which those in two dimensions are pairs.
struct WinogradAxis {
  std::int64_t sources, weights, results;  // components
  std::int64_t count;                      // of terms
  std::array<WinogradTerm, 5> terms;
  // The first element of a tile of the result that a component of the result is part of.
  std::array<std::int64_t, 5> first;
};

class WinogradForm {
 public:
  // tile: elements of a tile of the result along an axis.
  constexpr WinogradForm(std::int64_t tile, const WinogradAxis& axis)
      : tile_(tile), axis_(axis), count_(axis.count * axis.count) {
    for (std::int64_t i = 0; i < count_; ++i) {
      const WinogradTerm& h = axis.terms[static_cast<std::size_t>(i / axis.count)];
      const WinogradTerm& w = axis.terms[static_cast<std::size_t>(i % axis.count)];
      WinogradTerm& term = terms_[static_cast<std::size_t>(i)];
      term = {h.source * axis.sources + w.source, h.weight * axis.weights + w.weight,
              h.result * axis.results + w.result};
      for (std::int64_t j = 0; j < i; ++j) {
        const WinogradTerm& before = terms_[static_cast<std::size_t>(j)];
        if (before.result == term.result) term.starts_result = false;
        if (before.weight == term.weight) term.starts_weight = false;
      }
    }
  }

  constexpr std::int64_t tile() const { return tile_; }
  constexpr const WinogradAxis& axis() const { return axis_; }
  constexpr std::int64_t sources() const { return axis_.sources * axis_.sources; }
  constexpr std::int64_t weights() const { return axis_.weights * axis_.weights; }
  constexpr std::int64_t results() const { return axis_.results * axis_.results; }
  // Whether a component of the result along an axis is part of the first `elements` of a tile. odd:
  // as TileRows::odd_h.
  constexpr bool is_part(std::int64_t result, std::int64_t elements, bool odd) const {
    const std::int64_t first = axis_.first[static_cast<std::size_t>(result)];
    return (tile_ < 4 || odd ? first : (first + 3) % 4) < elements;
  }
  constexpr std::int64_t terms() const { return count_; }
  constexpr const WinogradTerm& term(std::int64_t i) const {
    return terms_[static_cast<std::size_t>(i)];
  }

 private:
  std::int64_t tile_;
  WinogradAxis axis_;
  std::int64_t count_;
  std::array<WinogradTerm, 25> terms_{};
};

// F(2, 3), stride 1: a component of each for every term.
inline constexpr WinogradForm winograd_unit{
    2, {4, 4, 4, 4, {{{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {3, 3, 3}, {}}}, {0, 0, 0, 1}}};

// Stride 2, of x0 to x4 and taps g0, g1, g2: F(2, 2) of the even elements and the taps g0 and g2,
//   y0 = (x0 - x2) g0 + x1 g1 + x2 (g0 + g2)
//   y1 = (x4 - x2) g2 + x3 g1 + x2 (g0 + g2)
// Components of the result are the sums for y0 alone, for both and for y1 alone, those of the
// weights g0, g1, g2 and g0 + g2.
inline constexpr WinogradForm winograd_strided{
    2, {5, 4, 3, 5, {{{0, 0, 0}, {1, 1, 0}, {2, 3, 1}, {3, 1, 2}, {4, 2, 2}}}, {0, 0, 1}}};

// The gradient by x of a convolution of stride 2, of e0, e1 and e2 of dy, the taps in reverse order
// (g0 being the last):
//   even results    (e0 - e1) g0 + e1 (g0 + g2)
//                   (e2 - e1) g2 + e1 (g0 + g2)
//   odd results     e1 g1, and e0 g1 before the even ones or e2 g1 after
// `first` is of tiles that begin with an odd result; others are these, moved on by one.
inline constexpr WinogradForm winograd_strided_back{
    4, {4, 4, 5, 5, {{{0, 0, 0}, {1, 3, 1}, {2, 2, 2}, {1, 1, 3}, {3, 1, 4}}}, {1, 1, 3, 2, 0}}};

}  // namespace ondine::math
