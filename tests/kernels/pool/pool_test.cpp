#include <algorithm>
#include <cmath>
#include <limits>

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/kernels/common/numbers.h"
#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Int64s = std::vector<std::int64_t>;

struct PoolCase {
  Shape x, y;
  Int64s kernel, strides, dilations, begins, ends;
  graph::Attributes attributes;  // but kernel_shape
};

const std::vector<PoolCase>& pool_cases() {
  static const std::vector<PoolCase> cases{
      {{2, 2, 6}, {2, 2, 4}, {3}, {1}, {1}, {0}, {0}, {}},
      {{1, 2, 5, 6},
       {1, 2, 3, 3},
       {3, 2},
       {2, 2},
       {1, 1},
       {1, 0},
       {1, 0},
       {{"strides", Int64s{2, 2}}, {"pads", Int64s{1, 0, 1, 0}}}},
      {{1, 1, 6, 6},
       {1, 1, 3, 3},
       {3, 3},
       {2, 2},
       {1, 1},
       {0, 0},
       {0, 0},
       {{"strides", Int64s{2, 2}}, {"ceil_mode", 1L}}},
      {{1, 2, 7, 7},
       {1, 2, 3, 5},
       {3, 2},
       {1, 1},
       {2, 2},
       {0, 0},
       {0, 0},
       {{"dilations", Int64s{2, 2}}}},
      {{1, 1, 4, 5, 4},
       {1, 1, 2, 2, 2},
       {2, 2, 2},
       {2, 2, 2},
       {1, 1, 1},
       {0, 0, 0},
       {0, 0, 0},
       {{"strides", Int64s{2, 2, 2}}}},
      {{1, 1, 5, 5},
       {1, 1, 3, 3},
       {2, 2},
       {2, 2},
       {1, 1},
       {1, 1},
       {0, 0},
       {{"strides", Int64s{2, 2}}, {"auto_pad", std::string("SAME_LOWER")}}},
      {{1, 1, 5, 5},
       {1, 1, 3, 3},
       {2, 2},
       {2, 2},
       {1, 1},
       {0, 0},
       {1, 1},
       {{"strides", Int64s{2, 2}}, {"auto_pad", std::string("SAME_UPPER")}}},
      {{0, 2, 4, 4}, {0, 2, 3, 3}, {2, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {}},
  };
  return cases;
}

graph::Attributes with_kernel(const PoolCase& c, graph::Attributes more = {}) {
  for (const auto& a : c.attributes) more.push_back(a);
  more.emplace_back("kernel_shape", c.kernel);
  return more;
}

// Calls body(y index, x index or -1 in padding, plane) for each place of each window; places beyond
// the padding are left out.
template <class Body>
void for_windows(const PoolCase& c, Body body) {
  const std::size_t axes = c.kernel.size();
  const Shape in(c.x.span().subspan(2));
  const Shape out(c.y.span().subspan(2));
  const Shape kernel{std::span<const std::int64_t>(c.kernel)};
  for (std::int64_t o = 0; o < c.y.size(); ++o) {
    const std::int64_t plane = o / out.size();
    for (std::int64_t k = 0; k < kernel.size(); ++k) {
      std::int64_t position = o % out.size();
      std::int64_t rest = k;
      std::int64_t offset = 0;
      std::int64_t stride = 1;
      bool inside = true;
      bool padded = true;
      for (std::size_t i = axes; i-- > 0;) {
        const std::int64_t p =
            position % out[i] * c.strides[i] + rest % kernel[i] * c.dilations[i] - c.begins[i];
        inside = inside && p >= 0 && p < in[i];
        padded = padded && p < in[i] + c.ends[i];
        offset += p * stride;
        stride *= in[i];
        position /= out[i];
        rest /= kernel[i];
      }
      if (padded) body(o, inside ? plane * in.size() + offset : -1, plane);
    }
  }
}

double value(const Tensor& t, std::int64_t i) {
  return t.values<double>()[static_cast<std::size_t>(i)];
}
double& value(Tensor& t, std::int64_t i) {
  return t.mutable_values<double>()[static_cast<std::size_t>(i)];
}

}  // namespace

TEST_CASE("MaxPool finds the maxima and where they are") {
  for (const auto& c : pool_cases()) {
    INFO(c.x.to_string());
    const Tensor x = random_tensor(c.x, 1);
    Tensor y(DType::float64, c.y);
    Tensor indices(DType::int64, c.y);
    for (auto& v : y.mutable_values<double>()) v = -std::numeric_limits<double>::infinity();
    for_windows(c, [&](auto o, auto i, auto) {
      if (i < 0 || value(x, i) <= value(y, o)) return;
      value(y, o) = value(x, i);
      indices.mutable_values<std::int64_t>()[static_cast<std::size_t>(o)] = i;
    });
    const auto got = run_op({"MaxPool", {x}, with_kernel(c), 2});
    check_close(got[0].tensor(), y);
    check_close(got[1].tensor(), indices);
  }
}

