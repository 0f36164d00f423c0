// Convolutions of factors rounded to bfloat16 by their definition, summed up in double: products of
// the operands, or of the components of Winograd's convolutions.
#pragma once

#include <array>
#include <cmath>
#include <vector>

#include "core/float_formats.h"
#include "tests/kernels/conv/conv_oracle.h"

namespace ondine::math::test {

inline double rounded(double value) {
  return double{to_float(to_bfloat16(static_cast<float>(value)))};
}

// The sum of products of factors rounded to bfloat16, and the sum of their sizes.
struct Sums {
  std::vector<double> value, size;
  explicit Sums(std::size_t n) : value(n), size(n) {}
  void add(std::size_t i, double product) {
    value[i] += product;
    size[i] += std::abs(product);
  }
};

// The largest error of a result over the sizes that were added up for its element; NaN where one
// is.
inline double worst_error(const ConvCase<float>& c, const ConvDesc& desc, bool with_bias,
                          const Sums& sums, const std::vector<float>& result) {
  const bool forward = desc.direction == ConvDirection::forward;
  const auto plane = static_cast<std::size_t>(volume(forward ? c.shape.out : c.shape.in));
  const auto channels =
      static_cast<std::size_t>(forward ? c.shape.out_channels : c.shape.in_channels);
  double worst = 0;
  for (std::size_t i = 0; i < sums.value.size(); ++i) {
    double wanted = sums.value[i];
    if (with_bias) wanted += double{c.bias[i / plane % channels]};
    if (desc.activation == Activation::relu) wanted = std::max(wanted, 0.0);
    const double error = std::abs(double{result[i]} - wanted) / (sums.size[i] + 1);
    if (std::isnan(error)) return error;
    worst = std::max(worst, error);
  }
  return worst;
}

inline Sums rounded_factors(const ConvCase<float>& c, ConvDirection direction) {
  using enum ConvDirection;
  Sums sums(direction == forward         ? c.y.size()
            : direction == backward_data ? c.dx.size()
                                         : c.dw.size());
  for_products(c.shape, [&](std::size_t i, std::size_t j, std::size_t k) {
    if (direction == forward) sums.add(k, rounded(c.x[i]) * rounded(c.w[j]));
    if (direction == backward_data) sums.add(i, rounded(c.dy[k]) * rounded(c.w[j]));
    if (direction == backward_weights) sums.add(j, rounded(c.dy[k]) * rounded(c.x[i]));
  });
  return sums;
}

using Tile = std::array<std::array<double, 5>, 5>;

struct Matrix {
  std::size_t rows, cols;
  std::vector<double> values;
};

// to = m from m^T.
inline Tile both(const Matrix& m, const Tile& from) {
  Tile half{}, to{};
  for (std::size_t i = 0; i < m.rows; ++i) {
    for (std::size_t a = 0; a < m.cols; ++a) {
      for (std::size_t b = 0; b < m.cols; ++b) half[i][b] += m.values[i * m.cols + a] * from[a][b];
    }
    for (std::size_t j = 0; j < m.rows; ++j) {
      for (std::size_t b = 0; b < m.cols; ++b) to[i][j] += half[i][b] * m.values[j * m.cols + b];
    }
  }
  return to;
}

inline Matrix adjoint(const Matrix& m) {
  Matrix to{m.cols, m.rows, std::vector<double>(m.values.size())};
  for (std::size_t i = 0; i < m.rows; ++i) {
    for (std::size_t j = 0; j < m.cols; ++j) to.values[j * m.rows + i] = m.values[i * m.cols + j];
  }
  return to;
}

// A Winograd convolution along one axis: the sum of terms, each of which adds the product of a
// component of the input and one of the weights to a component of a tile of the result.
struct Winograd {
  struct Term {
    std::size_t input, weight, output;
  };
  Index tile, step, pad;  // of the result, of its input, and where its first tile starts
  Matrix input, weights, output;
  std::vector<Term> terms;
};

inline Winograd unit_stride(Index pad) {
  return {2,
          2,
          pad,
          {4, 4, {1, 0, -1, 0, 0, 1, 1, 0, 0, -1, 1, 0, 0, 1, 0, -1}},
          {4, 3, {1, 0, 0, .5, .5, .5, .5, -.5, .5, 0, 0, 1}},
          {2, 4, {1, 1, 1, 0, 0, 1, -1, -1}},
          {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}, {3, 3, 3}}};
}
inline const Matrix ends_added = {4, 3, {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 1}};
inline Winograd strided(Index pad) {
  return {2,
          4,
          pad,
          {5, 5, {1, 0, -1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, -1, 0, 1}},
          ends_added,
          {2, 3, {1, 1, 0, 0, 1, 1}},
          {{0, 0, 0}, {1, 1, 0}, {2, 3, 1}, {3, 1, 2}, {4, 2, 2}}};
}
// Winograd from dy to dx. Results are even or odd by their distance from the padding's beginning.
inline Winograd strided_back(Index pad) {
  Winograd w{4,
             2,
             pad == 0 ? 1 : 0,
             {4, 3, {1, -1, 0, 0, 1, 0, 0, -1, 1, 1, 0, 0}},
             ends_added,
             {4, 5, {0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0}},
             {{0, 0, 0}, {1, 3, 1}, {2, 2, 2}, {1, 1, 3}, {3, 1, 4}}};
  if (pad % 2 == 0) {
    w.input.values = {1, -1, 0, 0, 1, 0, 0, -1, 1, 0, 0, 1};
    w.output.values = {1, 1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 1};
  }
  return w;
}

