// Values of the sampling operators against sums written out.
#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/kernels/common/numbers.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Int64s = std::vector<std::int64_t>;
std::string text(const char* s) { return s; }
Tensor ints(const Int64s& v) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(v.size())}, v);
}

// A plane of an image with rules for what lies outside of it.
struct Plane {
  const double* data;
  std::int64_t height, width;
  std::string padding;
  bool corners;

  static std::int64_t fold(std::int64_t i, std::int64_t n, bool corners) {
    // Step by step across the borders.
    while (i < 0 || i >= n) {
      if (n == 1 && corners) return 0;
      if (i < 0) i = corners ? -i : -i - 1;
      if (i >= n) i = corners ? 2 * (n - 1) - i : 2 * n - 1 - i;
    }
    return i;
  }
  double at(std::int64_t y, std::int64_t x) const {
    if (padding == "zeros" && (y < 0 || x < 0 || y >= height || x >= width)) return 0;
    if (padding == "border") {
      y = std::clamp<std::int64_t>(y, 0, height - 1);
      x = std::clamp<std::int64_t>(x, 0, width - 1);
    } else if (padding == "reflection") {
      y = fold(y, height, corners);
      x = fold(x, width, corners);
    }
    return data[y * width + x];
  }
};

double linear(const Plane& p, double y, double x) {
  const double top = std::floor(y);
  const double left = std::floor(x);
  double sum = 0;
  for (int i = 0; i < 2; ++i) {
    for (int j = 0; j < 2; ++j) {
      const double weight = (1 - std::abs(y - top - i)) * (1 - std::abs(x - left - j));
      sum += weight * p.at(static_cast<std::int64_t>(top) + i, static_cast<std::int64_t>(left) + j);
    }
  }
  return sum;
}

// Bilinear with pixels outside of the image counting as 0.
double inside(const double* data, std::int64_t height, std::int64_t width, double y, double x) {
  return linear({data, height, width, "zeros", false}, y, x);
}

}  // namespace

TEST_CASE("GridSample between pixels, with everything that may lie outside") {
  const Tensor x = random_tensor({2, 2, 4, 3}, 1);
  const Tensor grid = random_tensor({2, 3, 2, 2}, 2, -1.2, 1.2);
  for (const char* padding : {"zeros", "border", "reflection"}) {
    for (const bool corners : {false, true}) {
      INFO(padding << corners);
      const graph::Attributes attributes{{"padding_mode", text(padding)},
                                         {"align_corners", std::int64_t{corners}}};
      const Tensor y = run_op_tensor({"GridSample", {x, grid}, attributes});
      REQUIRE(y.shape() == Shape{2, 2, 3, 2});
      for (std::int64_t i = 0; i < 24; ++i) {
        const std::int64_t point = i / 12 * 6 + i % 6;
        const double gx = grid.values<double>()[static_cast<std::size_t>(point * 2)];
        const double gy = grid.values<double>()[static_cast<std::size_t>(point * 2 + 1)];
        const auto pixel = [&](double g, double n) {
          return corners ? (g + 1) / 2 * (n - 1) : ((g + 1) * n - 1) / 2;
        };
        const Plane plane{x.values<double>().data() + i / 6 * 12, 4, 3, padding, corners};
        double py = pixel(gy, 4);
        double px = pixel(gx, 3);
        if (plane.padding == "border") {
          py = std::clamp(py, 0.0, 3.0);
          px = std::clamp(px, 0.0, 2.0);
        }
        CHECK(y.values<double>()[static_cast<std::size_t>(i)] == Approx(linear(plane, py, px)));
      }
    }
  }
}

TEST_CASE("GridSample takes the nearest pixel") {
  const Tensor x = random_tensor({1, 1, 3, 5}, 1);
  const auto grid = Tensor::of<double>({1, 1, 3, 2}, {-0.9, -0.9, 0.1, 0.1, 0.75, 0.4});
  const auto v = x.values<double>();
  check_close(run_op_tensor({"GridSample", {x, grid}, {{"mode", text("nearest")}}}),
              Tensor::of<double>({1, 1, 1, 3}, {v[0], v[7], v[14]}));
  check_close(run_op_tensor({"GridSample", {x, grid}, {{"mode", text("nearest")}}, 1, "", 16}),
              Tensor::of<double>({1, 1, 1, 3}, {v[0], v[7], v[14]}));
}

