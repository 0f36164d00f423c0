// Refusals of operators: messages for inputs and attributes just beyond what is allowed.
#include "tests/kernels/common/refusals.h"

using namespace ondine;        // NOLINT
using namespace ondine::test;  // NOLINT

namespace {

using Ints = std::vector<std::int64_t>;

Value ints(Ints values) { return int64s(std::move(values)); }
Value flag() { return Tensor(DType::boolean, {2, 3}); }

void check(const std::vector<Refusal>& rows) { check_refusals(rows); }

}  // namespace

TEST_CASE("operators that lay elements out anew refuse shapes that do not fit") {
  const Value x = f32({2, 3});
  check({
      {{"Reshape", {x, ints({2, 3, 0})}}, "shape element 2 is 0, but the input has rank 2"},
      {{"Reshape", {x, ints({-2, 3})}}, "shape element 0 is -2"},
      {{"Reshape", {x, ints({-1, -1})}}, "more than one -1 in the shape"},
      {{"Reshape", {x, ints({-1, 0})}, {number("allowzero", 1)}},
       "-1 and 0 in one shape with allowzero"},
      {{"Reshape", {x, ints({-1, 4})}},
       "cannot reshape [2, 3]: 6 elements are not a multiple of 4"},
      {{"Reshape", {x, ints({2, 2})}}, "cannot reshape [2, 3] to [2, 2]: 6 elements, not 4"},
      {{"Transpose", {x}, {list("perm", {0})}}, "perm has 1 elements for rank 2"},
      {{"Transpose", {x}, {list("perm", {0, 0})}}, "duplicate axis 0"},
      {{"Squeeze", {x, ints({0})}}, "cannot squeeze axis 0: its size is 2, not 1"},
      {{"Squeeze", {x, ints({0, 1, 2})}}, "3 axes to squeeze from rank 2"},
      {{"Tile", {x, ints({1})}}, "1 repeats for rank 2"},
      {{"Tile", {x, ints({1, -2})}}, "repeats are negative: -2"},
      {{"CenterCropPad", {x, ints({1})}}, "1 dims for 2 axes"},
      {{"CenterCropPad", {x, ints({1, 2, 3})}}, "3 dims for 2 axes"},
      {{"CenterCropPad", {x, ints({2, 3})}, {list("axes", {1})}}, "2 dims for 1 axes"},
      {{"CenterCropPad", {x, ints({2, -3})}}, "-3"},
      {{"CenterCropPad", {x, Tensor::scalar(std::int64_t{2})}}, "1 dims for 2 axes"},
      {{"Pad", {x, ints({0, 0, 0})}}, "3 pads for 2 axes, not 4"},
      {{"Pad", {x, ints({0, 0, 0, 0})}, {word("mode", "around")}}, "unknown padding mode 'around'"},
      {{"Pad", {x, ints({0, 0, 0, 0}), Tensor::scalar(1.0)}},
       "the padding value is double, the data float"},
      {{"Pad", {x, ints({0, 0, 0, 0}), f32({2})}}, "the padding value has shape [2]"},
      {{"Pad", {x, ints({-2, 0, -1, 0})}}, "pads leave axis 0 with size -1"},
      {{"Concat", {x, x}}, "attribute 'axis' is missing"},
      {{"Concat", {x, f64({2, 3})}, {number("axis", 0)}}, "inputs 0 and 1 differ in dtype"},
      {{"Concat", {x, f32({2})}, {number("axis", 0)}}, "inputs 0 and 1 differ in rank: "},
      {{"DepthToSpace", {f32({1, 4, 1, 1})}, {number("blocksize", 0)}}, "blocksize is 0"},
      {{"DepthToSpace", {f32({1, 4, 1, 1})}, {number("blocksize", 2), word("mode", "RCD")}},
       "unknown mode 'RCD'"},
      {{"Range", {Tensor::scalar(0.0F), Tensor::scalar(1.0F), Tensor::scalar(0.0F)}},
       "delta of a range is 0"},
      {{"Range", {f32({2}), Tensor::scalar(1.0F), Tensor::scalar(1.0F)}},
       "start, limit and delta must be scalars, not of shape [2]"},
      {{"Range", {Tensor::scalar(0.0F), Tensor::scalar(1.0), Tensor::scalar(1.0F)}},
       "start, limit and delta differ in dtype"},
      {{"Constant", {}}, "Constant has 0 values, needed: one"},
  });
}

