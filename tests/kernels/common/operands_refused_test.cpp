// Operators refuse operands whose types or sizes do not belong together.
#include "tests/kernels/common/refusals.h"

using namespace ondine;        // NOLINT
using namespace ondine::test;  // NOLINT

namespace {

Value u8(const Shape& shape) { return Tensor(DType::uint8, shape); }
Value ints(std::vector<std::int64_t> values) { return int64s(std::move(values)); }
Value one() { return Tensor::scalar(0.5F); }
Value zero() { return Tensor::scalar(std::uint8_t{2}); }
const Value none;

// A node of a derivative.
OpCase inner(const std::string& op, const std::vector<Value>& inputs,
             const graph::Attributes& attributes = {}, std::size_t outputs = 1) {
  return {op, inputs, attributes, outputs, "ai.ondine", 1};
}

OpCase call(const std::string& op, const std::vector<Value>& inputs,
            const graph::Attributes& attributes = {}) {
  return {op, inputs, attributes};
}

}  // namespace

TEST_CASE("operands of one operator have one type of elements") {
  const Value x = f32({2, 4, 3, 3});
  const Value row = f32({4});
  const Value wide = f64({4});
  const graph::Attributes two{number("num_groups", 2)};
  const std::string differ = "differ in dtype: ";
  struct Mixed {
    OpCase call;
    const char* inputs;
  };
  for (const Mixed& mixed : std::vector<Mixed>{
           {call("MatMul", {f32({2, 3}), f64({3, 2})}), "inputs 0 and 1 "},
           {call("Gemm", {f32({2, 3}), f64({3, 2})}), "inputs 0 and 1 "},
           {call("Gemm", {f32({2, 3}), f32({3, 2}), f64({2})}), "inputs 0 and 2 "},
           {call("InstanceNormalization", {x, wide, row}), "inputs 0 and 1 "},
           {call("InstanceNormalization", {x, row, wide}), "inputs 0 and 2 "},
           {call("GroupNormalization", {x, wide, row}, two), "inputs 0 and 1 "},
           {call("GroupNormalization", {x, row, wide}, two), "inputs 0 and 2 "},
           {call("LayerNormalization", {f32({2, 4}), wide, row}), "inputs 0 and 1 "},
           {call("LayerNormalization", {f32({2, 4}), row, wide}), "inputs 0 and 2 "},
           {call("NegativeLogLikelihoodLoss", {f32({2, 4}), i64({2}), wide}), "inputs 0 and 2 "},
           {call("SoftmaxCrossEntropyLoss", {f32({2, 4}), i64({2}), wide}), "inputs 0 and 2 "},
           {call("Conv", {x, f64({2, 4, 3, 3})}), "inputs 0 and 1 "},
           {call("Conv", {x, f32({2, 4, 3, 3}), f64({2})}), "inputs 0 and 2 "},
           {call("DeformConv", {x, f64({2, 4, 3, 3}), f32({2, 18, 1, 1})}), "inputs 0 and 1 "},
           {call("DeformConv", {x, f32({2, 4, 3, 3}), f64({2, 18, 1, 1})}), "inputs 0 and 2 "},
           {call("CausalConvWithState", {f32({1, 4, 5}), f64({4, 1, 2})}), "inputs 0 and 1 "},
           {call("MaxRoiPool", {x, f64({1, 5})}, {list("pooled_shape", {1, 1})}),
            "inputs 0 and 1 "},
           {call("RoiAlign", {x, f64({1, 4}), i64({1})}), "inputs 0 and 1 "},
           {call("STFT", {f32({1, 8, 1}), Tensor::scalar(std::int64_t{2}), f64({4})}),
            "inputs 0 and 2 "},
           {call("RNN", {f32({2, 1, 3}), f64({1, 2, 3}), f32({1, 2, 2})},
                 {number("hidden_size", 2)}),
            "inputs 0 and 1 "},
           {call("RNN", {f32({2, 1, 3}), f32({1, 2, 3}), f64({1, 2, 2})},
                 {number("hidden_size", 2)}),
            "inputs 0 and 2 "}}) {
    check_refusals({{mixed.call, (mixed.inputs + differ).c_str()}});
  }
}

