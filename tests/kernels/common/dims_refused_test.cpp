// Operators refuse operands whose ranks and dims do not belong together.
#include <limits>

#include "tests/kernels/common/refusals.h"

using namespace ondine;        // NOLINT
using namespace ondine::test;  // NOLINT

namespace {

Value u8(const Shape& shape) { return Tensor(DType::uint8, shape); }
Value i8(const Shape& shape) { return Tensor(DType::int8, shape); }
Value ints(std::vector<std::int64_t> values) { return int64s(std::move(values)); }
Value real(float value) { return Tensor::scalar(value); }
Value floats(std::vector<float> values) {
  return Tensor::of<float>({static_cast<std::int64_t>(values.size())}, values);
}
const Value none;

OpCase inner(const std::string& op, const std::vector<Value>& inputs,
             const graph::Attributes& attributes = {}, std::size_t outputs = 1) {
  return {op, inputs, attributes, outputs, "ai.ondine", 1};
}

OpCase contrib(const std::string& op, const std::vector<Value>& inputs,
               const graph::Attributes& attributes = {}, std::size_t outputs = 1) {
  return {op, inputs, attributes, outputs, "com.microsoft", 1};
}

OpCase ml(const std::string& op, const std::vector<Value>& inputs,
          const graph::Attributes& attributes = {}) {
  return {op, inputs, attributes, 1, "ai.onnx.ml", 1};
}

}  // namespace

TEST_CASE("attention refuses heads, keys and outer dims that differ") {
  const auto attend = [](const Shape& q, const Shape& k, const Shape& v, std::int64_t trans = 0) {
    return inner("ScaledAttention", {f32(q), f32(k), f32(v)}, {number("transK", trans)});
  };
  CHECK_NOTHROW(run_op(attend({2, 3, 4}, {2, 5, 4}, {2, 5, 6})));
  CHECK_NOTHROW(run_op(attend({2, 3, 4}, {2, 4, 5}, {2, 5, 6}, 1)));
  check_refusals({
      {attend({4}, {4}, {4}), "q, k and v must have one rank of 2 or more, found 1, 1 and 1"},
      {attend({2, 3, 4}, {3, 4}, {2, 3, 4}), "rank of 2 or more, found 3, 2 and 3"},
      {attend({2, 3, 4}, {2, 3, 4}, {3, 4}), "rank of 2 or more, found 3, 3 and 2"},
      {attend({2, 1, 3, 4}, {1, 1, 5, 4}, {2, 1, 5, 6}), "outer dims of q and k differ: 2 and 1"},
      {attend({3, 3, 4}, {2, 5, 4}, {2, 5, 6}), "outer dims of q and k differ: 3 and 2"},
      {attend({2, 3, 4}, {1, 5, 4}, {2, 5, 6}), "heads of k and v differ: 1 and 2"},
      {attend({2, 3, 4}, {2, 5, 4}, {1, 5, 6}), "outer dims of q and v differ: 2 and 1"},
      {attend({2, 3, 4}, {2, 5, 3}, {2, 5, 6}), "head sizes of q and k differ: 4 and 3"},
      {attend({2, 3, 4}, {2, 5, 4}, {2, 4, 6}), "keys of k and v differ: 5 and 4"},
      {attend({2, 3, 4}, {2, 3, 5}, {2, 5, 6}, 1), "head sizes of q and k differ: 4 and 3"},
      {attend({2, 3, 4}, {2, 4, 5}, {2, 4, 6}, 1), "keys of k and v differ: 5 and 4"},
  });
}

