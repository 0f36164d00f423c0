#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Int64s = std::vector<std::int64_t>;

Tensor floats(std::vector<float> v) {
  return Tensor::of<float>({static_cast<std::int64_t>(v.size())}, v);
}
Tensor ints(std::vector<std::int64_t> v) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(v.size())}, v);
}
Tensor row(std::vector<double> v) {
  return Tensor::of<double>({static_cast<std::int64_t>(v.size())}, v);
}
OpCase by_scale(const Tensor& x, std::vector<float> scales, graph::Attributes attributes) {
  return {"Resize", {x, Value(), floats(std::move(scales))}, std::move(attributes)};
}
std::string text(const char* s) { return s; }

}  // namespace

TEST_CASE("Resize of a row by the formulas of each mode") {
  const Tensor x = row({1, 2, 4, 8});
  const auto mode = [&](const char* m, const char* t, std::vector<float> s) {
    return run_op_tensor(by_scale(
        x, std::move(s), {{"mode", text(m)}, {"coordinate_transformation_mode", text(t)}}));
  };
  check_close(mode("nearest", "asymmetric", {2}), row({1, 1, 2, 2, 4, 4, 8, 8}));
  check_close(mode("linear", "half_pixel", {2}), row({1, 1.25, 1.75, 2.5, 3.5, 5, 7, 8}));
  check_close(mode("linear", "align_corners", {1.75F}), row({1, 1.5, 2, 3, 4, 6, 8}));
  check_close(mode("linear", "asymmetric", {0.5F}), row({1, 4}));
  check_close(mode("cubic", "half_pixel", {1}), x);
  const auto smoothed = [&](std::int64_t exclude) {
    return run_op_tensor(by_scale(
        x, {0.5F}, {{"mode", text("linear")}, {"antialias", 1L}, {"exclude_outside", exclude}}));
  };
  check_close(smoothed(0), row({(1 * 1 + 0.75 * 2 + 0.25 * 4) / 2, (0.25 * 2 + 0.75 * 4 + 8) / 2}));
  check_close(smoothed(1), row({(0.75 * 1 + 0.75 * 2 + 0.25 * 4) / 1.75,
                                (0.25 * 2 + 0.75 * 4 + 0.75 * 8) / 1.75}));
  // The output size asked for, 2.4, sets the step.
  check_close(mode("linear", "align_corners", {0.6F}), row({1, 4 + 4 / 7.0}), {1e-5, 1e-6});
}

TEST_CASE("half_pixel_symmetric keeps the centre of the image where it is") {
  // 4 elements times 0.6 are 2.4, of which 2 are made: the sampled span of 2 / 0.6 elements lies in
  // the middle, from 1/3 on, with the first sample half a step past its start.
  const double first = 1.0 / 3 + 0.5 / 0.6 - 0.5;
  const double second = first + 1 / 0.6;
  const auto between = [](double at, double low, double high, double base) {
    return low + (at - base) * (high - low);
  };
  const graph::Attributes attributes{
      {"mode", text("linear")}, {"coordinate_transformation_mode", text("half_pixel_symmetric")}};
  const OpCase symmetric = by_scale(row({1, 2, 4, 8}), {0.6F}, attributes);
  check_close(run_op_tensor(symmetric), row({between(first, 1, 2, 0), between(second, 4, 8, 2)}),
              {1e-5, 1e-6});
  // Results of the reversed row are those of the row, reversed.
  check_close(run_op_tensor(by_scale(row({8, 4, 2, 1}), {0.6F}, attributes)),
              row({between(second, 4, 8, 2), between(first, 1, 2, 0)}), {1e-5, 1e-6});
  check_gradient(symmetric, {.dynamic_dims = false});
}

TEST_CASE("Resize by sizes, on some axes, keeping the aspect ratio") {
  const Tensor x = random_tensor({1, 2, 4, 6}, 1);
  const auto shape = [&](std::vector<std::int64_t> sizes, graph::Attributes attributes) {
    return run_op_tensor({"Resize", {x, Value(), Value(), ints(std::move(sizes))}, attributes})
        .shape();
  };
  CHECK(shape({1, 2, 8, 3}, {}) == Shape{1, 2, 8, 3});
  CHECK(shape({3, 8}, {{"axes", Int64s{3, 2}}}) == Shape{1, 2, 8, 3});
  const graph::Attributes smaller{{"axes", Int64s{2, 3}},
                                  {"keep_aspect_ratio_policy", text("not_larger")}};
  CHECK(shape({8, 9}, smaller) == Shape{1, 2, 6, 9});
  const graph::Attributes larger{{"axes", Int64s{2, 3}},
                                 {"keep_aspect_ratio_policy", text("not_smaller")}};
  CHECK(shape({8, 9}, larger) == Shape{1, 2, 8, 12});
}

