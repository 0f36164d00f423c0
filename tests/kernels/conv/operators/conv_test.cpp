#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;

namespace {

struct Geometry {
  std::int64_t group = 1;
  std::vector<std::int64_t> strides, dilations, pads;  // pads at the beginnings
};

// Calls body(x index, w index, y index) for every product that makes up y = conv(x, w).
template <class Body>
void for_products(const Shape& x, const Shape& w, const Shape& y, const Geometry& g, Body body) {
  const std::size_t axes = x.rank() - 2;
  const Shape kernel(w.span().subspan(2));
  const Shape out(y.span().subspan(2));
  const std::int64_t in_group = x[1] / g.group;
  const std::int64_t out_group = y[1] / g.group;
  for (std::int64_t at = 0; at < y.size(); ++at) {
    const std::int64_t channel = at / out.size() % y[1];
    const std::int64_t n = at / out.size() / y[1];
    for (std::int64_t c = 0; c < in_group; ++c) {
      for (std::int64_t k = 0; k < kernel.size(); ++k) {
        std::int64_t o = at % out.size();
        std::int64_t rest = k;
        std::int64_t offset = 0;
        std::int64_t stride = 1;
        bool inside = true;
        for (std::size_t i = axes; i-- > 0;) {
          const std::int64_t p =
              o % out[i] * g.strides[i] + rest % kernel[i] * g.dilations[i] - g.pads[i];
          inside = inside && p >= 0 && p < x[2 + i];
          offset += p * stride;
          stride *= x[2 + i];
          o /= out[i];
          rest /= kernel[i];
        }
        if (!inside) continue;
        const std::int64_t source = channel / out_group * in_group + c;
        body((n * x[1] + source) * stride + offset, (channel * in_group + c) * kernel.size() + k,
             at);
      }
    }
  }
}

double at(const Tensor& t, std::int64_t i) {
  return t.values<double>()[static_cast<std::size_t>(i)];
}
double& at(Tensor& t, std::int64_t i) {
  return t.mutable_values<double>()[static_cast<std::size_t>(i)];
}

Tensor conv(const Tensor& x, const Tensor& w, const Shape& y_shape, const Geometry& g) {
  Tensor y(DType::float64, y_shape);
  for_products(x.shape(), w.shape(), y_shape, g,
               [&](auto i, auto k, auto o) { at(y, o) += at(x, i) * at(w, k); });
  return y;
}

Tensor conv_transpose(const Tensor& x, const Tensor& w, const Shape& y_shape, const Geometry& g) {
  Tensor y(DType::float64, y_shape);
  for_products(y_shape, w.shape(), x.shape(), g,
               [&](auto i, auto k, auto o) { at(y, i) += at(x, o) * at(w, k); });
  return y;
}

using Int64s = std::vector<std::int64_t>;

struct ConvCase {
  Shape x, w, y;
  Geometry g;
  graph::Attributes attributes;
};

const std::vector<ConvCase>& conv_cases() {
  static const std::vector<ConvCase> cases{
      {{2, 3, 7}, {4, 3, 3}, {2, 4, 5}, {1, {1}, {1}, {0}}, {}},
      {{1, 2, 5, 6}, {3, 2, 3, 2}, {1, 3, 3, 5}, {1, {1, 1}, {1, 1}, {0, 0}}, {}},
      {{2, 4, 6, 5},
       {6, 2, 3, 3},
       {2, 6, 3, 3},
       {2, {2, 2}, {1, 1}, {1, 1}},
       {{"group", 2L}, {"strides", Int64s{2, 2}}, {"pads", Int64s{1, 1, 1, 1}}}},
      {{1, 3, 6, 6},
       {3, 1, 3, 3},
       {1, 3, 6, 5},
       {3, {1, 1}, {2, 1}, {1, 0}},
       {{"group", 3L}, {"dilations", Int64s{2, 1}}, {"pads", Int64s{1, 0, 3, 1}}}},
      {{1, 2, 3, 4, 4}, {2, 2, 2, 2, 3}, {1, 2, 2, 3, 2}, {1, {1, 1, 1}, {1, 1, 1}, {0, 0, 0}}, {}},
      {{1, 1, 5, 5},
       {1, 1, 2, 2},
       {1, 1, 3, 3},
       {1, {2, 2}, {1, 1}, {0, 0}},
       {{"auto_pad", std::string("SAME_UPPER")}, {"strides", Int64s{2, 2}}}},
      {{1, 1, 6, 6},
       {1, 1, 3, 3},
       {1, 1, 3, 3},
       {1, {2, 2}, {1, 1}, {1, 1}},
       {{"auto_pad", std::string("SAME_LOWER")}, {"strides", Int64s{2, 2}}}},
      {{1, 1, 6, 6},
       {1, 1, 3, 3},
       {1, 1, 2, 2},
       {1, {2, 2}, {1, 1}, {0, 0}},
       {{"auto_pad", std::string("VALID")}, {"strides", Int64s{2, 2}}}},
  };
  return cases;
}

const std::vector<ConvCase>& transpose_cases() {
  static const std::vector<ConvCase> cases{
      {{2, 3, 4}, {3, 2, 3}, {2, 2, 6}, {1, {1}, {1}, {0}}, {}},
      {{1, 2, 3, 3},
       {2, 2, 3, 3},
       {1, 2, 7, 7},
       {1, {2, 2}, {1, 1}, {0, 0}},
       {{"strides", Int64s{2, 2}}}},
      {{1, 4, 3, 3},
       {4, 1, 3, 3},
       {1, 2, 6, 5},
       {2, {2, 2}, {1, 1}, {1, 1}},
       {{"group", 2L},
        {"strides", Int64s{2, 2}},
        {"pads", Int64s{1, 1, 1, 1}},
        {"output_padding", Int64s{1, 0}}}},
      {{1, 1, 3, 3},
       {1, 2, 3, 3},
       {1, 2, 10, 8},
       {1, {3, 2}, {1, 1}, {0, 0}},
       {{"strides", Int64s{3, 2}}, {"output_shape", Int64s{10, 8}}}},
      {{1, 1, 3, 3},
       {1, 2, 3, 3},
       {1, 2, 6, 6},
       {1, {2, 2}, {1, 1}, {0, 0}},
       {{"strides", Int64s{2, 2}}, {"auto_pad", std::string("SAME_UPPER")}}},
      {{1, 1, 3, 3},
       {1, 1, 2, 2},
       {1, 1, 5, 5},
       {1, {1, 1}, {2, 2}, {0, 0}},
       {{"dilations", Int64s{2, 2}}}},
      {{1, 1, 2, 2, 2},
       {1, 1, 2, 2, 2},
       {1, 1, 4, 4, 4},
       {1, {2, 2, 2}, {1, 1, 1}, {0, 0, 0}},
       {{"strides", Int64s{2, 2, 2}}}},
  };
  return cases;
}

}  // namespace