TEST_CASE("operators with indices refuse counts and positions that do not fit") {
  const Value x = f32({2, 3});
  const Value one = ints({1});
  check({
      {{"Slice", {x, ints({0, 0, 0}), ints({1, 1, 1})}}, "3 starts for rank 2"},
      {{"Slice", {x, ints({0}), ints({1, 1})}}, "a slice with 1 starts, 2 ends, 0 axes and 0 step"},
      {{"Slice", {x, ints({0}), ints({1}), ints({0, 1})}},
       "a slice with 1 starts, 1 ends, 2 axes and 0 steps"},
      {{"Slice", {x, ints({0}), ints({1}), ints({0}), ints({1, 1})}},
       "a slice with 1 starts, 1 ends, 1 axes and 2 steps"},
      {{"Slice", {x, ints({0}), ints({1}), ints({0}), ints({0})}}, "the step of a slice is 0"},
      {{"OneHot", {one, Tensor::scalar(std::int64_t{-1}), f32({2})}}, "depth is -1"},
      {{"OneHot", {one, Tensor::scalar(std::int64_t{3}), f32({3})}},
       "values have shape [3], not [2]"},
      {{"OneHot", {one, ints({3, 3}), f32({2})}}, "depth has shape [2]"},
      {{"ReverseSequence", {x, ints({1, 1, 4})}},
       "sequence length 4 of batch element 2 is outside [0, 2]"},
      {{"ReverseSequence", {x, ints({1, -1, 2})}},
       "sequence length -1 of batch element 1 is outside [0, 2]"},
      {{"ReverseSequence", {x, i64({3, 1})}}, "sequence_lens of rank 2"},
      {{"ReverseSequence", {f32({3}), i64({3})}}, "an input of rank 1, not 2 or more"},
      {{"ReverseSequence", {x, i64({3})}, {number("batch_axis", 2)}},
       "batch_axis 2 and time_axis 0, not 0 and 1"},
      {{"Compress", {x, flag()}}, "the condition has rank 2, not 1"},
      {{"EyeLike", {x}, {number("dtype", 99)}}, "attribute \"dtype\" is 99, needed: a dtype"},
      {{"GatherND", {x, i64({2, 1})}, {number("batch_dims", 2)}},
       "2 batch axes for indices of rank 2 and a tensor of rank 2"},
      {{"GatherND", {x, i64({2, 1})}, {number("batch_dims", -1)}}, "batch_dims is -1"},
      {{"ScatterElements", {x, i64({2, 3}), f32({2})}}, "indices of rank 2 and updates of rank 1"},
      {{"ScatterElements", {x, i64({2, 3}), x}, {word("reduction", "mean")}},
       "unknown reduction 'mean'"},
      {{"ScatterElements", {x, f32({2, 3}), x}}, "indices of dtype float"},
      {{"Trilu", {x, i64({2})}}, "k has shape [2] and dtype int64"},
      {{"Trilu", {x, i32({})}}, "k has shape [] and dtype int32"},
      {{"TopK", {x, ints({1, 1})}, {}, 2}, "k has 2 elements, not one"},
      {{"TopK", {x, ints({-1})}, {}, 2}, "k is -1"},
      {{"TopK", {x, ints({4})}, {}, 2}, "k is 4, above the axis size 3"},
      {{"CumSum", {x, ints({0, 1})}}, "the axis has 2 elements, not one"},
      {{"ReduceSum", {x, ints({0, 1, 1})}, {number("keepdims", 0)}}, "3 axes for rank 2"},
      {{"ReduceSum", {x, ints({0, 0})}}, "duplicate axis 0"},
  });
  // At the bounds they run.
  CHECK(run_op({"TopK", {x, ints({3})}, {}, 2}).size() == 2);
  CHECK(run_op({"TopK", {x, ints({0})}, {}, 2})[0].tensor().shape() == Shape{2, 0});
  CHECK(run_op({"ReverseSequence", {x, ints({0, 1, 2})}}).size() == 1);
  CHECK(run_op_tensor({"OneHot", {one, Tensor::scalar(std::int64_t{0}), f32({2})}}).shape() ==
        Shape{1, 0});
}