TEST_CASE("DeformConv refuses channels, offsets and masks of other sizes") {
  const auto conv = [](const Shape& x, const Shape& w, const Shape& offset,
                       const Value& mask = none, const Value& bias = none,
                       const graph::Attributes& attributes = {}) {
    return call("DeformConv", {f32(x), f32(w), f32(offset), bias, mask}, attributes);
  };
  const Shape x{1, 4, 3, 3};
  const Shape w{2, 4, 2, 2};
  const Shape offset{1, 8, 2, 2};
  CHECK_NOTHROW(run_op(conv(x, w, offset, f32({1, 4, 2, 2}), f32({2}))));
  check_refusals({
      {conv(x, {2, 3, 2, 2}, offset), "channels of X and of W times group differ: 4 and 3"},
      {conv(x, {3, 2, 2, 2}, offset, none, none, {number("group", 2)}),
       "3 output channels are not a multiple of 2 groups"},
      {conv(x, w, {1, 24, 2, 2}, none, none, {number("offset_group", 3)}),
       "4 channels are not a multiple of 3 offset groups"},
      {conv(x, w, {2, 8, 2, 2}), "batches differ: 1 and 2"},
      {conv(x, w, {1, 9, 2, 2}), "channels of offset differ: 9 and 8"},
      {conv(x, w, {1, 8, 3, 2}), "output dims and those of offset differ"},
      {conv(x, w, offset, f32({2, 4, 2, 2})), "batches differ: 2 and 1"},
      {conv(x, w, offset, f32({1, 5, 2, 2})), "channels of mask differ: 5 and 4"},
      {conv(x, w, offset, f32({1, 4, 3, 2})), "dims of mask differ: 3 and 2"},
      {conv(x, w, offset, f32({1, 4, 2, 3})), "dims of mask differ: 3 and 2"},
      {conv(x, w, offset, none, f32({3})), "output channels differ: 3 and 2"},
      {conv(x, w, offset, none, f32({1})), "output channels differ: 1 and 2"},
      {conv(x, w, offset, none, none, {list("kernel_shape", {2, 3})}),
       "kernel_shape differs from the kernel dims of W"},
  });
}

TEST_CASE("convolutions refuse parameters that are not one, or one for each channel") {
  const auto conv = [](const std::vector<std::pair<std::size_t, Value>>& changes) {
    std::vector<Value> inputs{u8({1, 2, 3, 3}), one(), zero(), u8({3, 2, 2, 2}), f32({3}),
                              u8({3}),          one(), zero(), i32({3})};
    for (const auto& [i, value] : changes) inputs[i] = value;
    return call("QLinearConv", inputs);
  };
  CHECK_NOTHROW(run_op(conv({})));
  check_refusals({
      {conv({{1, f32({2})}}), "the scale of x"},
      {conv({{2, u8({2})}}), "the zero point of x"},
      {conv({{4, f32({2})}}), "the scale of w"},
      {conv({{5, u8({2})}}), "the zero point of w"},
      {conv({{6, f32({2})}}), "the scale of y"},
      {conv({{7, u8({2})}}), "the zero point of y"},
      {conv({{8, i32({2})}}), "output channels differ: 2 and 3"},
      {conv({{8, i32({1})}}), "output channels differ: 1 and 3"},
      {conv({{8, i32({1, 3})}}), "B must have rank 1"},
      {call("ConvInteger", {u8({1, 2, 3, 3}), u8({3, 2, 2, 2}), u8({2})}), "the zero point of x"},
      {call("ConvInteger", {u8({1, 2, 3, 3}), u8({3, 2, 2, 2}), zero(), u8({2})}),
       "the zero point of w"},
      {call("CausalConvWithState", {f32({1, 4, 5}), f32({4, 2, 2})}),
       "channels of one kernel differ: 2 and 1"},
      {call("CausalConvWithState", {f32({1, 4, 5}), f32({3, 1, 2})}),
       "channels of input and weight differ: 4 and 3"},
      {call("CausalConvWithState", {f32({1, 4, 5}), f32({4, 1, 2}), f32({3})}),
       "channels of input and bias differ: 3 and 4"},
      {call("CausalConvWithState", {f32({1, 4, 5}), f32({4, 1, 2}), none, f32({1, 4, 2})}),
       "dims of the state differ: 1 and 2"},
  });
}

