#include "kernels/conv/conv_primitive.h"

#include "tests/kernels/common/math_test.h"

using namespace ondine;
using namespace ondine::math;
using namespace ondine::math::test;

namespace {

using Index = std::int64_t;

Index volume(const Extents& e) { return e[0] * e[1] * e[2]; }

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

template <class T, class Size, class Body>
void check(const std::vector<double>& expected, Size&& size, Body&& body) {
  for (const auto* kernels : all_kernels()) {
    std::vector<std::vector<T>> results;
    for (const int threads : {1, 2, 4}) {
      ThreadPool pool(threads);
      Scratch scratch(size(threads, *kernels));
      results.emplace_back(expected.size(), T(5));
      body(pool, results.back().data(), static_cast<Workspace>(scratch), *kernels);
      CHECK(scratch.intact());
    }
    INFO(isa_name(*kernels));
    CHECK(worst_error(results[0], expected) < 2 * tolerance<T>);
    CHECK(same_bits(results[0], results[1]));
    CHECK(same_bits(results[0], results[2]));
  }
}

template <class T>
void check_all(const ConvShape& s) {
  Numbers numbers(static_cast<std::uint64_t>(volume(s.in) + s.in_channels));
  const auto x = numbers.row<T>(s.batch * s.in_channels * volume(s.in));
  const auto w = numbers.row<T>(s.out_channels * (s.in_channels / s.groups) * volume(s.kernel));
  const auto dy = numbers.row<T>(s.batch * s.out_channels * volume(s.out));
  const auto bias = numbers.row<T>(std::max(s.out_channels, s.in_channels));
  std::vector<double> y(dy.size()), dx(x.size()), dw(w.size());
  const auto out_plane = static_cast<std::size_t>(volume(s.out));
  const auto in_plane = static_cast<std::size_t>(volume(s.in));
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = static_cast<double>(bias[i / out_plane % static_cast<std::size_t>(s.out_channels)]);
  }
  for_products(s, [&](std::size_t i, std::size_t j, std::size_t k) {
    y[k] += static_cast<double>(x[i]) * static_cast<double>(w[j]);
    dx[i] += static_cast<double>(dy[k]) * static_cast<double>(w[j]);
    dw[j] += static_cast<double>(dy[k]) * static_cast<double>(x[i]);
  });
  for (auto& value : y) value = std::max(value, 0.0);
  INFO("batch " << s.batch << " channels " << s.in_channels << " " << s.out_channels << " groups "
                << s.groups << " in " << s.in[1] << "x" << s.in[2] << " kernel " << s.kernel[1]
                << "x" << s.kernel[2] << " stride " << s.stride[1] << "x" << s.stride[2]);
  check<T>(
      y, [&](int threads, const Kernels& k) { return conv_workspace<T>(s, threads, k); },
      [&](ThreadPool& pool, T* out, Workspace ws, const Kernels& k) {
        conv(pool, s, x.data(), w.data(), bias.data(), out, Activation::relu, ws, k);
      });
  for (auto& value : y) value = std::min(value, 6.0);
  check<T>(
      y, [&](int threads, const Kernels& k) { return conv_workspace<T>(s, threads, k); },
      [&](ThreadPool& pool, T* out, Workspace ws, const Kernels& k) {
        conv(pool, s, x.data(), w.data(), bias.data(), out, Activation::relu6, ws, k);
      });
  const auto dx_size = [&](int threads, const Kernels& k) {
    return conv_input_gradient_workspace<T>(s, threads, k);
  };
  check<T>(dx, dx_size, [&](ThreadPool& pool, T* out, Workspace ws, const Kernels& k) {
    conv_input_gradient<T>(pool, s, dy.data(), w.data(), nullptr, out, ws, k);
  });
  for (std::size_t i = 0; i < dx.size(); ++i) {
    dx[i] += static_cast<double>(bias[i / in_plane % static_cast<std::size_t>(s.in_channels)]);
  }
  check<T>(dx, dx_size, [&](ThreadPool& pool, T* out, Workspace ws, const Kernels& k) {
    conv_input_gradient(pool, s, dy.data(), w.data(), bias.data(), out, ws, k);
  });
  check<T>(
      dw,
      [&](int threads, const Kernels& k) {
        return conv_weight_gradient_workspace<T>(s, threads, k);
      },
      [&](ThreadPool& pool, T* out, Workspace ws, const Kernels& k) {
        conv_weight_gradient(pool, s, x.data(), dy.data(), out, ws, k);
      });
}