TEST_CASE("operators on elements refuse operands of different types and unknown words") {
  const Value x = f32({2, 3});
  check({
      {{"Add", {x, f64({2, 3})}}, "inputs 0 and 1 differ in dtype: float and double"},
      {{"Add", {x, f32({4})}, {}, 1, "", 6},
       "shapes [2, 3] and [4] differ and attribute \"broadcast\" is not 1"},
      {{"Add", {x, f32({3})}, {number("broadcast", 1), number("axis", 0)}, 1, "", 6}, "3"},
      {{"Add", {f32({3}), x}, {number("broadcast", 1)}, 1, "", 6},
       "operand of rank 2 does not broadcast to rank 1"},
      {{"Add",
        {f32({2, 3, 4}), f32({3, 4})},
        {number("broadcast", 1), number("axis", 2)},
        1,
        "",
        6},
       "operand of rank 2 at axis 2 does not fit into rank 3"},
      {{"Clip", {x, f64({})}}, "inputs 0 and 1 differ in dtype: float and double"},
      {{"Clip", {x, Value(), f32({2})}}, "bound 2 must be a scalar, found [2]"},
      {{"PRelu", {x, f64({1})}}, "inputs 0 and 1 differ in dtype: float and double"},
      {{"PRelu", {x, f32({1, 1, 1})}}, "slope [1, 1, 1] does not broadcast to [2, 3]"},
      {{"Where", {flag(), x, f64({2, 3})}}, "inputs 1 and 2 differ in dtype: float and double"},
      {{"Sum", {x, f32({3})}, {}, 1, "", 6}, "inputs 0 and 1 differ in shape: [2, 3] and [3]"},
      {{"Celu", {x}, {{"alpha", 0.0F}}}, "alpha of Celu is 0"},
      {{"Gelu", {x}, {word("approximate", "erf")}},
       "attribute \"approximate\" is 'erf', needed: \"none\" or \"tanh\""},
      {{"BitShift",
        {Tensor(DType::uint8, {1}), Tensor(DType::uint8, {1})},
        {word("direction", "UP")}},
       "attribute \"direction\" is 'UP', needed: \"LEFT\" or \"RIGHT\""},
      {{"Pow", {i64({1}), ints({-1})}}, "integer 0 to a negative power"},
      {{"Cast", {x}, {number("to", 0)}}, "attribute \"to\" is 0, needed: a dtype"},
      {{"Cast", {x}, {number("to", 99)}}, "attribute \"to\" is 99, needed: a dtype, 1 to "},
      {{"Bernoulli", {x}, {number("dtype", 99)}}, "attribute \"dtype\" is 99, needed: a dtype"},
      {{"Multinomial", {x}, {number("dtype", 1)}},
       "attribute \"dtype\" is 1, needed: int32 or int64"},
      {{"Multinomial", {x}, {number("sample_size", 0)}},
       "attribute \"sample_size\" is 0, needed: 1 or more"},
      {{"Multinomial", {f32({2})}}, "input has rank 1, needed: 2"},
      {{"Multinomial", {f32({2, 0})}}, "there are no classes to draw from"},
      {{"RandomNormal", {}}, "attribute \"shape\" is missing"},
      {{"RandomNormal", {}, {list("shape", {2}), number("dtype", 7)}},
       "random numbers of dtype 7, needed: float16, bfloat16, float or double"},
  });
  CHECK(
      run_op_tensor({"Pow", {ints({1, -1, 2}), ints({-1, -3, -1})}}).identical(int64s({1, -1, 0})));
}