TEST_CASE("normalizations refuse scales and biases of other sizes") {
  const Value x = f32({2, 4, 3});
  const Value row = f32({4});
  const graph::Attributes two{number("num_groups", 2)};
  check_refusals({
      {call("InstanceNormalization", {x, f32({3}), row}), "numbers of channels differ: 4 and 3"},
      {call("InstanceNormalization", {x, row, f32({3})}), "numbers of channels differ: 4 and 3"},
      {call("InstanceNormalization", {f32({4}), row, row}), "X must have rank 2 or more"},
      {call("GroupNormalization", {x, f32({3}), row}, two),
       "lengths of scale and bias differ: 4 and 3"},
      {call("GroupNormalization", {x, row, f32({3})}, two),
       "lengths of scale and bias differ: 4 and 3"},
      {call("GroupNormalization", {x, row, row}, {number("num_groups", 3)}),
       "4 channels do not divide into 3 groups"},
      {call("LayerNormalization", {f32({2, 4}), f32({3}), row}), "scale"},
      {call("LayerNormalization", {f32({2, 4}), row, f32({3})}), "bias"},
  });
}

TEST_CASE("dims of 1 do not broadcast where the operator does not") {
  const auto contrib = [](const std::string& op, const std::vector<Value>& inputs,
                          const graph::Attributes& attributes = {}) {
    return OpCase{op, inputs, attributes, 1, "com.microsoft", 1};
  };
  const auto ml = [](const std::string& op, const graph::Attribute& attribute) {
    return OpCase{op, {f32({2, 1})}, {attribute}, 1, "ai.onnx.ml", 1};
  };
  const Value x = f32({2, 4, 3});
  const Value row = f32({4});
  const graph::Attributes two{number("num_groups", 2)};
  const graph::Attributes heads{number("num_heads", 2)};
  check_refusals({
      {call("InstanceNormalization", {x, f32({1}), row}), "numbers of channels differ: 4 and 1"},
      {call("InstanceNormalization", {x, row, f32({1})}), "numbers of channels differ: 4 and 1"},
      {call("GroupNormalization", {x, f32({1}), row}, two), "lengths of scale and bias differ"},
      {call("GroupNormalization", {x, row, f32({1})}, two), "lengths of scale and bias differ"},
      {{"GroupNormalization", {x, f32({1}), f32({2})}, two, 1, "", 18},
       "lengths of scale and bias differ: 2 and 1"},
      {call("RMSNormalization", {f32({2, 1}), row}), "does not broadcast to [1]"},
      {{"SwiGLU", {f32({2, 3}), f32({1, 3})}}, "dims of A and B differ: 2 and 1"},
      {{"SwiGLU", {f32({1, 3}), f32({2, 3})}}, "dims of A and B differ: 1 and 2"},
      {contrib("BiasGelu", {f32({2, 1}), row}), "does not broadcast to [2, 1]"},
      {contrib("FastGelu", {f32({2, 1}), row}), "does not broadcast to [2, 1]"},
      {contrib("SkipLayerNormalization", {f32({1, 3, 4}), f32({2, 3, 4}), row}),
       "does not broadcast to [1, 3, 4]"},
      {contrib("SkipSimplifiedLayerNormalization", {f32({1, 3, 4}), f32({2, 3, 4}), row}),
       "does not broadcast to [1, 3, 4]"},
      {contrib("Attention", {f32({1, 2, 4}), f32({4, 12}), f32({1})}, heads),
       "columns of weights and bias differ: 12 and 1"},
      {contrib("EmbedLayerNormalization",
               {i32({1, 2}), none, f32({3, 4}), f32({2, 1}), none, row, row}),
       "hidden sizes differ: 4 and 1"},
      {ml("Scaler", {"scale", std::vector<float>{1, 2, 3}}), "one for each feature"},
      {ml("Imputer", {"imputed_value_floats", std::vector<float>{1, 2, 3}}),
       "one for each feature"},
  });
}