TEST_CASE("convolutions refuse kernels, channels and paddings that do not fit") {
  const Value x = f32({1, 4, 5, 5});
  const auto conv = [&](const Shape& w, const graph::Attributes& attributes = {}) {
    return OpCase{"Conv", {x, f32(w)}, attributes};
  };
  const auto transposed = [](const Shape& input, const Shape& w,
                             const graph::Attributes& attributes = {}) {
    return OpCase{"ConvTranspose", {f32(input), f32(w)}, attributes};
  };
  const Shape t{1, 4, 2, 2};
  check_refusals({
      {{"Conv", {f32({1, 4}), f32({2, 4})}}, "a convolution needs rank 3 or more, found 2"},
      {conv({2, 4, 3, 3}, {list("kernel_shape", {3, 2})}),
       "kernel dims of W and kernel_shape differ: 3 and 2"},
      {conv({2, 4, 3, 3}, {list("kernel_shape", {3})}), "kernel_shape has 1 values for 2 axes"},
      {conv({2, 4, 3, 3}, {list("kernel_shape", {3, 0})}), "kernel dim 0 is below 1"},
      {conv({2, 4, 3, 3}, {number("group", 0)}), "group is 0, must be 1 or more"},
      {transposed(t, {3, 2, 2, 2}), "channels of X and W differ: 4 and 3"},
      {transposed({1, 4, 0, 2}, {4, 2, 2, 2}), "a transposed convolution over a dim of 0"},
      {transposed(t, {4, 2, 2, 2}, {list("pads", {2, 0, 1, 0})}),
       "padding removes all of a dim of 3"},
      {transposed(t, {4, 2, 2, 2}, {list("output_padding", {0, -1})}),
       "output_padding is negative"},
      {transposed(
           t, {4, 2, 2, 2},
           {list("output_padding", {0, std::int64_t{1} << 62}), list("output_shape", {8, 8})}),
       "stride or pad of 4611686018427387"},
      {transposed(t, {4, 2, 2, 2}, {list("output_shape", {3, 0})}), "output_shape holds 0"},
      {transposed(t, {4, 2, 2, 2}, {list("output_shape", {3})}),
       "output_padding and output_shape need 2 values"},
      {{"CausalConvWithState", {f32({1, 4, 5}), f32({4, 1, 0})}}, "the kernel is empty"},
      {{"CausalConvWithState", {f32({1, 4, 5}), f32({3, 1, 2})}}, "channels of input and weight"},
      {{"CausalConvWithState", {f32({1, 4, 5}), f32({4, 2, 2})}}, "channels of one kernel"},
      {{"Col2Im", {f32({1, 4, 3}), ints({2, 2}), ints({2, 2})}},
       "numbers of blocks differ: 3 and 1"},
      {{"Col2Im", {f32({1, 5, 1}), ints({2, 2}), ints({2, 2})}},
       "5 rows are not a multiple of the block size 4"},
      {{"Col2Im", {f32({1, 4, 1}), ints({2, 2}), ints({2})}},
       "image_shape has 2 dims, block_shape 1"},
      {{"Col2Im", {f32({1, 4, 1}), ints({2, 0}), ints({2, 2})}}, "image dim 0"},
      {inner("Im2Col", {f32({1, 4}), ints({2})}), "the image must have rank 3 or more"},
      {{"ConvInteger", {u8({1, 1, 3, 3}), u8({1, 1, 2, 2}), u8({1, 1})}},
       "must have rank 0 or 1, found 2"},
  });
  CHECK(run_op_tensor(transposed(t, {4, 2, 2, 2}, {list("pads", {1, 0, 1, 0})})).shape() ==
        Shape{1, 2, 1, 3});
  CHECK(run_op_tensor(transposed(t, {4, 2, 2, 2}, {list("output_shape", {1, 1})})).shape() ==
        Shape{1, 2, 1, 1});
}

TEST_CASE("operators on elements refuse other dims, divisors of 0 and unknown words") {
  const Value x = f32({2, 3});
  check_refusals({
      {{"Div", {ints({1, 2}), ints({1, 0})}}, "integer division by zero"},
      {{"Mod", {ints({1, 2}), ints({1, 0})}}, "integer remainder of a division by zero"},
      {{"Mod", {x, x}, {number("fmod", 2)}}, "attribute \"fmod\" is 2, needed: 0 or 1"},
      {{"Mod", {x, x}, {number("fmod", -1)}}, "attribute \"fmod\" is -1, needed: 0 or 1"},
      {{"PRelu", {x, f32({2, 2})}}, "3 and 2"},
      {{"Sum", {x, f32({2, 2})}, {}, 1, "", 6},
       "shapes [2, 3] and [2, 2] do not broadcast: dims 3 and 2"},
      {{"Cast",
        {x},
        {number("to", static_cast<std::int64_t>(DType::float8e8m0)), word("round_mode", "even")}},
       "attribute \"round_mode\" is 'even', needed: \"up\", \"down\" or \"nearest\""},
      {{"Trilu", {f32({3})}}, "Trilu of a tensor of rank 1"},
      {{"Det", {f32({2, 3})}}, "dims of a square matrix differ: 2 and 3"},
      {inner("LinearRecurrence", {f32({2, 3}), f32({2, 2}), ints({1})}),
       "a and b differ in shape: [2, 3] and [2, 2]"},
      {{"Dropout", {x, real(1.0F), Tensor::scalar(true)}},
       "ratio of Dropout is 1, needed: 0 or more and below 1"},
      {{"Dropout", {x, real(-0.5F), Tensor::scalar(true)}}, "ratio of Dropout is -0.5"},
      {{"Dropout", {x, f32({2}), Tensor::scalar(true)}}, "input 1 must be a scalar, found [2]"},
      {{"ArgMax", {f32({2, 0})}, {number("axis", 1)}}, "axis 1 has no elements to choose from"},
      {{"ConstantOfShape", {ints({2})}, {{"value", Tensor::of<float>({2}, {1, 2})}}},
       "attribute \"value\" has 2 elements of dtype float, needed: one number"},
  });
  CHECK_NOTHROW(run_op({"Dropout", {x, real(0), Tensor::scalar(true)}}));
}