TEST_CASE("operators on images and windows refuse ranks, modes and sizes that do not fit") {
  const Value x = f32({1, 1, 4, 4});
  const Value rois = f32({2, 4});
  const Value batches = i64({2});
  const Value none;
  check({
      {{"GridSample", {f32({1, 1}), f32({1, 1})}}, "X must have rank 3 to 5, found 2"},
      {{"GridSample", {f32({1, 1, 1, 1, 1, 1}), f32({1, 1, 1, 1, 1, 4})}},
       "X must have rank 3 to 5, found 6"},
      {{"GridSample", {x, f32({1, 2, 2})}}, "grid [1, 2, 2] does not fit X [1, 1, 4, 4]"},
      {{"GridSample", {x, f32({1, 2, 2, 2})}, {word("mode", "sharp")}}, "unknown mode 'sharp'"},
      {{"GridSample", {x, f32({1, 2, 2, 2})}, {word("padding_mode", "ones")}},
       "unknown padding_mode 'ones'"},
      {{"GridSample", {f32({1, 1, 0, 4}), f32({1, 2, 2, 2})}}, "samples of an empty X"},
      {{"RoiAlign", {x, rois, batches}, {number("output_height", 0)}},
       "output dims 0 and 1, sampling_ratio 0"},
      {{"RoiAlign", {x, rois, batches}, {number("output_width", 0)}},
       "output dims 1 and 0, sampling_ratio 0"},
      {{"RoiAlign", {x, rois, batches}, {number("sampling_ratio", -1)}},
       "output dims 1 and 1, sampling_ratio -1"},
      {{"RoiAlign", {x, rois, batches}, {word("mode", "sum")}}, "unknown mode 'sum'"},
      {{"RoiAlign", {x, rois, batches}, {word("coordinate_transformation_mode", "pixel")}},
       "unknown coordinate_transformation_mode 'pixel'"},
      {{"RoiAlign", {x, rois, i32({2})}}, "batch_indices must be int64"},
      {{"RoiAlign", {f32({1, 1, 0, 4}), rois, batches}}, "regions of an empty image"},
      {{"MaxRoiPool", {x, f32({1, 5})}, {list("pooled_shape", {1})}},
       "pooled_shape must hold two sizes above 0"},
      {{"MaxRoiPool", {x, f32({1, 5})}, {list("pooled_shape", {1, 0})}},
       "pooled_shape must hold two sizes above 0"},
      {{"AffineGrid", {f32({1, 2, 3}), ints({1, 1, 4})}},
       "size must have 4 or 5 elements, found 3"},
      {{"Resize", {x, none, f32({4}), ints({1, 1, 2, 2})}}, "both scales and sizes are given"},
      {{"Resize", {x}}, "neither scales nor sizes are given"},
      {{"Resize", {x, none, f32({3})}}, "scales has 3 values, needed: 4"},
      {{"Resize", {x, none, none, ints({1, 1, 2})}}, "sizes has 3 values, needed: 4"},
      {{"Resize", {x, none, f32({4})}}, "scale 0"},
      {{"Resize", {x, none, none, ints({1, 1, 2, -2})}}, "size -2"},
      {{"Resize", {x, none, none, ints({1, 1, 2, 2})}, {word("keep_aspect_ratio_policy", "all")}},
       "keep_aspect_ratio_policy holds 'all'"},
      {{"MaxPool", {x}, {list("kernel_shape", {2})}},
       "kernel_shape has 1 values, X is [1, 1, 4, 4]"},
      {{"MaxPool", {x}}, "attribute kernel_shape is missing"},
      {{"MaxPool", {x}, {list("kernel_shape", {2, 2}), word("auto_pad", "SAME")}},
       "auto_pad must be NOTSET, SAME_UPPER, SAME_LOWER or VALID, found "},
      {{"MaxUnpool", {f32({1, 1, 2, 2}), i32({1, 1, 2, 2})}, {list("kernel_shape", {2, 2})}},
       "I must be int64"},
      {{"MaxUnpool", {f32({1, 1, 2, 2}), i64({1, 1, 2, 1})}, {list("kernel_shape", {2, 2})}},
       "X [1, 1, 2, 2] and I [1, 1, 2, 1] differ in shape"},
      {{"GlobalAveragePool", {f32({3})}}, "X must have rank 2 or more, found [3]"},
      {{"GlobalLpPool", {x}, {number("p", 0)}}, "p is 0, must be above 0"},
      {{"LRN", {x}, {number("size", 0)}}, "size is 0, must be 1 or more"},
      {{"LRN", {f32({3})}, {number("size", 1)}}, "X must have rank 2 or more"},
      {{"LpNormalization", {x}, {number("p", 3)}}, "p must be 1 or 2, found 3"},
      {{"LayerNormalization", {x, f32({4})}, {number("stash_type", 2)}},
       "stash_type must be 1 (float) or 16 (bfloat16), found 2"},
      {{"DeformConv", {f32({1, 1, 4}), f32({1, 1, 2}), f32({1, 4, 3})}}, "needed: 4"},
  });
  CHECK(run_op({"GridSample", {f32({1, 1, 4}), f32({1, 2, 1})}}).size() == 1);
}

