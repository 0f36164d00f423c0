#include <array>
#include <cmath>

#include "core/float_formats.h"
#include "tests/kernels/conv/conv_oracle.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

const Kernels* lower_kernels() { return kernels_for(Isa::avx512_bf16); }

double rounded(double value) { return double{to_float(to_bfloat16(static_cast<float>(value)))}; }

// Multiples of 1/256, so that transformed components are exact before they are rounded.
std::vector<float> coarse(std::vector<float> values) {
  for (float& v : values) v = std::round(v * 256) / 256;
  return values;
}

ConvCase<float> coarse_case(const ConvShape& s) {
  ConvCase<float> c(s);
  c.x = coarse(std::move(c.x));
  c.w = coarse(std::move(c.w));
  c.dy = coarse(std::move(c.dy));
  return c;
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

Sums rounded_factors(const ConvCase<float>& c, ConvDirection direction) {
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

using Tile = std::array<std::array<double, 4>, 4>;

// to = m from m^T for a rows x cols matrix m.
Tile both(const double* m, std::size_t rows, std::size_t cols, const Tile& from) {
  Tile to{};
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < rows; ++j) {
      for (std::size_t a = 0; a < cols; ++a) {
        for (std::size_t b = 0; b < cols; ++b) {
          to[i][j] += m[i * cols + a] * from[a][b] * m[j * cols + b];
        }
      }
    }
  }
  return to;
}

constexpr double input_matrix[] = {1, 0, -1, 0, 0, 1, 1, 0, 0, -1, 1, 0, 0, 1, 0, -1};
constexpr double weight_matrix[] = {1, 0, 0, .5, .5, .5, .5, -.5, .5, 0, 0, 1};
constexpr double weight_adjoint[] = {1, .5, .5, 0, 0, .5, -.5, 0, 0, .5, .5, 1};
constexpr double output_matrix[] = {1, 1, 1, 0, 0, 1, -1, -1};
constexpr double output_adjoint[] = {1, 0, 1, 1, 1, -1, 0, -1};

void round_all(Tile& tile) {
  for (auto& row : tile) {
    for (double& v : row) v = rounded(v);
  }
}

// Elements [h, h + n) x [w, w + n) of a plane, zeros outside.
Tile part_of(const float* plane, Index height, Index width, Index h, Index w, Index n) {
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

// Winograd's convolution by its definition: a product of rounded components for each pair of
// channels and each tile of 2 x 2.
Sums rounded_components(const ConvCase<float>& c, ConvDirection direction) {
  const ConvShape& s = c.shape;
  const bool back = direction == ConvDirection::backward_data;
  const bool by_weights = direction == ConvDirection::backward_weights;
  const Index inner = back ? s.out_channels : s.in_channels;
  const Index outer = back ? s.in_channels : s.out_channels;
  const SpatialDims in = back ? s.out : s.in;
  const SpatialDims out = back ? s.in : s.out;
  const Index pad_h = back ? 2 - s.pad[1] : s.pad[1];
  const Index pad_w = back ? 2 - s.pad[2] : s.pad[2];
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
    Tile all = both(weight_matrix, 4, 3, taps);
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
        for (Index h = 0; h < out[1]; h += 2) {
          for (Index w = 0; w < out[2]; w += 2) {
            Tile v =
                both(input_matrix, 4, 4, part_of(plane, in[1], in[2], h - pad_h, w - pad_w, 4));
            round_all(v);
            Tile factor = u;
            if (by_weights) {
              const float* const dy = c.dy.data() + (n * outer + o) * volume(out);
              factor = both(output_adjoint, 4, 2, part_of(dy, out[1], out[2], h, w, 2));
              round_all(factor);
            }
            double size = 0;
            for (std::size_t a = 0; a < 4; ++a) {
              for (std::size_t b = 0; b < 4; ++b) {
                v[a][b] *= factor[a][b];
                gradient[a][b] += v[a][b];
                size += std::abs(v[a][b]);
              }
            }
            gradient_size += size;
            if (by_weights) continue;
            const Tile y = both(output_matrix, 2, 4, v);
            for (Index a = 0; a < 2 && h + a < out[1]; ++a) {
              for (Index b = 0; b < 2 && w + b < out[2]; ++b) {
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
      const Tile dw = both(weight_adjoint, 3, 4, gradient);
      for (std::size_t k = 0; k < 9; ++k) {
        const auto at = static_cast<std::size_t>(o * inner + i) * 9 + k;
        sums.value[at] = dw[k / 3][k % 3];
        sums.size[at] = gradient_size;
      }
    }
  }
  return sums;
}

bool is_winograd(std::string_view name) { return name.starts_with("winograd"); }

std::vector<float> run(const ConvCase<float>& c, const ConvDesc& desc, bool with_bias,
                       const ConvPrimitive<float>& primitive, int threads, std::size_t elements) {
  ThreadPool pool(threads);
  Scratch scratch(primitive.workspace());
  std::vector<float> result(elements, 5);
  primitive.run(pool, c.args(with_bias, result.data()), scratch);
  INFO("direction " << static_cast<int>(desc.direction));
  CHECK(scratch.intact());
  return result;
}

void check(const ConvCase<float>& c, const ConvDesc& desc, bool with_bias, std::string_view name) {
  INFO(to_string(c.shape) << ", " << name << ", direction " << static_cast<int>(desc.direction));
  const Sums sums = is_winograd(name) ? rounded_components(c, desc.direction)
                                      : rounded_factors(c, desc.direction);
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 4}) {
    const auto primitive = ConvPrimitive<float>::make(desc, threads, name, *lower_kernels());
    CHECK(primitive.name() == name);
    CHECK(primitive.isa() == "avx512_bf16");
    results.push_back(run(c, desc, with_bias, primitive, threads, sums.value.size()));
  }
  CHECK(same_bits(results[0], results[1]));
  CHECK(same_bits(results[0], results[2]));
  const bool forward = desc.direction == ConvDirection::forward;
  const auto plane = static_cast<std::size_t>(volume(forward ? c.shape.out : c.shape.in));
  const auto channels =
      static_cast<std::size_t>(forward ? c.shape.out_channels : c.shape.in_channels);
  double worst = 0;
  for (std::size_t i = 0; i < sums.value.size(); ++i) {
    double wanted = sums.value[i];
    if (with_bias) wanted += double{c.bias[i / plane % channels]};
    if (desc.activation == Activation::relu) wanted = std::max(wanted, 0.0);
    worst = std::max(worst, std::abs(double{results[0][i]} - wanted) / (sums.size[i] + 1));
  }
  CHECK(worst < 1e-6);
}

// Every implementation of lower precision that supports the shape; those named must.
using enum ConvDirection;

void check_all(const ConvShape& s, const std::vector<std::string_view>& wanted,
               const std::vector<ConvDirection>& directions = {forward, backward_data,
                                                               backward_weights}) {
  const ConvCase<float> c = coarse_case(s);
  for (const std::string_view name : wanted) {
    INFO(to_string(s) << ", " << name);
    bool found = false;
    for (const ConvDirection direction : directions) {
      for (const auto& entry : lower_conv_implementations<float>()) {
        const ConvDesc desc{s, direction};
        if (entry.name != name || !entry.supports(desc, *lower_kernels())) continue;
        found = true;
        check(c, desc, false, name);
        if (direction != backward_weights) check(c, desc, true, name);
        if (direction == forward) check(c, {s, forward, Activation::relu}, true, name);
      }
    }
    CHECK(found);
  }
}

}  // namespace