TEST_CASE("operators on images refuse grids, regions and sizes that do not fit") {
  const Value x = f32({1, 1, 4, 4});
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const auto region = [](std::vector<float> values) {
    return Value(Tensor::of<float>({1, 5}, values));
  };
  const graph::Attributes pooled{list("pooled_shape", {1, 1})};
  check_refusals({
      {{"AffineGrid", {f32({1, 3, 3}), ints({1, 1, 4, 4})}},
       "rows of theta and spatial axes differ: 3 and 2"},
      {{"AffineGrid", {f32({1, 2, 4}), ints({1, 1, 4, 4})}},
       "columns of theta and spatial axes + 1 differ: 4 and 3"},
      {{"AffineGrid", {f32({2, 2, 3}), ints({1, 1, 4, 4})}}, "batches differ: 2 and 1"},
      {inner("AffineGridGrad", {f32({1, 4, 2})}), "a grid has rank 4 or 5"},
      {{"GridSample", {x, f32({1, 2, 2, 3})}}, "coordinates in grid and axes of X differ: 3 and 2"},
      {{"GridSample", {x, f32({2, 2, 2, 2})}}, "batches differ: 1 and 2"},
      {{"ImageDecoder", {u8({4})}, {word("pixel_format", "CMYK")}},
       "attribute 'pixel_format' is 'CMYK', not RGB, BGR or Grayscale"},
      {{"ImageDecoder", {u8({2, 2})}}, "the encoded image must have rank 1, found [2, 2]"},
      {{"MaxRoiPool", {x, region({0, 0, infinity, 1, 1})}, pooled}, "a region holds inf"},
      {{"MaxRoiPool", {x, region({1, 0, 0, 1, 1})}, pooled}, "a region is in image 1 of 1"},
      {{"MaxRoiPool", {x, region({-1, 0, 0, 1, 1})}, pooled}, "a region is in image -1 of 1"},
      {{"RoiAlign", {x, f32({2, 4}), i64({3})}}, "numbers of regions differ: 2 and 3"},
      {{"RoiAlign", {x, f32({2, 5}), i64({2})}}, "coordinates of a region differ: 5 and 4"},
      {{"NonMaxSuppression", {f32({1, 2, 4}), f32({1, 1, 2})}, {number("center_point_box", 2)}},
       "center_point_box is 2"},
      {{"NonMaxSuppression", {f32({1, 2, 5}), f32({1, 1, 2})}},
       "coordinates of a box differ: 5 and 4"},
      {{"NonMaxSuppression", {f32({2, 2, 4}), f32({1, 1, 2})}}, "batches differ: 2 and 1"},
      {{"NonMaxSuppression", {f32({1, 2, 4}), f32({1, 1, 3})}}, "numbers of boxes differ: 2 and 3"},
      {{"Resize", {f32({1, 1, 0, 4}), none, none, ints({1, 1, 2, 4})}},
       "an axis of size 0 cannot grow"},
      {{"Resize", {x, none, floats({1, 1, 1e30F, 1})}}, "an output dim of "},
      {{"Resize",
        {x, none, floats({1, 1, 2, 2})},
        {word("coordinate_transformation_mode", "tf_crop_and_resize")}},
       "tf_crop_and_resize needs a known roi"},
      {{"Pad", {f32({0, 2}), ints({1, 0, 0, 0})}, {word("mode", "edge")}},
       "axis 0 has no elements to pad with"},
  });
}

