// Convolutions by their definition, summed up in double.
#pragma once

#include <algorithm>
#include <vector>

#include "kernels/conv/primitives/conv_primitive.h"
#include "tests/kernels/common/math_test.h"

namespace ondine::math::test {

using Index = std::int64_t;

// y[o] += w[k] x[i] for every product of the definition: body(x index, w index, y index).
template <class Body>
void for_products(const ConvShape& s, Body&& body) {
  const Index in_group = s.in_channels / s.groups, out_group = s.out_channels / s.groups;
  const Index taps = volume(s.kernel);
  for (Index n = 0; n < s.batch; ++n) {
    for (Index o = 0; o < s.out_channels; ++o) {
      for (Index p = 0; p < volume(s.out); ++p) {
        const Index at[] = {p / (s.out[2] * s.out[1]), p / s.out[2] % s.out[1], p % s.out[2]};
        for (Index c = 0; c < in_group; ++c) {
          for (Index k = 0; k < taps; ++k) {
            const Index tap[] = {k / (s.kernel[2] * s.kernel[1]), k / s.kernel[2] % s.kernel[1],
                                 k % s.kernel[2]};
            Index from = 0;
            bool inside = true;
            for (std::size_t d = 0; d < 3; ++d) {
              const Index i = at[d] * s.stride[d] + tap[d] * s.dilation[d] - s.pad[d];
              inside = inside && i >= 0 && i < s.in[d];
              from = from * s.in[d] + i;
            }
            if (!inside) continue;
            const Index channel = o / out_group * in_group + c;
            body(static_cast<std::size_t>((n * s.in_channels + channel) * volume(s.in) + from),
                 static_cast<std::size_t>((o * in_group + c) * taps + k),
                 static_cast<std::size_t>((n * s.out_channels + o) * volume(s.out) + p));
          }
        }
      }
    }
  }
}

// `pad` at the beginning and `pad_end` at the end of height and width.
inline ConvShape shape2(Index batch, Index in, Index out, Index groups, Index h, Index w, Index kh,
                        Index kw, Index stride, Index dilation, Index pad, Index pad_end) {
  ConvShape s{batch, in, out, groups, {1, h, w}, {1, kh, kw}};
  s.stride = {1, stride, stride};
  s.dilation = {1, dilation, dilation};
  s.pad = {0, pad, pad};
  for (std::size_t d = 1; d < 3; ++d) {
    s.out[d] = (s.in[d] + pad + pad_end - (s.kernel[d] - 1) * dilation - 1) / stride + 1;
  }
  return s;
}

// Operands of a shape and the results of all directions without bias and activation.
template <class T>
struct ConvCase {
  explicit ConvCase(const ConvShape& s) : shape(s) {
    Numbers numbers(static_cast<std::uint64_t>(volume(s.in) + s.in_channels));
    x = numbers.row<T>(s.batch * s.in_channels * volume(s.in));
    w = numbers.row<T>(s.out_channels * (s.in_channels / s.groups) * volume(s.kernel));
    dy = numbers.row<T>(s.batch * s.out_channels * volume(s.out));
    bias = numbers.row<T>(std::max(s.out_channels, s.in_channels));
    y.resize(dy.size());
    dx.resize(x.size());
    dw.resize(w.size());
    for_products(s, [&](std::size_t i, std::size_t j, std::size_t k) {
      y[k] += static_cast<double>(x[i]) * static_cast<double>(w[j]);
      dx[i] += static_cast<double>(dy[k]) * static_cast<double>(w[j]);
      dw[j] += static_cast<double>(dy[k]) * static_cast<double>(x[i]);
    });
  }

  std::vector<double> expected(const ConvDesc& desc, bool with_bias) const {
    if (desc.direction == ConvDirection::backward_weights) return dw;
    const bool forward = desc.direction == ConvDirection::forward;
    std::vector<double> result = forward ? y : dx;
    const auto plane = static_cast<std::size_t>(volume(forward ? shape.out : shape.in));
    const auto channels =
        static_cast<std::size_t>(forward ? shape.out_channels : shape.in_channels);
    for (std::size_t i = 0; i < result.size(); ++i) {
      if (with_bias) result[i] += static_cast<double>(bias[i / plane % channels]);
      if (desc.activation != Activation::none) result[i] = std::max(result[i], 0.0);
      if (desc.activation == Activation::relu6) result[i] = std::min(result[i], 6.0);
    }
    return result;
  }

  ConvArgs<T> args(bool with_bias, T* result) const {
    return {x.data(), w.data(), dy.data(), with_bias ? bias.data() : nullptr, result};
  }

  ConvShape shape;
  std::vector<T> x, w, dy, bias;
  std::vector<double> y, dx, dw;
};

// Checks the implementation `name` on 1, 2 and 4 threads: results are right and have the same bits.
template <class T>
void check_implementation(const ConvCase<T>& c, const ConvDesc& desc, std::string_view name,
                          bool with_bias, const SimdTables& kernels) {
  const std::vector<double> expected = c.expected(desc, with_bias);
  std::vector<std::vector<T>> results;
  for (const int threads : {1, 2, 4}) {
    const auto primitive = ConvPrimitive<T>::make(desc, threads, name, kernels);
    CHECK(primitive.name() == name);
    const bool splits = primitive.isa() == isa_name(kernels);
    CHECK((splits || primitive.isa() == isa_name(without(kernels, ProductMode::split))));
    ThreadPool pool(threads);
    Scratch scratch(primitive.workspace());
    results.emplace_back(expected.size(), T(5));
    primitive.run(pool, c.args(with_bias, results.back().data()), scratch);
    CHECK(scratch.intact());
  }
  CHECK(worst_error(results[0], expected) < 2 * tolerance<T>);
  CHECK(same_bits(results[0], results[1]));
  CHECK(same_bits(results[0], results[2]));
}

inline std::string to_string(const ConvShape& s) {
  return cat("batch ", s.batch, " channels ", s.in_channels, " ", s.out_channels, " groups ",
             s.groups, " in ", s.in[0], "x", s.in[1], "x", s.in[2], " kernel ", s.kernel[0], "x",
             s.kernel[1], "x", s.kernel[2], " stride ", s.stride[1], "x", s.stride[2]);
}

}  // namespace ondine::math::test