TEST_CASE("operators of losses, recurrences and quantization refuse what does not fit") {
  const Value scores = f32({2, 3});
  const Value x = f32({4, 2, 3});  // [steps, batch, inputs]
  const Value w = f32({1, 5, 3});
  const Value r = f32({1, 5, 5});
  const Value none;
  check({
      {{"NegativeLogLikelihoodLoss", {scores, i64({2})}, {word("reduction", "max")}},
       "reduction must be none, sum or mean, found 'max'"},
      {{"NegativeLogLikelihoodLoss", {scores, f32({2})}},
       "labels must be int32 or int64, found float"},
      {{"NegativeLogLikelihoodLoss", {f32({2}), i64({2})}},
       "scores need rank 2 or more, found [2]"},
      {{"NegativeLogLikelihoodLoss", {scores, i64({2, 1})}},
       "labels [2, 1] do not fit scores [2, 3]"},
      {{"NegativeLogLikelihoodLoss", {scores, ints({0, 3})}},
       "label 3 at position 1 is none of the 3 classes"},
      {{"NegativeLogLikelihoodLoss", {scores, ints({-1, 0})}},
       "label -1 at position 0 is none of the 3 classes"},
      {{"RNN", {x, w, r}, {number("layout", 2)}}, "layout must be 0 or 1, found 2"},
      {{"RNN", {x, w, r}, {number("hidden_size", 0)}}, "hidden_size is 0, must be 1 or more"},
      {{"RNN", {x, w, r}, {word("direction", "back")}},
       "direction must be forward, reverse or bidirectional, found 'back'"},
      {{"RNN", {x, w, r, none, i64({2})}}, "sequence_lens must be int32"},
      {{"RNN", {x, w, r}, {{"clip", -1.0F}}}, "clip is -1, must not be negative"},
      {{"RNN", {x, w, r}, {{"activations", std::vector<std::string>{"Sine"}}}},
       "unknown activation 'Sine'"},
      {{"GRU",
        {x, f32({1, 15, 3}), f32({1, 15, 5})},
        {{"activations", std::vector<std::string>{"Tanh"}}}},
       "activations has 1 names, 2 are needed"},
      {{"QuantizeLinear", {scores, f32({}), Tensor(DType::int8, {})}, {number("output_dtype", 2)}},
       "output_dtype is uint8, the zero point has int8"},
      {{"QuantizeLinear", {scores, f32({}), Tensor(DType::float8e4m3fn, {})}, {}, 1, "", 13},
       "no quantization to dtype float8e4m3fn before version 19"},
      {{"QuantizeLinear", {scores, f32({}), none}, {number("output_dtype", 1)}},
       "no quantization to dtype float"},
      {{"QuantizeLinear", {scores, f32({2})}},
       "a scale of shape [2] does not fit x of shape [2, 3]"},
      {{"QuantizeLinear", {scores, f32({2, 2})}, {number("block_size", 1)}},
       "a scale of shape [2, 2] does not fit x of shape [2, 3] with blocks of 1"},
      {{"QuantizeLinear", {scores, f32({2, 2})}, {number("block_size", -1)}}, "block_size is -1"},
      {{"Einsum", {scores, f64({3})}, {word("equation", "ij,j->i")}}, "operands differ in dtype"},
      {{"MatMul", {scores, f32({})}}, "a matrix product of a scalar"},
      {{"Momentum",
        {Tensor::scalar(0.1F), i64({}), scores, scores, scores},
        {{"alpha", 0.9F}, {"beta", 1.0F}, word("mode", "fast"), {"norm_coefficient", 0.0F}},
        2,
        "ai.onnx.preview.training",
        1},
       "attribute \"mode\" is 'fast', needed: \"standard\" or \"nesterov\""},
      {{"StringNormalizer",
        {Tensor::of<std::string>({1}, {"a"})},
        {word("case_change_action", "BIG")}},
       "attribute 'case_change_action' is 'BIG', not LOWER, UPPER or NONE"},
      {{"TfIdfVectorizer",
        {i64({3})},
        {word("mode", "ALL"), number("min_gram_length", 1), number("max_gram_length", 1),
         number("max_skip_count", 0), list("ngram_counts", {0}), list("ngram_indexes", {0}),
         list("pool_int64s", {1})}},
       "attribute 'mode' is 'ALL', not TF, IDF or TFIDF"},
      {{"ConcatFromSequence", {Value::sequence({f32({1})})}}, "attribute 'axis' is missing"},
      {{"SequenceAt", {Value::sequence({f32({1})}), f32({})}}, "a position of dtype float"},
      {{"SequenceAt", {Value::sequence({f32({1})}), i64({2})}},
       "the position must have one element, found shape [2]"},
      {{"SplitToSequence", {scores, Tensor::scalar(std::int64_t{0})}}, "parts of size 0"},
      {{"OptionalGetElement", {Value::optional()}}, "the optional is empty"},
      {{"Normalizer", {scores}, {word("norm", "L3")}, 1, "ai.onnx.ml", 1},
       "attribute 'norm' is 'L3', not MAX, L1 or L2"},
  });
}