TEST_CASE("Conv sums over windows, channels of a group and adds a bias") {
  for (const auto& c : conv_cases()) {
    INFO(c.x.to_string() << " * " << c.w.to_string());
    const Tensor x = random_tensor(c.x, 1);
    const Tensor w = random_tensor(c.w, 2);
    Tensor want = conv(x, w, c.y, c.g);
    check_close(run_op_tensor({"Conv", {x, w}, c.attributes}), want);
    const Tensor bias = random_tensor({c.y[1]}, 3);
    for (std::int64_t i = 0; i < want.size(); ++i) {
      at(want, i) += at(bias, i / c.y.size(2, c.y.rank()) % c.y[1]);
    }
    check_close(run_op_tensor({"Conv", {x, w, bias}, c.attributes}), want);
  }
}

TEST_CASE("ConvTranspose spreads over windows") {
  for (const auto& c : transpose_cases()) {
    INFO(c.x.to_string() << " * " << c.w.to_string());
    const Tensor x = random_tensor(c.x, 1);
    const Tensor w = random_tensor(c.w, 2);
    Tensor want = conv_transpose(x, w, c.y, c.g);
    check_close(run_op_tensor({"ConvTranspose", {x, w}, c.attributes}), want);
    const Tensor bias = random_tensor({c.y[1]}, 3);
    for (std::int64_t i = 0; i < want.size(); ++i) {
      at(want, i) += at(bias, i / c.y.size(2, c.y.rank()) % c.y[1]);
    }
    check_close(run_op_tensor({"ConvTranspose", {x, w, bias}, c.attributes}), want);
  }
}

