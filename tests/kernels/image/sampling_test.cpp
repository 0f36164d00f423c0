#include <cmath>

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Int64s = std::vector<std::int64_t>;
std::string text(const char* s) { return s; }
Tensor ints(std::vector<std::int64_t> v) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(v.size())}, v);
}

}  // namespace

TEST_CASE("GridSample reads pixels and what lies between them") {
  const auto x = Tensor::of<double>({1, 1, 2, 2}, {1, 2, 3, 4});
  const auto grid = Tensor::of<double>({1, 1, 4, 2}, {-1, -1, 1, -1, 0, 0, 1, 1});
  check_close(run_op_tensor({"GridSample", {x, grid}, {{"align_corners", 1L}}}),
              Tensor::of<double>({1, 1, 1, 4}, {1, 2, 2.5, 4}));
  check_close(run_op_tensor({"GridSample", {x, grid}}),
              Tensor::of<double>({1, 1, 1, 4}, {0.25, 0.5, 2.5, 1}));
  check_close(run_op_tensor({"GridSample", {x, grid}, {{"padding_mode", text("border")}}}),
              Tensor::of<double>({1, 1, 1, 4}, {1, 2, 2.5, 4}));
  CHECK_THROWS_AS(run_op({"GridSample", {x, random_tensor({1, 1, 4, 3}, 1)}}), Error);
  CHECK_THROWS_AS(run_op({"GridSample", {x, random_tensor({2, 1, 4, 2}, 1)}}), Error);
}

TEST_CASE("Derivatives of GridSample") {
  const Tensor flat = random_tensor({2, 2, 4, 3}, 1);
  const Tensor deep = random_tensor({1, 2, 3, 3, 2}, 2);
  for (const char* mode : {"linear", "cubic", "nearest"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      for (const std::int64_t corners : {0, 1}) {
        INFO(mode << padding << corners);
        const graph::Attributes attributes{
            {"mode", text(mode)}, {"padding_mode", text(padding)}, {"align_corners", corners}};
        check_gradient(
            {"GridSample", {flat, random_tensor({2, 2, 3, 2}, 3, -1.3, 1.3)}, attributes},
            {.elements = 6});
        check_gradient(
            {"GridSample", {deep, random_tensor({1, 2, 1, 2, 3}, 4, -1.3, 1.3)}, attributes},
            {.elements = 4});
      }
    }
  }
}