TEST_CASE("contributed operators refuse operands of other types, ranks and widths") {
  const auto product = [](const Value& a, const Value& b, std::int64_t bits) {
    return contrib(
        "MatMulNBits", {a, b, f32({2, 1})},
        {number("K", 16), number("N", 2), number("block_size", 16), number("bits", bits)});
  };
  CHECK_NOTHROW(run_op(product(f32({3, 16}), u8({2, 1, 8}), 4)));
  const Value s = real(0.5F);
  const Value zero = Tensor::scalar(std::uint8_t{0});
  const Value signed_zero = Tensor::scalar(std::int8_t{0});
  const auto rotary = [](const Value& cos, const graph::Attributes& attributes) {
    return contrib("RotaryEmbedding", {f32({1, 2, 8}), i64({1, 2}), cos, cos}, attributes);
  };
  check_refusals({
      {product(f32({3, 16}), u8({2, 1, 8}), 3), "bits is 3, supported are 2, 4 and 8"},
      {product(f32({3, 16}), i8({2, 1, 8}), 4), "B is int8, needed: uint8"},
      {product(f32({}), u8({2, 1, 8}), 4), "A must have rank 1 or more"},
      {product(f32({3, 15}), u8({2, 1, 8}), 4), "the last dim of A and K differ: 15 and 16"},
      {contrib("QLinearAdd", {u8({2}), s, zero, i8({2}), s, signed_zero, s, zero}),
       "A and B differ in dtype"},
      {contrib("QLinearConcat", {s, zero, u8({2, 1}), s, zero, u8({2}), s, zero},
               {number("axis", 0)}),
       "operands of different ranks"},
      {contrib("QLinearConcat", {s, zero, u8({2, 1}), s, zero, u8({2, 2}), s, zero},
               {number("axis", 0)}),
       "dims of the operands differ: 1 and 2"},
      {rotary(f32({4, 4}), {{"scale", 2.0F}}), "scale is not 1, which is not supported"},
      {rotary(f32({4, 2}), {number("rotary_embedding_dim", 4)}),
       "num_heads is missing and does not follow from the shapes"},
      {contrib("SkipLayerNormalization", {f32({}), f32({}), f32({1})}),
       "the input must have rank 1 or more"},
  });
}

TEST_CASE("models of classical learning refuse inputs of other ranks and keys") {
  using Words = std::vector<std::string>;
  const Value map = Value::map(int64s({1, 2}), {real(1), real(2)});
  check_refusals({
      {ml("ArrayFeatureExtractor", {f32({}), ints({0})}),
       "x must have rank 1 or more, found a scalar"},
      {ml("ArrayFeatureExtractor", {f32({2, 3}), ints({3})}), "index 3 is outside "},
      {ml("ArrayFeatureExtractor", {f32({2, 3}), ints({-1})}), "index -1 is outside of the last"},
      {ml("CastMap", {map}, {word("cast_to", "TO_INT32")}),
       "attribute 'cast_to' is 'TO_INT32', not TO_FLOAT, TO_STRING or TO_INT64"},
      {ml("CastMap", {map}, {word("map_form", "FULL")}),
       "attribute 'map_form' is 'FULL', not DENSE or SPARSE"},
      {ml("CastMap", {Value::map(Tensor::of<std::string>({1}, {"a"}), {real(1)})}),
       "the map has keys of string, not int64"},
      {ml("CastMap", {f32({2})}), "x is a "},
      {ml("DictVectorizer", {map}, {{"string_vocabulary", Words{"a"}}}),
       "the map has keys of int64, the vocabulary has string"},
      {ml("FeatureVectorizer", {f32({2, 2, 2})}, {list("inputdimensions", {2})}),
       "input 0 must have shape [N, C] or [C], found [2, 2, 2]"},
      {ml("FeatureVectorizer", {f32({2, 3})}, {list("inputdimensions", {2})}),
       "input and inputdimensions differ: 3 and 2"},
      {ml("LinearRegressor", {f32({2, 3})},
          {{"coefficients", std::vector<float>{1, 2, 3}}, number("targets", 0)}),
       "attribute 'targets' is 0"},
      {ml("LinearRegressor", {f32({2, 3, 1})}, {{"coefficients", std::vector<float>{1}}}),
       "x must have shape [N, F] or [F], found [2, 3, 1]"},
      {ml("LinearRegressor", {f32({2, 1})},
          {{"coefficients", std::vector<float>{1}}, word("post_transform", "TANH")}),
       "attribute 'post_transform' is 'TANH', not NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT"},
      {ml("Normalizer", {f32({2, 3, 1})}), "x must have shape [N, C] or [C], found [2, 3, 1]"},
      {ml("SVMRegressor", {f32({1, 1})}, {word("kernel_type", "CUBE")}),
       "attribute 'kernel_type' is 'CUBE', not LINEAR, POLY, RBF or SIGMOID"},
      {ml("SVMRegressor", {f32({1, 1})}, {{"coefficients", std::vector<float>{1}}}),
       "attribute 'rho' has no elements"},
      {ml("SVMRegressor", {f32({1, 1})},
          {{"rho", std::vector<float>{0}}, number("n_supports", -1)}),
       "attribute 'n_supports' is -1"},
  });
}