TEST_CASE("Sampling operators in every float dtype and over nothing") {
  const Tensor x = random_tensor({1, 2, 4, 4}, 1, -1, 1);
  const Tensor grid = random_tensor({1, 2, 2, 2}, 2, -0.9, 0.9);
  const Tensor theta = random_tensor({1, 2, 3}, 3);
  const Tensor rois = Tensor::of<double>({1, 4}, {0, 0, 3, 3});
  const Tensor pooled = Tensor::of<double>({1, 5}, {0, 0, 0, 3, 3});
  const Tensor columns = random_tensor({1, 4, 4}, 4);
  const Tensor w = random_tensor({3, 2, 2, 2}, 5);
  const Tensor offset = random_tensor({1, 8, 3, 3}, 6, -0.5, 0.5);
  const std::vector<OpCase> cases{
      {"GridSample", {x, grid}},
      {"AffineGrid", {theta, ints({1, 1, 2, 3})}},
      {"RoiAlign", {x, rois, ints({0})}, {{"output_height", 2L}, {"output_width", 2L}}},
      {"MaxRoiPool", {x, pooled}, {{"pooled_shape", Int64s{2, 2}}}},
      {"Col2Im", {columns, ints({3, 3}), ints({2, 2})}},
      {"DeformConv", {x, w, offset}}};
  for (const OpCase& one : cases) {
    for (const DType dtype : float_dtypes) {
      INFO(one.op << " " << to_string(dtype));
      OpCase narrow = one;
      OpCase in_double = one;
      for (std::size_t i = 0; i < one.inputs.size(); ++i) {
        const Tensor& input = one.inputs[i].tensor();
        if (input.dtype() != DType::float64) continue;
        const Tensor rounded = as_dtype(input, dtype);
        narrow.inputs[i] = rounded;
        in_double.inputs[i] = Tensor::of<double>(input.shape(), as_doubles(rounded));
      }
      const auto got = as_doubles(run_op_tensor(narrow));
      const auto want = as_doubles(run_op_tensor(in_double));
      const double margin = dtype == DType::bfloat16 ? 0.05 : dtype == DType::float16 ? 5e-3 : 1e-5;
      for (std::size_t i = 0; i < want.size(); ++i) CHECK(got[i] == Approx(want[i]).margin(margin));
    }
  }
  const auto none = [](const Shape& shape) { return Tensor(DType::float32, shape); };
  CHECK(run_op_tensor({"GridSample", {none({0, 2, 4, 4}), none({0, 2, 2, 2})}}).shape() ==
        Shape{0, 2, 2, 2});
  CHECK_THROWS_AS(run_op({"GridSample", {none({1, 2, 0, 4}), none({1, 2, 2, 2})}}), Error);
  CHECK(run_op_tensor({"RoiAlign", {none({1, 2, 4, 4}), none({0, 4}), ints({})}}).shape() ==
        Shape{0, 2, 1, 1});
  CHECK(run_op_tensor(
            {"MaxRoiPool", {none({1, 2, 4, 4}), none({0, 5})}, {{"pooled_shape", Int64s{1, 1}}}})
            .shape() == Shape{0, 2, 1, 1});
  CHECK(run_op_tensor({"AffineGrid", {none({0, 2, 3}), ints({0, 1, 2, 2})}}).shape() ==
        Shape{0, 2, 2, 2});
  CHECK(run_op_tensor({"Col2Im", {none({0, 4, 4}), ints({3, 3}), ints({2, 2})}}).shape() ==
        Shape{0, 1, 3, 3});
  CHECK(run_op_tensor({"DeformConv", {none({0, 2, 4, 4}), none({3, 2, 2, 2}), none({0, 8, 3, 3})}})
            .shape() == Shape{0, 3, 3, 3});
}