TEST_CASE("RoiAlign and MaxRoiPool") {
  const auto x = Tensor::of<double>({1, 1, 3, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
  const auto whole = Tensor::of<double>({1, 4}, {0, 0, 3, 3});
  const auto first = ints({0});
  check_close(run_op_tensor({"RoiAlign", {x, whole, first}, {{"sampling_ratio", 3L}}}),
              Tensor::of<double>({1, 1, 1, 1}, {5}));
  const auto pixels = Tensor::of<double>({1, 5}, {0, 0, 0, 1, 2});
  check_close(run_op_tensor({"MaxRoiPool", {x, pixels}, {{"pooled_shape", Int64s{1, 1}}}}),
              Tensor::of<double>({1, 1, 1, 1}, {8}));
  CHECK_THROWS_AS(run_op({"RoiAlign", {x, whole, ints({1})}}), Error);
  CHECK_THROWS_AS(run_op({"RoiAlign", {x, pixels, first}}), Error);
  CHECK_THROWS_AS(run_op({"MaxRoiPool", {x, pixels}, {{"pooled_shape", Int64s{0, 1}}}}), Error);
}

TEST_CASE("Derivatives of RoiAlign and MaxRoiPool") {
  const Tensor x = random_tensor({2, 2, 5, 4}, 1, 0.5, 2);
  const auto rois = Tensor::of<double>({3, 4}, {0, 0, 3, 4, 1.3, 0.4, 2.7, 3.1, -2, -1, 6, 7});
  const auto images = ints({0, 1, 1});
  for (const char* mode : {"avg", "max"}) {
    const OpCase align{"RoiAlign",
                       {x, rois, images},
                       {{"mode", text(mode)}, {"output_height", 2L}, {"output_width", 3L}}};
    check_gradient(align, {.order = 1, .elements = 12, .skip = {1}});
  }
  // Version 10 has no attribute for coordinates: they are those of output_half_pixel.
  const OpCase first{.op = "RoiAlign",
                     .inputs = {x, rois, images},
                     .attributes = {{"output_height", 2L}, {"output_width", 3L}},
                     .version = 10};
  check_gradient(first, {.order = 1, .elements = 12, .skip = {1}});
  const auto pixels = Tensor::of<double>({2, 5}, {0, 0, 0, 3, 4, 1, 1, 1, 2, 3});
  check_gradient({"MaxRoiPool", {x, pixels}, {{"pooled_shape", Int64s{2, 2}}}},
                 {.order = 1, .elements = 12, .skip = {1}});
}

TEST_CASE("Col2Im adds columns up where blocks overlap") {
  const Tensor x = random_tensor({1, 4, 4}, 1, 1, 1);
  const OpCase sum{"Col2Im", {x, ints({3, 3}), ints({2, 2})}};
  check_close(run_op_tensor(sum), Tensor::of<double>({1, 1, 3, 3}, {1, 2, 1, 2, 4, 2, 1, 2, 1}));
  const OpCase spread{"Col2Im",
                      {random_tensor({2, 12, 4}, 2), ints({5, 4}), ints({2, 3})},
                      {{"strides", Int64s{3, 1}}, {"pads", Int64s{0, 0, 0, 0}}}};
  check_gradient(spread, {.dynamic_dims = false, .elements = 12});
  CHECK_THROWS_AS(run_op({"Col2Im", {x, ints({3, 3}), ints({2, 1})}}), Error);
  CHECK_THROWS_AS(run_op({"Col2Im", {x, ints({3, 3}), ints({2})}}), Error);
}

TEST_CASE("AffineGrid spans the image") {
  const auto theta = Tensor::of<double>({1, 2, 3}, {1, 0, 0, 0, 2, 0.5});
  check_close(run_op_tensor({"AffineGrid", {theta, ints({1, 1, 2, 2})}, {{"align_corners", 1L}}}),
              Tensor::of<double>({1, 2, 2, 2}, {-1, -1.5, 1, -1.5, -1, 2.5, 1, 2.5}));
  check_close(run_op_tensor({"AffineGrid", {theta, ints({1, 1, 1, 2})}}),
              Tensor::of<double>({1, 1, 2, 2}, {-0.5, 0.5, 0.5, 0.5}));
  // The only point of an axis of size 1 is its first.
  check_close(run_op_tensor({"AffineGrid", {theta, ints({1, 1, 1, 2})}, {{"align_corners", 1L}}}),
              Tensor::of<double>({1, 1, 2, 2}, {-1, -1.5, 1, -1.5}));
  check_gradient({"AffineGrid", {random_tensor({2, 2, 3}, 1), ints({2, 1, 3, 2})}});
  check_gradient({"AffineGrid", {random_tensor({1, 3, 4}, 1), ints({1, 1, 2, 2, 2})}});
  CHECK_THROWS_AS(run_op({"AffineGrid", {theta, ints({2, 1, 2, 2})}}), Error);
}

TEST_CASE("DeformConv without offsets is Conv") {
  const Tensor x = random_tensor({1, 4, 5, 4}, 1);
  const Tensor w = random_tensor({2, 2, 3, 2}, 2);
  const Tensor bias = random_tensor({2}, 3);
  const graph::Attributes attributes{
      {"group", 2L}, {"pads", Int64s{1, 0, 1, 1}}, {"strides", Int64s{2, 1}}};
  const Tensor want = run_op_tensor({"Conv", {x, w, bias}, attributes});
  graph::Attributes deformed = attributes;
  deformed.emplace_back("offset_group", 2L);
  const Tensor still(DType::float64, {1, 24, want.shape()[2], want.shape()[3]});
  check_close(run_op_tensor({"DeformConv", {x, w, still, bias}, deformed}), want);
  const Tensor offset = random_tensor({1, 24, want.shape()[2], want.shape()[3]}, 4, -0.9, 0.9);
  const Tensor mask = random_tensor({1, 12, want.shape()[2], want.shape()[3]}, 5);
  check_gradient({"DeformConv", {x, w, offset, bias, mask}, deformed}, {.elements = 6});
  check_gradient({"DeformConv", {x, w, offset}, deformed}, {.elements = 6});
  CHECK_THROWS_AS(run_op({"DeformConv", {x, w, mask}, deformed}), Error);
}