TEST_CASE("Convolutions of nothing") {
  const Tensor w = random_tensor({4, 3, 3}, 1);
  CHECK(run_op_tensor({"Conv", {random_tensor({0, 3, 5}, 1), w}}).shape() == Shape{0, 4, 3});
  const Tensor bias = random_tensor({2}, 1);
  const Tensor y = run_op_tensor(
      {"Conv", {Tensor(DType::float64, {1, 0, 3}), Tensor(DType::float64, {2, 0, 3}), bias}});
  CHECK(as_doubles(y) == as_doubles(bias));
}

TEST_CASE("Conv widens 16-bit floats") {
  const auto one = float16{0x3c00};
  Tensor x(DType::float16, {1, 1, 4});
  for (auto& v : x.mutable_values<float16>()) v = one;
  const Tensor y = run_op_tensor({"Conv", {x, x}});
  CHECK(y.dtype() == DType::float16);
  CHECK(as_doubles(y) == std::vector<double>{4});
}

TEST_CASE("Convolutions name what does not fit") {
  const Tensor x = random_tensor({1, 3, 5, 5}, 1);
  const Tensor w = random_tensor({2, 3, 3, 3}, 2);
  const auto throws = [&](std::vector<Value> inputs, graph::Attributes attributes, const char* text,
                          const char* op = "Conv") {
    CHECK_THROWS_WITH(run_op({op, std::move(inputs), std::move(attributes)}),
                      Catch::Contains(text));
  };
  throws({x, w}, {{"strides", Int64s{0, 1}}}, "strides holds 0");
  throws({x, w}, {{"dilations", Int64s{1, -1}}}, "dilations holds -1");
  throws({x, w}, {{"pads", Int64s{0, 0, -1, 0}}}, "pads holds -1");
  throws({x, w}, {{"pads", Int64s{0, 0}}}, "pads has 2 values");
  throws({x, w}, {{"group", 0L}}, "group is 0");
  throws({x, w}, {{"group", 3L}}, "channels of X and of W");
  throws({x, random_tensor({3, 1, 3, 3}, 2), random_tensor({2}, 1)}, {{"group", 3L}}, "B and W");
  throws({x, w}, {{"kernel_shape", Int64s{2, 3}}}, "kernel dims");
  throws({x, w}, {{"auto_pad", std::string("SAME")}}, "auto_pad");
  throws({x, w}, {{"dilations", Int64s{4, 1}}}, "does not fit");
  throws({x, w}, {{"dilations", Int64s{std::int64_t{1} << 62, 1}}}, "4611686018427387904");
  throws({x, w}, {{"pads", Int64s{std::int64_t{1} << 62, 0, std::int64_t{1} << 62, 0}}},
         "4611686018427387904");
  throws({x, random_tensor({2, 3, 3}, 1)}, {}, "differ in rank");
  throws({x, w}, {{"output_padding", Int64s{-1, 0}}}, "channels", "ConvTranspose");
  throws({x, random_tensor({3, 1, 3, 3}, 1)}, {{"output_padding", Int64s{-1, 0}}}, "negative",
         "ConvTranspose");
  throws({x, random_tensor({3, 1, 3, 3}, 1)}, {{"pads", Int64s{9, 0, 9, 0}}}, "removes all",
         "ConvTranspose");
}

TEST_CASE("Derivatives of convolutions") {
  const GradientCheck check{.elements = 12};
  for (std::size_t i = 0; i < conv_cases().size(); ++i) {
    const auto& c = conv_cases()[i];
    INFO("case " << i);
    check_gradient({"Conv",
                    {random_tensor(c.x, 1), random_tensor(c.w, 2), random_tensor({c.y[1]}, 3)},
                    c.attributes},
                   check);
  }
  for (std::size_t i = 0; i < transpose_cases().size(); ++i) {
    const auto& c = transpose_cases()[i];
    INFO("transposed case " << i);
    check_gradient({"ConvTranspose",
                    {random_tensor(c.x, 1), random_tensor(c.w, 2), random_tensor({c.y[1]}, 3)},
                    c.attributes},
                   check);
  }
}