TEST_CASE("RoiAlign averages points between pixels") {
  const Tensor x = random_tensor({2, 2, 6, 5}, 1);
  const std::vector<double> rois{0.5, 1, 3.5, 4.5, 1, 0, 4, 5};
  const Int64s images{1, 0};
  for (const bool half : {false, true}) {
    const graph::Attributes attributes{
        {"output_height", 2L},
        {"output_width", 3L},
        {"sampling_ratio", 2L},
        {"spatial_scale", 0.75F},
        {"coordinate_transformation_mode", text(half ? "half_pixel" : "output_half_pixel")}};
    const Tensor y = run_op_tensor(
        {"RoiAlign", {x, Tensor::of<double>({2, 4}, rois), ints(images)}, attributes});
    for (std::int64_t i = 0; i < y.size(); ++i) {
      const std::int64_t n = i / 12;
      const double* roi = rois.data() + n * 4;
      const double shift = half ? 0.5 : 0;
      const double x0 = roi[0] * 0.75 - shift;
      const double y0 = roi[1] * 0.75 - shift;
      double w = roi[2] * 0.75 - shift - x0;
      double h = roi[3] * 0.75 - shift - y0;
      if (!half) {
        w = std::max(w, 1.0);
        h = std::max(h, 1.0);
      }
      const double* plane =
          x.values<double>().data() + (images[static_cast<std::size_t>(n)] * 2 + i / 6 % 2) * 30;
      double sum = 0;
      for (int a = 0; a < 2; ++a) {
        for (int b = 0; b < 2; ++b) {
          const auto row = static_cast<double>(i % 6 / 3);
          const auto column = static_cast<double>(i % 3);
          // Points less than a pixel outside are moved to the border.
          const double py = std::clamp(y0 + (row + (a + 0.5) / 2) * h / 2, 0.0, 5.0);
          const double px = std::clamp(x0 + (column + (b + 0.5) / 2) * w / 3, 0.0, 4.0);
          sum += inside(plane, 6, 5, py, px) / 4;
        }
      }
      CHECK(y.values<double>()[static_cast<std::size_t>(i)] == Approx(sum));
    }
  }
  CHECK_THROWS_AS(run_op({"RoiAlign",
                          {x, Tensor::of<double>({2, 4}, rois), ints(images)},
                          {{"sampling_ratio", 1L << 40}}}),
                  Error);
}

TEST_CASE("RoiAlign's mean is linear: its derivative has one") {
  const Tensor x = random_tensor({1, 2, 4, 4}, 1);
  const auto rois = Tensor::of<double>({2, 4}, {0.3, 0.2, 2.7, 3.1, 1, 1, 3, 2});
  check_gradient({"RoiAlign", {x, rois, ints({0, 0})}, {{"output_height", 2L}}},
                 {.order = 2, .elements = 10, .skip = {1}});
}

TEST_CASE("DeformConv adds up what lies where the offsets point") {
  const Tensor x = random_tensor({1, 2, 4, 5}, 1);
  const Tensor w = random_tensor({3, 2, 2, 2}, 2);
  const Tensor offset = random_tensor({1, 8, 3, 4}, 3, -1.5, 1.5);
  const Tensor mask = random_tensor({1, 4, 3, 4}, 4);
  const Tensor bias = random_tensor({3}, 5);
  const Tensor y = run_op_tensor({"DeformConv", {x, w, offset, bias, mask}});
  REQUIRE(y.shape() == Shape{1, 3, 3, 4});
  for (std::int64_t m = 0; m < 3; ++m) {
    for (std::int64_t o = 0; o < 12; ++o) {
      double sum = bias.values<double>()[static_cast<std::size_t>(m)];
      for (std::int64_t c = 0; c < 2; ++c) {
        for (std::int64_t k = 0; k < 4; ++k) {
          const auto part = [&](const Tensor& t, std::int64_t channel) {
            return t.values<double>()[static_cast<std::size_t>(channel * 12 + o)];
          };
          const double row = static_cast<double>(o / 4 + k / 2) + part(offset, 2 * k);
          const double column = static_cast<double>(o % 4 + k % 2) + part(offset, 2 * k + 1);
          sum += w.values<double>()[static_cast<std::size_t>((m * 2 + c) * 4 + k)] * part(mask, k) *
                 inside(x.values<double>().data() + c * 20, 4, 5, row, column);
        }
      }
      CHECK(y.values<double>()[static_cast<std::size_t>(m * 12 + o)] == Approx(sum));
    }
  }
}

TEST_CASE("Col2Im puts columns where the window takes them") {
  const Tensor x = random_tensor({2, 12, 9}, 1);
  const Tensor y = run_op_tensor(
      {"Col2Im",
       {x, ints({5, 4}), ints({2, 3})},
       {{"strides", Int64s{2, 2}}, {"dilations", Int64s{2, 1}}, {"pads", Int64s{1, 1, 1, 2}}}});
  // Blocks: (5 + 2 - 3) / 2 + 1 = 3 rows, (4 + 3 - 3) / 2 + 1 = 3 columns.
  Tensor want(DType::float64, {2, 2, 5, 4});
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const std::int64_t block = i % 9;
    const std::int64_t element = i / 9 % 6;
    const std::int64_t row = block / 3 * 2 + element / 3 * 2 - 1;
    const std::int64_t column = block % 3 * 2 + element % 3 - 1;
    if (row < 0 || row >= 5 || column < 0 || column >= 4) continue;
    want.mutable_values<double>()[static_cast<std::size_t>(i / 54 * 20 + row * 4 + column)] +=
        x.values<double>()[static_cast<std::size_t>(i)];
  }
  check_close(y, want);
}