TEST_CASE("convolutions of lower precision sum products of factors rounded to bfloat16") {
  if (lower_kernels() == nullptr) return;
  check_all(shape2(2, 24, 40, 1, 9, 9, 1, 1, 1, 1, 0, 0), {"pointwise_bf16"});
  check_all(shape2(2, 24, 40, 1, 13, 11, 1, 1, 1, 1, 0, 0), {"pointwise_bf16"});
  check_all(shape2(8, 24, 40, 1, 3, 3, 1, 1, 1, 1, 0, 0), {"pointwise_bf16"});
  check_all(shape2(11, 24, 40, 1, 8, 13, 1, 1, 1, 1, 0, 0), {"pointwise_bf16"});
  check_all(shape2(19, 24, 40, 1, 1, 1, 1, 1, 1, 1, 0, 0), {"pointwise_bf16"});
  check_all(shape2(2, 3, 64, 1, 19, 17, 7, 7, 2, 1, 3, 3), {"im2col_bf16"});
  check_all(shape2(3, 20, 70, 1, 11, 10, 3, 3, 2, 1, 1, 1), {"im2col_bf16"});
  check_all(shape2(13, 20, 70, 1, 9, 10, 3, 3, 2, 1, 1, 1), {"im2col_bf16"});
  check_all(shape2(2, 40, 66, 2, 9, 10, 3, 3, 1, 1, 1, 1), {"im2col_bf16"});
  check_all(shape2(1, 70, 65, 1, 17, 18, 3, 3, 1, 2, 2, 2), {"im2col_bf16"});
  check_all({2, 17, 32, 1, {3, 6, 7}, {3, 3, 3}, {3, 6, 7}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
            {"im2col_bf16"});
  check_all(shape2(1, 24, 600, 1, 20, 20, 3, 3, 3, 1, 1, 1), {"im2col_bf16"});
}

TEST_CASE("grouped convolutions of lower precision sum products of factors rounded to bfloat16") {
  if (lower_kernels() == nullptr) return;
  check_all(shape2(3, 42, 70, 7, 9, 8, 3, 2, 2, 1, 1, 0), {"grouped_bf16"});
  check_all(shape2(4, 40, 40, 5, 7, 7, 3, 3, 1, 1, 1, 1), {"grouped_bf16"});
  check_all(shape2(2, 33, 66, 3, 4, 5, 3, 3, 1, 2, 2, 2), {"grouped_bf16"});
  check_all(shape2(1, 128, 128, 4, 14, 15, 3, 3, 2, 1, 1, 1), {"grouped_bf16"});
  check_all(shape2(5, 20, 20, 5, 30, 90, 3, 3, 1, 1, 1, 1), {"grouped_bf16"});
  check_all(shape2(5, 16, 32, 1, 12, 10, 3, 5, 1, 1, 1, 2), {"grouped_bf16"});
}

TEST_CASE("joined columns of lower precision sum products of factors rounded to bfloat16") {
  if (lower_kernels() == nullptr) return;
  check_all(shape2(13, 20, 70, 1, 9, 10, 3, 3, 2, 1, 1, 1), {"joined_columns_bf16"});
  check_all(shape2(4, 300, 18, 1, 5, 5, 3, 3, 1, 1, 1, 1), {"joined_columns_bf16"});
  check_all(shape2(4, 40, 18, 1, 3, 3, 3, 3, 1, 1, 1, 1), {"joined_columns_bf16"});
  check_all(shape2(2, 17, 66, 1, 31, 31, 1, 1, 2, 1, 0, 0), {"joined_columns_bf16"});
  check_all({2, 4, 32, 1, {3, 6, 7}, {3, 3, 3}, {3, 6, 7}, {1, 1, 1}, {1, 1, 1}, {1, 1, 1}},
            {"joined_columns_bf16"});
}

TEST_CASE("Winograd convolutions of lower precision round transformed components") {
  if (lower_kernels() == nullptr) return;
  for (const auto& [pad, pad_end] : {std::pair(0, 0), {1, 1}, {0, 2}, {2, 1}}) {
    check_all(shape2(3, 17, 19, 1, 9, 12, 3, 3, 1, 1, pad, pad_end), {"winograd_bf16"});
    check_all(shape2(2, 37, 18, 1, 10, 7, 3, 3, 1, 1, pad, pad_end), {"winograd_bf16"});
  }
  check_all(shape2(8, 70, 90, 1, 4, 4, 3, 3, 1, 1, 1, 1), {"winograd_bf16"});
  check_all(shape2(7, 141, 150, 1, 5, 4, 3, 3, 1, 1, 1, 1),
            {"winograd_bf16", "winograd_panels_bf16"});
  // More channels than a block of the product has.
  check_all(shape2(1, 518, 20, 1, 8, 9, 3, 3, 1, 1, 1, 1),
            {"winograd_bf16", "winograd_panels_bf16"});
  // An odd number of tiles in an image; more tiles and channels than are transformed at a time.
  check_all(shape2(3, 17, 300, 1, 22, 18, 3, 3, 1, 1, 1, 1), {"winograd_bf16"}, {backward_weights});
}

TEST_CASE("convolutions of lower precision are chosen where they pay, and only there") {
  const Kernels* lower = lower_kernels();
  if (lower == nullptr) return;
  using enum ConvDirection;
  const auto name = [&](const ConvShape& s, ConvDirection direction) {
    return ConvPrimitive<float>::make({s, direction}, 1, *lower).name();
  };
  const ConvShape square = shape2(8, 64, 64, 1, 32, 32, 3, 3, 1, 1, 1, 1);
  for (const auto direction : {forward, backward_data, backward_weights}) {
    CHECK(name(square, direction) == "winograd_bf16");
    CHECK(name(shape2(8, 64, 128, 1, 32, 32, 3, 3, 2, 1, 1, 1), direction) ==
          "joined_columns_bf16");
    CHECK(name(shape2(8, 64, 128, 1, 36, 36, 3, 3, 2, 1, 1, 1), direction) == "im2col_bf16");
    CHECK(
        name(shape2(4, 32, 32, 32, 28, 28, 3, 3, 1, 1, 1, 1), direction).starts_with("depthwise"));
    CHECK(name(shape2(4, 8, 16, 1, 14, 14, 5, 5, 1, 1, 2, 2), direction) ==
          (direction == backward_data ? "direct" : "grouped_bf16"));
    CHECK(name(shape2(4, 12, 16, 1, 14, 14, 5, 5, 1, 1, 2, 2), direction) == "direct");
    CHECK(name(shape2(4, 64, 64, 8, 14, 14, 3, 3, 2, 1, 1, 1), direction) == "grouped_bf16");
    CHECK(name(shape2(1, 64, 64, 8, 14, 14, 3, 3, 2, 1, 1, 1), direction) ==
          (direction == backward_weights ? "grouped" : "grouped_bf16"));
    CHECK(name(shape2(4, 64, 128, 1, 1, 1, 1, 1, 1, 1, 0, 0), direction) == "pointwise");
    for (const auto& entry : lower_conv_implementations<double>()) {
      CHECK_FALSE(entry.supports({square, direction}, *lower));
    }
    for (const auto& entry : lower_conv_implementations<float>()) {
      CHECK_FALSE(entry.supports({square, direction}, *kernels_for(Isa::avx512)));
    }
  }
}