TEST_CASE("MaxPool counts in columns with storage_order 1") {
  const auto x = Tensor::of<float>({2, 1, 2, 3}, {0, 0, 0, 0, 9, 0, 0, 0, 9, 0, 0, 0});
  const auto got =
      run_op({"MaxPool", {x}, {{"kernel_shape", Int64s{2, 3}}, {"storage_order", 1L}}, 2});
  check_close(got[1].tensor(), Tensor::of<std::int64_t>({2, 1, 1, 1}, {3, 6 + 4}));
}

TEST_CASE("MaxPool of bytes") {
  const auto x = Tensor::of<std::int8_t>({1, 1, 4}, {-128, 3, -7, 127});
  check_close(run_op_tensor({"MaxPool", {x}, {{"kernel_shape", Int64s{2}}}}),
              Tensor::of<std::int8_t>({1, 1, 3}, {3, 3, 127}));
}

TEST_CASE("MaxPool of bytes finds the maxima of their numbers") {
  auto cases = pool_cases();
  cases.push_back({{2, 3, 9, 70},
                   {2, 3, 4, 35},
                   {3, 3},
                   {2, 2},
                   {1, 1},
                   {0, 1},
                   {0, 1},
                   {{"strides", Int64s{2, 2}}, {"pads", Int64s{0, 1, 0, 1}}}});
  cases.push_back({{1, 2, 5, 90},
                   {1, 2, 3, 90},
                   {3, 3},
                   {1, 1},
                   {1, 1},
                   {0, 1},
                   {0, 1},
                   {{"pads", Int64s{0, 1, 0, 1}}}});
  for (const auto& c : cases) {
    for (const DType dtype : {DType::int8, DType::uint8}) {
      INFO(c.x.to_string() << " " << to_string(dtype));
      const double low = dtype == DType::int8 ? -128 : 0;
      const Tensor x = as_dtype(random_tensor(c.x, 5, low, low + 255), dtype);
      const auto numbers = as_doubles(x);
      std::vector<double> y(static_cast<std::size_t>(c.y.size()), low);
      for_windows(c, [&](auto o, auto i, auto) {
        auto& best = y[static_cast<std::size_t>(o)];
        if (i >= 0) best = std::max(best, numbers[static_cast<std::size_t>(i)]);
      });
      Tensor want(DType::float64, c.y);
      std::copy(y.begin(), y.end(), want.mutable_values<double>().begin());
      check_close(run_op_tensor({"MaxPool", {x}, with_kernel(c)}), as_dtype(want, dtype));
    }
  }
}

TEST_CASE("AveragePool divides by the elements, or by the padding too") {
  for (const auto& c : pool_cases()) {
    for (const std::int64_t padding : {0, 1}) {
      INFO(c.x.to_string() << padding);
      const Tensor x = random_tensor(c.x, 1);
      Tensor y(DType::float64, c.y);
      std::vector<double> count(static_cast<std::size_t>(c.y.size()));
      for_windows(c, [&](auto o, auto i, auto) {
        if (i >= 0) value(y, o) += value(x, i);
        if (i >= 0 || padding == 1) count[static_cast<std::size_t>(o)] += 1;
      });
      for (std::int64_t i = 0; i < y.size(); ++i) value(y, i) /= count[static_cast<std::size_t>(i)];
      check_close(
          run_op_tensor({"AveragePool", {x}, with_kernel(c, {{"count_include_pad", padding}})}), y);
    }
  }
}