TEST_CASE("operators on regions and boxes refuse operands of other sizes") {
  const auto boxes = [](const std::vector<Value>& inputs) {
    return call("NonMaxSuppression", inputs);
  };
  const Value many = i64({1});
  check_refusals({
      {boxes({f32({1, 3, 4}), f32({2, 1, 3})}), "batches differ: 1 and 2"},
      {boxes({f32({1, 3, 4}), f32({1, 1, 2})}), "numbers of boxes differ: 3 and 2"},
      {boxes({f32({1, 3, 5}), f32({1, 1, 3})}), "coordinates of a box differ: 5 and 4"},
      {boxes({f64({1, 3, 4}), f32({1, 1, 3})}), "input 0 is double, needed: float"},
      {boxes({f32({1, 3, 4}), f32({1, 1, 3}), i32({1})}), "input 2 is int32, needed: int64"},
      {boxes({f32({1, 3, 4}), f32({1, 1, 3}), i64({2})}),
       "elements of a parameter differ: 2 and 1"},
      {boxes({f32({1, 3, 4}), f32({1, 1, 3}), many, f32({2})}),
       "elements of a parameter differ: 2 and 1"},
      {call("MaxRoiPool", {f32({1, 2, 3, 3}), f32({1, 4})}, {list("pooled_shape", {1, 1})}),
       "coordinates of a region differ: 4 and 5"},
  });
}

TEST_CASE("operators with indices refuse operands of other types and sizes") {
  const Value x = f32({3, 2, 4});
  check_refusals({
      {call("GatherElements", {x, i64({3, 2})}), "indices of rank 2 for a tensor of rank 3"},
      {call("ScatterND", {x, i64({1, 1}), f64({1, 2, 4})}), "updates are double, the data float"},
      {call("TensorScatter", {x, f64({3, 1, 4})}), "the update is double, the cache float"},
      {call("ReverseSequence", {x, ints({1, 1, 1})}),
       "batch size and number of lengths differ: 2 and 3"},
      {call("ReverseSequence", {f32({3}), ints({1, 1, 1})}), "an input of rank 1, not 2 or more"},
      {call("ReverseSequence", {x, i64({1, 2})}), "sequence_lens of rank 2"},
      {call("TopK", {x, ints({5})}), "k is 5, above the axis size 4"},
      {call("STFT", {f32({1, 8, 3}), ints({2}), none, ints({4})}),
       "the last dim of the signal has 3 elements, needed: 1 or 2"},
      {call("MatMulInteger", {u8({2, 3}), u8({3, 2}), zero(), u8({3})}),
       "columns of B and of its zero point"},
      {call("MatMulInteger", {u8({2, 3}), u8({3, 4}), zero(), u8({2})}),
       "columns of B and of its zero point"},
      {call("MatMulInteger", {u8({3, 3}), u8({3, 2}), u8({2})}), "rows of A and of its zero point"},
      {call("Dropout", {x, f32({2}), Tensor::scalar(true)}), "input 1 must be a scalar, found [2]"},
  });
}