// `pad` at the beginning and `pad_end` at the end of height and width.
ConvShape shape2(Index batch, Index in, Index out, Index groups, Index h, Index w, Index kh,
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

}  // namespace

TEMPLATE_TEST_CASE("convolution and both gradients follow the definition", "", float, double) {
  using T = TestType;
  SECTION("pointwise") {
    check_all<T>(shape2(2, 3, 5, 1, 4, 6, 1, 1, 1, 1, 0, 0));
    check_all<T>(shape2(3, 20, 40, 1, 9, 9, 1, 1, 1, 1, 0, 0));
    check_all<T>(shape2(2, 8, 12, 4, 5, 7, 1, 1, 1, 1, 0, 0));
    check_all<T>(shape2(2, 70, 50, 1, 30, 31, 1, 1, 1, 1, 0, 0));
  }
  SECTION("pointwise with a stride or padding") {
    check_all<T>(shape2(2, 6, 5, 1, 9, 8, 1, 1, 2, 1, 0, 0));
    check_all<T>(shape2(2, 6, 5, 1, 4, 4, 1, 1, 1, 1, 1, 2));
  }
  SECTION("general") {
    check_all<T>(shape2(1, 1, 1, 1, 5, 5, 3, 3, 1, 1, 1, 1));
    check_all<T>(shape2(2, 3, 8, 1, 12, 13, 3, 3, 1, 1, 1, 1));
    check_all<T>(shape2(2, 3, 4, 1, 14, 11, 5, 3, 2, 1, 2, 1));
    check_all<T>(shape2(1, 4, 6, 2, 9, 10, 3, 3, 1, 2, 2, 2));
    check_all<T>(shape2(2, 4, 6, 2, 9, 10, 2, 4, 3, 1, 0, 3));
    check_all<T>(shape2(1, 40, 33, 1, 20, 23, 3, 3, 1, 1, 1, 1));
    check_all<T>(shape2(2, 3, 16, 1, 40, 37, 7, 7, 2, 1, 3, 3));
    check_all<T>(shape2(1, 2, 3, 1, 4, 4, 3, 3, 1, 1, 5, 5));
  }
  SECTION("3 x 3 windows with many channels") {
    for (const auto& [pad, pad_end] : {std::pair(0, 0), {1, 1}, {2, 2}, {0, 2}, {2, 1}}) {
      check_all<T>(shape2(3, 16, 19, 1, 9, 12, 3, 3, 1, 1, pad, pad_end));
      check_all<T>(shape2(2, 37, 16, 1, 10, 7, 3, 3, 1, 1, pad, pad_end));
    }
    check_all<T>(shape2(1, 64, 64, 1, 32, 32, 3, 3, 1, 1, 1, 1));
    check_all<T>(shape2(8, 70, 130, 1, 4, 4, 3, 3, 1, 1, 1, 1));
    check_all<T>(shape2(7, 140, 150, 1, 5, 4, 3, 3, 1, 1, 1, 1));
    check_all<T>(shape2(1, 128, 20, 1, 9, 10, 3, 3, 1, 1, 0, 2));
    check_all<T>(shape2(40, 16, 16, 1, 3, 3, 3, 3, 1, 1, 0, 1));
    check_all<T>(shape2(1, 16, 16, 1, 6, 200, 3, 3, 1, 1, 1, 1));
    // Not for tiles: too much padding, a dilation, groups, a flat depth.
    check_all<T>(shape2(2, 16, 16, 1, 9, 9, 3, 3, 1, 1, 3, 3));
    check_all<T>(shape2(2, 16, 16, 1, 9, 9, 3, 3, 1, 2, 2, 2));
    check_all<T>(shape2(2, 32, 32, 2, 9, 9, 3, 3, 1, 1, 1, 1));
    check_all<T>({2, 16, 16, 1, {2, 9, 9}, {1, 3, 3}, {2, 9, 9}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}});
  }
  SECTION("strided windows") {
    for (const auto& [pad, pad_end] : {std::pair(0, 0), {1, 1}, {0, 1}, {1, 0}, {4, 2}, {0, 5}}) {
      check_all<T>(shape2(4, 16, 24, 1, 9, 12, 3, 3, 2, 1, pad, pad_end));
      check_all<T>(shape2(7, 37, 40, 1, 10, 7, 3, 3, 2, 1, pad, pad_end));
      check_all<T>(shape2(2, 5, 64, 1, 15, 34, 5, 4, 2, 1, pad, pad_end));
    }
    check_all<T>(shape2(3, 64, 100, 1, 16, 16, 3, 3, 2, 1, 1, 1));
    check_all<T>(shape2(1, 3, 64, 1, 62, 61, 7, 7, 2, 1, 3, 3));
    check_all<T>(shape2(2, 3, 32, 1, 50, 64, 3, 3, 2, 1, 1, 1));
    check_all<T>(shape2(5, 130, 150, 1, 7, 7, 3, 3, 2, 1, 1, 1));
    check_all<T>(shape2(2, 24, 48, 1, 19, 20, 3, 3, 2, 2, 2, 2));
    check_all<T>(shape2(2, 24, 48, 1, 18, 21, 2, 3, 2, 3, 1, 4));
    check_all<T>(shape2(70, 16, 16, 1, 1, 1, 3, 3, 2, 1, 1, 1));
    check_all<T>(shape2(40, 16, 16, 1, 4, 1, 2, 2, 2, 1, 1, 1));
    check_all<T>(shape2(1, 16, 33, 1, 6, 1100, 3, 3, 2, 1, 1, 1));
    check_all<T>(shape2(2, 32, 64, 2, 13, 14, 3, 3, 2, 1, 1, 1));
    check_all<T>(
        {2, 20, 40, 1, {1, 9, 30}, {1, 3, 5}, {1, 5, 28}, {1, 2, 1}, {1, 1, 1}, {0, 1, 1}});
    check_all<T>(
        {2, 20, 40, 1, {1, 9, 31}, {1, 3, 5}, {1, 8, 15}, {1, 1, 2}, {1, 1, 1}, {0, 1, 1}});
    check_all<T>(
        {2, 17, 32, 1, {1, 1, 50}, {1, 1, 7}, {1, 1, 22}, {1, 1, 2}, {1, 1, 1}, {0, 0, 1}});
  }
  SECTION("few channels") {
    check_all<T>(shape2(5, 1, 8, 1, 28, 28, 5, 5, 1, 1, 2, 2));
    check_all<T>(shape2(9, 8, 16, 1, 14, 14, 5, 5, 1, 1, 2, 2));
    check_all<T>(shape2(3, 3, 20, 1, 17, 40, 3, 3, 1, 1, 1, 1));
    check_all<T>(shape2(2, 5, 3, 1, 9, 11, 2, 4, 1, 1, 0, 3));
    check_all<T>(shape2(2, 4, 7, 1, 12, 19, 3, 3, 1, 2, 4, 1));
    check_all<T>({3, 2, 5, 1, {1, 1, 50}, {1, 1, 7}, {1, 1, 48}, {1, 1, 1}, {1, 1, 1}, {0, 0, 1}});
  }
  SECTION("depthwise over small planes with many channels") {
    check_all<T>(shape2(3, 20, 20, 20, 7, 7, 3, 3, 1, 1, 1, 1));
    check_all<T>(shape2(2, 37, 37, 37, 14, 14, 3, 3, 2, 1, 1, 1));
    check_all<T>(shape2(2, 16, 16, 16, 13, 11, 3, 3, 2, 1, 0, 1));
    check_all<T>(shape2(2, 33, 33, 33, 8, 9, 5, 5, 1, 1, 2, 2));
    check_all<T>(shape2(1, 17, 17, 17, 9, 8, 4, 2, 3, 2, 1, 0));
    check_all<T>(shape2(2, 16, 16, 16, 5, 6, 3, 3, 1, 2, 2, 2));
    check_all<T>(shape2(2, 18, 18, 18, 5, 6, 2, 2, 1, 1, 3, 3));
    check_all<T>(shape2(1, 16, 16, 16, 1, 1, 3, 3, 1, 1, 1, 1));
    check_all<T>(shape2(2, 18, 18, 18, 56, 56, 3, 3, 1, 1, 1, 1));
    check_all<T>(shape2(2, 18, 18, 18, 111, 112, 3, 3, 2, 1, 1, 1));
    check_all<T>(
        {2, 24, 24, 24, {1, 1, 30}, {1, 1, 5}, {1, 1, 32}, {1, 1, 1}, {1, 1, 1}, {0, 0, 3}});
  }
  SECTION("depthwise") {
    check_all<T>(shape2(2, 3, 3, 3, 12, 13, 3, 3, 1, 1, 1, 1));
    check_all<T>(shape2(2, 5, 5, 5, 17, 40, 3, 3, 2, 1, 1, 1));
    check_all<T>(shape2(1, 4, 4, 4, 17, 20, 5, 5, 2, 1, 2, 1));
    check_all<T>(shape2(1, 4, 4, 4, 17, 20, 3, 5, 1, 3, 4, 2));
    check_all<T>(shape2(1, 4, 4, 4, 20, 17, 4, 2, 3, 2, 1, 0));
    check_all<T>(shape2(2, 3, 3, 3, 7, 7, 1, 1, 1, 1, 0, 0));
    check_all<T>(shape2(1, 2, 2, 2, 100, 700, 3, 3, 1, 1, 1, 1));
    check_all<T>(shape2(1, 2, 2, 2, 100, 700, 3, 3, 2, 1, 0, 1));
    check_all<T>(shape2(1, 2, 2, 2, 4, 4, 3, 3, 4, 1, 5, 5));
    check_all<T>(shape2(2, 3, 6, 3, 9, 9, 3, 3, 1, 1, 1, 1));
  }
  SECTION("one and three dimensions") {
    check_all<T>({2, 4, 6, 1, {1, 1, 30}, {1, 1, 5}, {1, 1, 13}, {1, 1, 2}, {1, 1, 1}, {0, 0, 0}});
    check_all<T>({2, 4, 4, 4, {1, 1, 30}, {1, 1, 5}, {1, 1, 32}, {1, 1, 1}, {1, 1, 1}, {0, 0, 3}});
    check_all<T>({2, 3, 4, 1, {5, 6, 7}, {3, 3, 3}, {5, 3, 7}, {1, 2, 1}, {1, 1, 1}, {1, 1, 1}});
    check_all<T>({1, 3, 3, 3, {5, 6, 7}, {1, 3, 3}, {5, 6, 7}, {1, 1, 1}, {1, 1, 1}, {0, 1, 1}});
    check_all<T>({1, 3, 3, 3, {5, 6, 7}, {2, 3, 3}, {4, 4, 5}, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}});
  }
  SECTION("nothing") {
    auto s = shape2(0, 3, 8, 1, 12, 13, 3, 3, 1, 1, 1, 1);
    check_all<T>(s);
    s = shape2(2, 3, 8, 1, 12, 13, 3, 3, 1, 1, 1, 1);
    s.out[1] = 0;
    check_all<T>(s);
  }
}