inline void round_all(Tile& tile) {
  for (auto& row : tile) {
    for (double& v : row) v = rounded(v);
  }
}

// Elements [h, h + n) x [w, w + n) of a plane, zeros outside.
inline Tile part_of(const float* plane, Index height, Index width, Index h, Index w, Index n) {
  Tile part{};
  for (Index i = 0; i < n; ++i) {
    for (Index j = 0; j < n; ++j) {
      const bool inside = h + i >= 0 && h + i < height && w + j >= 0 && w + j < width;
      if (inside) {
        part[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)] =
            double{plane[(h + i) * width + w + j]};
      }
    }
  }
  return part;
}

// body(input, weight, output, each of both axes) for each product of components.
template <class Body>
void for_terms(const Winograd& by, Body&& body) {
  for (const auto& h : by.terms) {
    for (const auto& w : by.terms) body(h, w);
  }
}

// Winograd's convolution by its definition: products of rounded components for each pair of
// channels and each tile.
inline Sums rounded_components(const ConvCase<float>& c, ConvDirection direction) {
  const ConvShape& s = c.shape;
  const bool back = direction == ConvDirection::backward_data;
  const bool by_weights = direction == ConvDirection::backward_weights;
  const Winograd by = s.stride[1] == 1 ? unit_stride(back ? 2 - s.pad[1] : s.pad[1])
                      : back           ? strided_back(s.pad[1])
                                       : strided(s.pad[1]);
  const Index inner = back ? s.out_channels : s.in_channels;
  const Index outer = back ? s.in_channels : s.out_channels;
  const SpatialDims in = back ? s.out : s.in;
  const SpatialDims out = back ? s.in : s.out;
  const auto span = static_cast<Index>(by.input.cols);
  const Matrix output_adjoint = adjoint(by.output), weight_adjoint = adjoint(by.weights);
  const std::vector<float>& source = back ? c.dy : c.x;
  Sums sums(by_weights ? c.dw.size() : back ? c.dx.size() : c.y.size());
  const auto weights_of = [&](Index o, Index i) {
    Tile taps{};
    const Index at = (back ? i * outer + o : o * inner + i) * 9;
    for (Index k = 0; k < 9; ++k) {
      const Index from = at + (back ? 8 - k : k);
      taps[static_cast<std::size_t>(k / 3)][static_cast<std::size_t>(k % 3)] =
          double{c.w[static_cast<std::size_t>(from)]};
    }
    Tile all = both(by.weights, taps);
    round_all(all);
    return all;
  };
  // The rounded components of a tile of the input, or of dy.
  const auto components_of = [&](const Matrix& m, const float* plane, const SpatialDims& dims,
                                 Index h, Index w, Index n) {
    Tile all = both(m, part_of(plane, dims[1], dims[2], h, w, n));
    round_all(all);
    return all;
  };
  for (Index o = 0; o < outer; ++o) {
    for (Index i = 0; i < inner; ++i) {
      const Tile u = by_weights ? Tile{} : weights_of(o, i);
      Tile gradient{};
      double gradient_size = 0;
      for (Index n = 0; n < s.batch; ++n) {
        const float* const plane = source.data() + (n * inner + i) * volume(in);
        const float* const dy = c.dy.data() + (n * outer + o) * volume(out);
        for (Index h = 0; h < out[1]; h += by.tile) {
          for (Index w = 0; w < out[2]; w += by.tile) {
            const Tile v = components_of(by.input, plane, in, h / by.tile * by.step - by.pad,
                                         w / by.tile * by.step - by.pad, span);
            double size = 0;
            if (by_weights) {
              const Tile d = components_of(output_adjoint, dy, out, h, w, by.tile);
              for_terms(by, [&](const auto& a, const auto& b) {
                const double product = v[a.input][b.input] * d[a.output][b.output];
                gradient[a.weight][b.weight] += product;
                gradient_size += std::abs(product);
              });
              continue;
            }
            Tile result{};
            for_terms(by, [&](const auto& a, const auto& b) {
              const double product = v[a.input][b.input] * u[a.weight][b.weight];
              result[a.output][b.output] += product;
              size += std::abs(product);
            });
            const Tile y = both(by.output, result);
            for (Index a = 0; a < by.tile && h + a < out[1]; ++a) {
              for (Index b = 0; b < by.tile && w + b < out[2]; ++b) {
                const auto at = static_cast<std::size_t>((n * outer + o) * volume(out) +
                                                         (h + a) * out[2] + w + b);
                sums.value[at] += y[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
                sums.size[at] += size;
              }
            }
          }
        }
      }
      if (!by_weights) continue;
      const Tile dw = both(weight_adjoint, gradient);
      for (std::size_t k = 0; k < 9; ++k) {
        const auto at = static_cast<std::size_t>(o * inner + i) * 9 + k;
        sums.value[at] = dw[k / 3][k % 3];
        sums.size[at] = gradient_size;
      }
    }
  }
  return sums;
}

}  // namespace ondine::math::test