TEST_CASE("derivatives of deformed columns refuse those of other windows") {
  const auto grad = [](const Shape& columns) {
    return OpCase{
        "DeformColumnsGrad",
        {f32(columns), f32({1, 2, 3, 3}), f32({1, 8, 2, 2}), f32({1, 4, 2, 2}), ints({2, 2})},
        {},
        3,
        "ai.ondine",
        1};
  };
  check({{grad({1, 8, 5}), "dcolumns has shape [1, 8, 5]"}});
  CHECK(run_op(grad({1, 8, 4})).size() == 3);
}

TEST_CASE("derivatives of batch normalization refuse operands of other shapes") {
  const Value x = f32({2, 3, 4});
  const auto grad = [&](const Value& dy, const Value& input, std::size_t position,
                        const Shape& shape) {
    std::vector<Value> inputs{dy, input, f32({3}), f32({3}), f32({3})};
    if (position > 1) inputs[position] = f32(shape);
    return OpCase{"BatchNormalizationGrad", inputs, {}, 3, "ai.ondine", 1};
  };
  for (std::size_t i = 2; i < 5; ++i) check({{grad(x, x, i, {4}), "numbers of channels"}});
  // All of one size, which is not that of x.
  check({{{"BatchNormalizationGrad", {x, x, f32({2}), f32({2}), f32({2})}, {}, 3, "ai.ondine", 1},
          "numbers of channels"},
         {grad(f32({2, 3, 5}), x, 0, {}),
          "dy is tensor(float)[2, 3, 5], x is tensor(float)[2, 3, 4]"}});
  CHECK(run_op(grad(x, x, 0, {})).size() == 3);
}
