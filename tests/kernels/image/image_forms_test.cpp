// The derivatives of Resize and RoiAlign in operators of the standard give what their kernels give.
#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/support/standard_form.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Ints = std::vector<std::int64_t>;

std::string text(const char* s) { return s; }
Tensor ints(const Ints& v) {
  return Tensor::of<std::int64_t>({static_cast<std::int64_t>(v.size())}, v);
}
Tensor floats(const std::vector<float>& v) {
  return Tensor::of<float>({static_cast<std::int64_t>(v.size())}, v);
}
Tensor shape_of(const Tensor& x) { return ints({x.shape().begin(), x.shape().end()}); }

struct Request {
  Value roi, scales, sizes;
};

// For scales, sizes and dims that are known beforehand, and for those that are not.
void check_resize(const Tensor& x, const Request& request, const graph::Attributes& attributes) {
  const Shape y =
      run_op_tensor({"Resize", {x, request.roi, request.scales, request.sizes}, attributes})
          .shape();
  OwnOperator own{"ResizeGrad",
                  {random_tensor(y, 2), request.roi, request.scales, request.sizes, shape_of(x)},
                  attributes};
  check_standard_form(own);
  own.constants = {1, 2, 3};
  check_standard_form(own);
  own.constants = {1, 2, 3, 4};
  check_standard_form(own);
}

const Tensor image = random_tensor({2, 3, 5}, 1);

}  // namespace

TEST_CASE("the derivative of Resize has a standard form in every coordinate system") {
  const Request by_scales{{}, floats({1, 2.5F, 0.6F}), {}};
  const Request by_sizes{{}, {}, ints({2, 7, 3})};
  for (const char* coordinates : {"half_pixel", "half_pixel_symmetric", "pytorch_half_pixel",
                                  "align_corners", "asymmetric", "tf_half_pixel_for_nn"}) {
    for (const char* mode : {"nearest", "linear", "cubic"}) {
      CAPTURE(coordinates, mode);
      const graph::Attributes attributes{{"mode", text(mode)},
                                         {"coordinate_transformation_mode", text(coordinates)}};
      check_resize(image, by_scales, attributes);
      check_resize(image, by_sizes, attributes);
      // One element, and as many as before.
      check_resize(image, {{}, {}, ints({2, 1, 5})}, attributes);
    }
  }
}

TEST_CASE("the derivative of Resize has a standard form for each rounding and filter") {
  for (const char* rounding : {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"}) {
    CAPTURE(rounding);
    // Halves are among the coordinates.
    check_resize(
        image, {{}, floats({1, 2, 0.4F}), {}},
        {{"nearest_mode", text(rounding)}, {"coordinate_transformation_mode", text("asymmetric")}});
  }
  for (const char* mode : {"linear", "cubic"}) {
    for (const std::int64_t antialias : {0, 1}) {
      for (const std::int64_t exclude : {0, 1}) {
        CAPTURE(mode, antialias, exclude);
        const graph::Attributes attributes{{"mode", text(mode)},
                                           {"antialias", antialias},
                                           {"exclude_outside", exclude},
                                           {"cubic_coeff_a", -0.5F}};
        check_resize(image, {{}, floats({1, 1.7F, 0.4F}), {}}, attributes);
        check_resize(image, {{}, {}, ints({2, 2, 9})}, attributes);
      }
    }
  }
}

TEST_CASE("the derivative of Resize has a standard form for regions, some axes and ratios") {
  for (const char* mode : {"nearest", "linear"}) {
    CAPTURE(mode);
    // The region reaches beyond the image at its end.
    check_resize(image, {Value(floats({0, 0.1F, 0.2F, 1, 0.9F, 1.4F})), {}, ints({2, 4, 6})},
                 {{"mode", text(mode)},
                  {"coordinate_transformation_mode", text("tf_crop_and_resize")},
                  {"extrapolation_value", 3.0F}});
    check_resize(
        image, {Value(floats({0, 0.1F, 0.2F, 1, 0.9F, 1})), {}, ints({2, 1, 6})},
        {{"mode", text(mode)}, {"coordinate_transformation_mode", text("tf_crop_and_resize")}});
    // As many elements as before, but others.
    check_resize(
        image, {Value(floats({0, 0.1F, 0.2F, 1, 0.9F, 1})), {}, ints({2, 3, 5})},
        {{"mode", text(mode)}, {"coordinate_transformation_mode", text("tf_crop_and_resize")}});
    check_resize(image, {{}, {}, ints({4, 6})}, {{"mode", text(mode)}, {"axes", Ints{2, 1}}});
    for (const char* policy : {"not_larger", "not_smaller"}) {
      check_resize(
          image, {{}, {}, ints({7, 7})},
          {{"mode", text(mode)}, {"axes", Ints{1, 2}}, {"keep_aspect_ratio_policy", text(policy)}});
    }
  }
}

TEST_CASE("the derivative of Resize has a standard form where a list of scales is empty") {
  OwnOperator own{
      "ResizeGrad",
      {random_tensor({2, 7, 3}, 2), Value(), floats({}), ints({2, 7, 3}), shape_of(image)},
      {{"mode", text("linear")}}};
  // Which list counts must be known.
  CHECK_THROWS_WITH(run_standard_form(own, true), Catch::Contains("whether scales or sizes"));
  own.constants = {2, 3};
  check_standard_form(own);
}

TEST_CASE("the derivative of RoiAlign has a standard form") {
  const Tensor x = random_tensor({3, 2, 6, 5}, 1);
  // Within the image, over its borders, far outside, and empty.
  const auto rois = Tensor::of<double>(
      {5, 4}, {0.5, 1, 3.5, 4.5, -3, -2, 9, 8, 20, 20, 30, 30, 2, 2, 2, 2, 1.2, 0.3, 4.9, 5.7});
  const Tensor images = ints({1, 0, 2, 1, 1});
  const Tensor dy = random_tensor({5, 2, 2, 3}, 2);
  const auto none = [](const Shape& shape) { return Tensor(DType::float64, shape); };
  for (const char* mode : {"avg", "max"}) {
    for (const char* transformation : {"half_pixel", "output_half_pixel"}) {
      for (const std::int64_t sampling : {0, 1, 3}) {
        CAPTURE(mode, transformation, sampling);
        check_standard_form({"RoiAlignGrad",
                             {dy, x, rois, images},
                             {{"mode", text(mode)},
                              {"output_height", 2L},
                              {"output_width", 3L},
                              {"sampling_ratio", sampling},
                              {"spatial_scale", 0.75F},
                              {"coordinate_transformation_mode", text(transformation)}}});
      }
    }
    check_standard_form(
        {"RoiAlignGrad", {none({0, 2, 1, 1}), x, none({0, 4}), ints({})}, {{"mode", text(mode)}}});
  }
}