TEST_CASE("nodes of derivatives refuse operands that are not those of their operators") {
  const Value x = f32({2, 3});
  const Value shape = ints({1, 1, 4, 4});
  const Value row = f32({3});
  const graph::Attributes kernel{list("kernel_shape", {2, 2})};
  check_refusals({
      {inner("MaxPoolGrad", {f32({1, 1, 2, 2}), i32({1, 1, 2, 2}), shape}),
       "indices must be int64"},
      {inner("MaxPoolGrad", {f32({1, 1, 2}), i64({1, 1, 2}), shape}),
       "indices [1, 1, 2] do not fit ["},
      {inner("MaxPoolGrad", {f32({2, 1, 2, 2}), i64({2, 1, 2, 2}), shape}),
       "batches differ: 2 and 1"},
      {inner("MaxPoolGrad", {f32({1, 2, 2, 2}), i64({1, 2, 2, 2}), shape}),
       "channels differ: 2 and 1"},
      {inner("MaxPoolGrad", {f32({1, 1, 2, 2}), i64({1, 1, 2, 3}), shape}),
       "dy and indices differ in shape"},
      {inner("AveragePoolGrad", {f32({1, 1, 2, 2}), shape}, kernel), "expected dims [1, 1, 3, 3]"},
      {inner("ConvGradInput", {f32({1, 1, 3, 3}), f64({1, 1, 2, 2}), shape}),
       "inputs 0 and 1 differ in dtype: "},
      {inner("ConvGradInput", {f32({1, 1, 2, 2}), f32({1, 1, 2, 2}), shape}),
       "dy has shape [1, 1, 2, 2], expected [1, 1, 3, 3]"},
      {inner("SoftmaxGrad", {x, f32({2, 4})}),
       "dy is tensor(float)[2, 3] but y is tensor(float)[2, 4]"},
      {inner("LogSoftmaxGrad", {x, f64({2, 3})}),
       "dy is tensor(float)[2, 3] but y is tensor(double)[2, 3]"},
      {inner("LayerNormalizationGrad", {x, f64({2, 3}), row}, {}, 3),
       "inputs 0 and 1 differ in dtype: "},
      {inner("LayerNormalizationGrad", {x, f32({2, 4}), f32({4})}, {}, 3),
       "dy is tensor(float)[2, 3], x is tensor(float)[2, 4]"},
      {inner("LayerNormalizationGrad", {x, x, f32({2})}, {}, 3),
       "scale of shape [2] does not broadcast to [3]"},
      {inner("SoftmaxCrossEntropyLossGrad", {one(), f64({2, 3}), i64({2})}),
       "inputs 0 and 1 differ in dtype: "},
      {inner("AffineGridGrad", {f32({1, 2, 2, 3})}),
       "coordinates and spatial axes differ: 3 and 2"},
  });
}

TEST_CASE("quantized products and optimizers refuse scales and rates of other sizes") {
  const auto product = [](const std::vector<std::pair<std::size_t, Value>>& changes) {
    std::vector<Value> inputs{u8({2, 3}), one(), zero(), u8({3, 2}), one(), zero(), one(), zero()};
    for (const auto& [i, value] : changes) inputs[i] = value;
    return call("QLinearMatMul", inputs);
  };
  const auto adam = [](const Value& rate, const Value& step) {
    return OpCase{"Adam",
                  {rate, step, f32({2}), f32({2}), f32({2}), f32({2})},
                  {},
                  3,
                  "ai.onnx.preview.training",
                  1};
  };
  CHECK_NOTHROW(run_op(product({})));
  check_refusals({
      {product({{1, f32({3})}}), "rows of a and of its scale and zero point"},
      {product({{2, u8({3})}}), "rows of a and of its scale and zero point"},
      {product({{4, f32({3})}}), "columns of b and of its scale and zero point"},
      {product({{5, u8({3})}}), "columns of b and of its scale and zero point"},
      {product({{6, f32({0})}}), "elements of the scale of y differ: 0 and 1"},
      {product({{6, f32({2})}}), "elements of the scale of y differ: 2 and 1"},
      {product({{7, u8({0})}}), "elements of the zero point of y differ: 0 and 1"},
      {product({{7, u8({2})}}), "elements of the zero point of y differ: 2 and 1"},
      {adam(f32({2}), Tensor::scalar(std::int64_t{1})), "input 0 must be a scalar, found [2]"},
      {adam(one(), i64({2})), "input 1 must be a scalar, found [2]"},
      {call("DynamicQuantizeLinear", {i32({2})}), "x is int32, needed: float"},
      {{"Inverse", {i32({2, 2})}, {}, 1, "com.microsoft"}, "X is int32, needed: float"},
  });
}