TEST_CASE("LpPool and the global pools") {
  for (const auto& c : pool_cases()) {
    for (const std::int64_t p : {1, 2, 3}) {
      INFO(c.x.to_string() << p);
      const Tensor x = random_tensor(c.x, 1);
      Tensor y(DType::float64, c.y);
      for_windows(c, [&](auto o, auto i, auto) {
        if (i >= 0) value(y, o) += std::pow(std::abs(value(x, i)), static_cast<double>(p));
      });
      for (auto& v : y.mutable_values<double>()) v = std::pow(v, 1.0 / static_cast<double>(p));
      check_close(run_op_tensor({"LpPool", {x}, with_kernel(c, {{"p", p}})}), y);
    }
  }
  const auto x = Tensor::of<double>({1, 2, 2, 2}, {1, 2, 3, 6, -3, -4, 0, 0});
  check_close(run_op_tensor({"GlobalAveragePool", {x}}),
              Tensor::of<double>({1, 2, 1, 1}, {3, -1.75}));
  check_close(run_op_tensor({"GlobalMaxPool", {x}}), Tensor::of<double>({1, 2, 1, 1}, {6, 0}));
  check_close(run_op_tensor({"GlobalLpPool", {x}}),
              Tensor::of<double>({1, 2, 1, 1}, {std::sqrt(50.0), 5}));
  check_close(run_op_tensor({"GlobalLpPool", {x}, {{"p", 3L}}}),
              Tensor::of<double>({1, 2, 1, 1}, {std::cbrt(1.0 + 8 + 27 + 216), std::cbrt(91.0)}));
}

TEST_CASE("MaxUnpool puts values back where MaxPool found them") {
  const auto x = Tensor::of<double>({1, 1, 2, 2}, {5, 6, 7, 8});
  const auto at = Tensor::of<std::int64_t>({1, 1, 2, 2}, {5, 7, 13, 15});
  const graph::Attributes attributes{{"kernel_shape", Int64s{2, 2}}, {"strides", Int64s{2, 2}}};
  Tensor want(DType::float64, {1, 1, 4, 4});
  value(want, 5) = 5;
  value(want, 7) = 6;
  value(want, 13) = 7;
  value(want, 15) = 8;
  check_close(run_op_tensor({"MaxUnpool", {x, at}, attributes}), want);
  const auto shape = Tensor::of<std::int64_t>({4}, {1, 1, 5, 5});
  Tensor wider(DType::float64, {1, 1, 5, 5});
  value(wider, 6) = 5;
  value(wider, 8) = 6;
  value(wider, 16) = 7;
  value(wider, 18) = 8;
  check_close(run_op_tensor({"MaxUnpool", {x, at, shape}, attributes}), wider);
  const auto outside = Tensor::of<std::int64_t>({1, 1, 2, 2}, {5, 7, 13, 16});
  CHECK_THROWS_WITH(run_op({"MaxUnpool", {x, outside}, attributes}), Catch::Contains("index 16"));
  const auto small = Tensor::of<std::int64_t>({4}, {1, 1, 3, 5});
  CHECK_THROWS_AS(run_op({"MaxUnpool", {x, at, small}, attributes}), Error);
  check_gradient({"MaxUnpool", {x, at}, attributes});
  check_gradient({"MaxUnpool", {x, at, shape}, attributes});
}

TEST_CASE("Pools reject windows that make no sense") {
  const Tensor x = random_tensor({1, 1, 4, 4}, 1);
  for (const char* op : {"MaxPool", "AveragePool", "LpPool"}) {
    const auto throws = [&](graph::Attributes attributes) {
      CHECK_THROWS_AS(run_op({op, {x}, std::move(attributes)}), Error);
    };
    throws({});
    throws({{"kernel_shape", Int64s{2}}});
    throws({{"kernel_shape", Int64s{0, 2}}});
    throws({{"kernel_shape", Int64s{5, 2}}});
    throws({{"kernel_shape", Int64s{2, 2}}, {"strides", Int64s{0, 1}}});
    throws({{"kernel_shape", Int64s{2, 2}}, {"pads", Int64s{-1, 0, 0, 0}}});
    throws({{"kernel_shape", Int64s{2, 2}}, {"pads", Int64s{3, 0, 3, 0}}});
    throws({{"kernel_shape", Int64s{2, 2}}, {"dilations", Int64s{std::int64_t{1} << 62, 1}}});
  }
}

TEST_CASE("Derivatives of pools") {
  const GradientCheck check{.elements = 16};
  for (const auto& c : pool_cases()) {
    if (c.x.size() == 0) continue;
    INFO(c.x.to_string());
    const Tensor x = random_tensor(c.x, 1);
    check_gradient({"MaxPool", {x}, with_kernel(c)}, check);
    check_gradient({"MaxPool", {x}, with_kernel(c, {{"storage_order", 1L}}), 2}, check);
    check_gradient({"AveragePool", {x}, with_kernel(c)}, check);
    check_gradient({"AveragePool", {x}, with_kernel(c, {{"count_include_pad", 1L}})}, check);
    check_gradient({"LpPool", {x}, with_kernel(c)}, check);
    check_gradient({"LpPool", {x}, with_kernel(c, {{"p", 3L}})}, check);
    for (const char* op : {"GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"}) {
      check_gradient({op, {x}}, check);
    }
  }
}