TEST_CASE("Resize crops and extrapolates") {
  const Tensor x = row({1, 2, 4, 8});
  const OpCase crop{"Resize",
                    {x, floats({0, 2}), Value(), ints({3})},
                    {{"mode", text("linear")},
                     {"coordinate_transformation_mode", text("tf_crop_and_resize")},
                     {"extrapolation_value", 10.0F}}};
  check_close(run_op_tensor(crop), row({1, 8, 10}));
  check_gradient(crop, {.skip = {1}});
}

TEST_CASE("extrapolated elements have no derivative by x") {
  const auto dx = [&](const Tensor& dy) {
    return run_op_tensor(
        {.op = "ResizeGrad",
         .inputs = {dy, floats({0, 2}), Value(), ints({3}), ints({4})},
         .attributes = {{"mode", text("linear")},
                        {"coordinate_transformation_mode", text("tf_crop_and_resize")},
                        {"extrapolation_value", 10.0F}},
         .domain = "ai.ondine"});
  };
  check_close(dx(row({2, 3, 5})), row({2, 0, 0, 3}));
  check_close(dx(row({0, 0, 5})), row({0, 0, 0, 0}));
}

TEST_CASE("Upsample in all its versions") {
  const Tensor x = random_floats({1, 1, 2, 2}, 1);
  const Tensor want = run_op_tensor(by_scale(
      x, {1, 1, 2, 3},
      {{"coordinate_transformation_mode", text("asymmetric")}, {"nearest_mode", text("floor")}}));
  const OpCase first{.op = "Upsample",
                     .inputs = {x},
                     .attributes = {{"height_scale", 2.0F}, {"width_scale", 3.0F}},
                     .version = 1};
  const OpCase seventh{.op = "Upsample",
                       .inputs = {x},
                       .attributes = {{"scales", std::vector<float>{1, 1, 2, 3}}},
                       .version = 7};
  const OpCase ninth{.op = "Upsample", .inputs = {x, floats({1, 1, 2, 3})}, .version = 9};
  for (const OpCase& c : {first, seventh, ninth}) check_close(run_op_tensor(c), want);
}

TEST_CASE("Resize rejects what makes no sense") {
  const Tensor x = random_tensor({2, 3}, 1);
  CHECK_THROWS_AS(run_op({"Resize", {x}}), Error);
  CHECK_THROWS_AS(run_op(by_scale(x, {2}, {})), Error);
  CHECK_THROWS_AS(run_op(by_scale(x, {2, 0}, {})), Error);
  CHECK_THROWS_AS(run_op(by_scale(x, {2, -1}, {})), Error);
  CHECK_THROWS_AS(run_op(by_scale(x, {2, 1}, {{"mode", text("smooth")}})), Error);
  CHECK_THROWS_AS(run_op(by_scale(x, {2, 1}, {{"axes", Int64s{0, 0}}})), Error);
  CHECK_THROWS_AS(run_op(by_scale(x, {1e30F, 1}, {})), Error);
}

TEST_CASE("Derivatives of Resize") {
  const Tensor x = random_tensor({1, 2, 4, 3}, 1);
  for (const char* m : {"nearest", "linear", "cubic"}) {
    for (const std::int64_t antialias : {0, 1}) {
      INFO(m << antialias);
      check_gradient(by_scale(x, {1, 1, 0.6F, 1.7F}, {{"mode", text(m)}, {"antialias", antialias}}),
                     {.dynamic_dims = false, .elements = 8});
    }
  }
}

TEST_CASE("Nearest samples of several axes, of the last one and of all but the last") {
  const Tensor x = random_floats({2, 3, 4, 5}, 1);
  for (const Shape& to : {Shape{2, 3, 8, 10}, Shape{2, 3, 8, 5}, Shape{2, 3, 4, 13},
                          Shape{4, 3, 4, 5}, Shape{1, 2, 3, 2}, Shape{2, 3, 4, 5}}) {
    INFO(to[0] << " x " << to[1] << " x " << to[2] << " x " << to[3]);
    const Tensor sizes = Tensor::of<std::int64_t>({4}, {to[0], to[1], to[2], to[3]});
    const Tensor y = run_op_tensor({"Resize",
                                    {x, Value(), Value(), sizes},
                                    {{"coordinate_transformation_mode", text("asymmetric")},
                                     {"nearest_mode", text("floor")}}});
    REQUIRE(y.shape() == to);
    for (std::int64_t i = 0; i < to.size(); ++i) {
      std::int64_t rest = i;
      std::int64_t from = 0;
      std::int64_t stride = 1;
      for (std::size_t axis = 4; axis-- > 0;) {
        from += rest % to[axis] * x.shape()[axis] / to[axis] * stride;
        rest /= to[axis];
        stride *= x.shape()[axis];
      }
      CHECK(y.values<float>()[static_cast<std::size_t>(i)] ==
            x.values<float>()[static_cast<std::size_t>(from)]);
    }
  }
}
