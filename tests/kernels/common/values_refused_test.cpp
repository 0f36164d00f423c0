// Operators refuse counts, positions, words and texts that they cannot take.
#include "tests/kernels/common/refusals.h"

using namespace ondine;        // NOLINT
using namespace ondine::test;  // NOLINT

namespace {

using Floats = std::vector<float>;
using Words = std::vector<std::string>;

Value u8(const Shape& shape) { return Tensor(DType::uint8, shape); }
Value ints(std::vector<std::int64_t> values) { return int64s(std::move(values)); }
Value whole(std::int64_t value) { return Tensor::scalar(value); }
Value real(float value) { return Tensor::scalar(value); }
Value texts(Words words) {
  return Tensor::of<std::string>({static_cast<std::int64_t>(words.size())}, words);
}
const Value none;

OpCase inner(const std::string& op, const std::vector<Value>& inputs,
             const graph::Attributes& attributes = {}, std::size_t outputs = 1) {
  return {op, inputs, attributes, outputs, "ai.ondine", 1};
}

OpCase ml(const std::string& op, const std::vector<Value>& inputs,
          const graph::Attributes& attributes) {
  return {op, inputs, attributes, 1, "ai.onnx.ml", 1};
}

// One tree of a node and two leaves, with some attributes in place of its own.
OpCase tree(const graph::Attributes& changes) {
  graph::Attributes attributes{list("nodes_treeids", {0, 0, 0}),
                               list("nodes_nodeids", {0, 1, 2}),
                               list("nodes_featureids", {0, 0, 0}),
                               {"nodes_values", Floats{0.5F, 0, 0}},
                               {"nodes_modes", Words{"BRANCH_LEQ", "LEAF", "LEAF"}},
                               list("nodes_truenodeids", {1, 0, 0}),
                               list("nodes_falsenodeids", {2, 0, 0}),
                               list("target_treeids", {0, 0}),
                               list("target_nodeids", {1, 2}),
                               list("target_ids", {0, 0}),
                               {"target_weights", Floats{1, 2}},
                               number("n_targets", 1)};
  for (const graph::Attribute& change : changes) {
    std::erase_if(attributes, [&](const auto& one) { return one.name == change.name; });
    attributes.push_back(change);
  }
  return ml("TreeEnsembleRegressor", {f32({2, 2})}, attributes);
}

OpCase ngrams(const graph::Attributes& changes) {
  graph::Attributes attributes{word("mode", "TF"),
                               number("min_gram_length", 1),
                               number("max_gram_length", 2),
                               number("max_skip_count", 0),
                               list("ngram_counts", {0, 2}),
                               list("ngram_indexes", {0, 1, 2}),
                               list("pool_int64s", {3, 4, 3, 4})};
  for (const graph::Attribute& change : changes) {
    std::erase_if(attributes, [&](const auto& one) { return one.name == change.name; });
    attributes.push_back(change);
  }
  return {"TfIdfVectorizer", {i64({3})}, attributes};
}

}  // namespace

TEST_CASE("trees refuse attributes that contradict each other") {
  CHECK_NOTHROW(run_op(tree({})));
  check_refusals({
      {tree({{"nodes_modes", Words{"BRANCH", "LEAF", "LEAF"}}}),
       "attribute 'nodes_modes' has 'BRANCH'"},
      {tree({list("nodes_nodeids", {0, 1, 1})}), "tree 0 has two nodes 1"},
      {tree({number("n_targets", 0)}), "attribute 'n_targets' is 0"},
      {tree({word("aggregate_function", "MEAN")}),
       "attribute 'aggregate_function' is 'MEAN', not AVERAGE, SUM, MIN or MAX"},
      {tree({list("nodes_featureids", {2, 0, 0})}), "a tree reads feature 2 of 2"},
      {tree({list("nodes_featureids", {-1, 0, 0})}), "a tree reads feature -1 of 2"},
      {tree({list("target_ids", {0, 1})}), "attribute 'target_ids' has 1, needed: 0 to 0"},
      {tree({list("target_ids", {-1, 0})}), "attribute 'target_ids' has -1, needed: 0 to 0"},
  });
  CHECK_NOTHROW(run_op(tree({list("nodes_featureids", {1, 0, 0})})));
}

TEST_CASE("texts and n-grams are refused where shapes and ranges do not fit") {
  CHECK_NOTHROW(run_op(ngrams({})));
  OpCase cube = ngrams({});
  cube.inputs = {i64({1, 1, 1})};
  OpCase scalar = ngrams({});
  scalar.inputs = {i64({})};
  check_refusals({
      {ngrams({list("ngram_indexes", {0, 1, -1})}), "attribute 'ngram_indexes' has -1"},
      {cube, "x must have shape [C] or [N, C], found [1, 1, 1]"},
      {scalar, "x must have shape [C] or [N, C], found []"},
      {ngrams({number("min_gram_length", 0)}), "n-grams of 0 to 2 tokens with at most 0 skipped"},
      {ngrams({number("min_gram_length", 3)}), "n-grams of 3 to 2 tokens"},
      {ngrams({number("max_skip_count", -1)}), "with at most -1 skipped"},
      {ngrams({list("ngram_counts", {0, 1})}),
       "the n-grams of 2 tokens the range [1, 4) of a pool"},
      {ngrams({list("ngram_counts", {3, 2})}), "the n-grams of 1 tokens the range [3, 2)"},
      {ngrams({list("ngram_counts", {-1, 2})}), "the n-grams of 1 tokens the range [-1, 2)"},
      {ngrams({list("ngram_counts", {0, 6})}), "the n-grams of 1 tokens the range [0, 6)"},
      {{"StringNormalizer", {Tensor(DType::string, {2, 2})}},
       "x must have shape [C] or [1, C], found [2, 2]"},
      {{"StringNormalizer", {Tensor(DType::string, {})}},
       "x must have shape [C] or [1, C], found []"},
      {{"RegexFullMatch", {texts({"a"})}}, "attribute 'pattern' is missing"},
  });
  CHECK_NOTHROW(run_op({"StringNormalizer", {Tensor(DType::string, {1, 2})}}));
}

TEST_CASE("signals refuse ranks, lengths and edges that do not fit, early where they are known") {
  const Value window = f32({4});
  const auto mel = [](float low, float high, const Value& edge = none) {
    return OpCase{"MelWeightMatrix",
                  {whole(2), whole(8), whole(100),
                   edge.kind() == Value::Kind::none ? real(low) : edge, real(high)}};
  };
  const auto stft = [&](const Value& step, const Value& length) {
    return OpCase{"STFT", {f32({1, 8, 1}), step, window, length}};
  };
  CHECK_NOTHROW(run_op(mel(0, 0)));
  CHECK_NOTHROW(run_op(stft(whole(1), whole(4))));
  check_refusals({
      {{"DFT", {f32({4})}}, "a signal needs rank 2 or more, found 1"},
      {{"DFT", {f32({1, 4, 3})}}, "the last dim has 3 elements, needed: 1 (real) or 2 (complex)"},
      {{"DFT", {f32({1, 4, 1}), none, whole(2)}}, "axis 2 is that of the complex parts"},
      {{"DFT", {f32({1, 4, 1}), none, whole(-1)}}, "axis -1 is that of the complex parts"},
      {{"DFT", {f32({1, 4, 1}), whole(0)}}, "dft_length is 0, needed: 1 or more"},
      {mel(-1, 10), "edges -1 and 10, needed: 0 <= lower <= upper"},
      {mel(11, 10), "edges 11 and 10, needed: 0 <= lower <= upper"},
      {mel(0, 10, f32({2})), "an edge must be one number"},
      {{"HannWindow", {whole(-1)}}, "size must be one number, 0 or more"},
      {{"HannWindow", {ints({1, 2})}}, "size must be one number, 0 or more"},
  });
  CHECK(run_op_tensor({"HannWindow", {whole(0)}}).shape() == Shape{0});
  const auto refused = [](const OpCase& call, const std::string& message) {
    CHECK_THROWS_WITH(run_known(call, call.version, Known::values), Catch::Contains(message));
  };
  refused(stft(whole(0), whole(4)), "frame_step must be one number above 0");
  refused(stft(ints({1, 1}), whole(4)), "frame_step must be one number above 0");
  refused(stft(whole(1), whole(0)), "frame_length must be one number above 0");
  refused(stft(whole(1), whole(3)), "frame_length and the window differ: 3 and 4");
  refused(ml("ArrayFeatureExtractor", {f32({2, 3}), ints({3})}, {}),
          "index 3 is outside of the last axis of [2, 3]");
  refused(ml("ArrayFeatureExtractor", {f32({2, 3}), ints({-1})}, {}),
          "index -1 is outside of the last axis of [2, 3]");
}

TEST_CASE("equations are refused where they or their operands make no sense") {
  const auto einsum = [](const std::string& equation, const std::vector<Shape>& shapes) {
    std::vector<Value> inputs;
    for (const Shape& shape : shapes) inputs.push_back(f32(shape));
    return OpCase{"Einsum", inputs, {word("equation", equation)}};
  };
  check_refusals({
      {einsum("i.j->i", {{2, 3}}), "stray dots in equation 'i.j->i'"},
      {einsum("i..->i", {{2, 3}}), "stray dots in equation 'i..->i'"},
      {einsum("ij->ik", {{2, 3}}), "output of equation 'ij->ik' holds 'k', which no operand has"},
      {einsum("ij->ii", {{2, 3}}), "output of equation 'ij->ii' holds 'i' twice"},
      {einsum("ijk->i", {{2, 3}}), "term 'ijk' does not fit "},
      {einsum("i...k->i", {{2}}), " does not fit "},
      {einsum("ij,jk->ik", {{2, 3}, {2, 3}}), "dims of label j differ: 3 and 2"},
      {einsum("ii->i", {{2, 3}}), "dims of label i differ: 2 and 3"},
  });
}

TEST_CASE("sequences and optionals refuse what they do not hold") {
  const Value parts = Value::sequence({f32({2, 3}), f32({2, 2})});
  const auto split = [](const Value& sizes) {
    return OpCase{"SplitToSequence", {f32({4}), sizes}, {number("axis", 0)}};
  };
  check_refusals({
      {{"ConcatFromSequence", {Value::sequence({})}, {number("axis", 0)}},
       "the sequence has no elements"},
      {{"ConcatFromSequence", {parts}, {number("axis", 0)}},
       "elements of shapes [2, 3] and [2, 2] cannot be joined along axis 0"},
      {{"ConcatFromSequence", {parts}, {number("axis", 1), number("new_axis", 1)}},
       "cannot be joined along axis 1"},
      {{"SequenceAt", {Value::sequence({}), whole(0)}}, "the sequence has no elements"},
      {split(ints({2, 3})), "the parts do not add up to the dim 4"},
      {split(ints({2, 1})), "the parts do not add up to the dim 4"},
      {split(ints({5, -1})), "the parts do not add up to the dim 4"},
      {{"Optional", {}}, "an optional with neither an input nor a type"},
      {{"SequenceEmpty", {}, {number("dtype", 99)}}, "99"},
  });
  CHECK(run_op(split(ints({4, 0})))[0].elements().size() == 2);
}

TEST_CASE("operators with indices, parts and tiles refuse more than there is") {
  const Value x = f32({2, 3});
  check_refusals({
      {{"Compress", {x, Tensor(DType::boolean, {3})}, {number("axis", 0)}},
       "3 conditions for an axis of size 2"},
      {{"GatherND", {x, i64({3, 1})}, {number("batch_dims", 1)}}, "batch dims differ"},
      {{"ScatterElements", {x, i64({2, 3}), f32({2, 2})}},
       "dims of indices and updates differ: 3 and 2"},
      {{"TensorScatter", {f32({2, 4, 3}), f32({2, 5, 3}), i64({2})}},
       "an update of shape [2, 5, 3] for a cache of shape [2, 4, 3]"},
      {{"TensorScatter", {f32({2, 4, 3}), f32({2, 1, 3}), i64({3})}},
       "write indices of shape [3] for 2 batch elements"},
      {{"TensorScatter", {f32({2, 4, 3}), f32({2, 1, 3}), i64({2})}, {number("axis", 0)}},
       "the axis of a run cannot be the batch axis 0"},
      {{"Split", {x, ints({4, -1})}, {number("axis", 1)}, 2},
       "the sizes of the 2 parts do not add up to the size 3"},
      {{"Unsqueeze", {x}}, "input or attribute \"axes\" is missing"},
      {{"Unsqueeze", {f32({1, 1, 1, 1, 1, 1, 1, 1}), ints({0,  1,  2,  3,  4,  5,  6,  7,  8,
                                                           9,  10, 11, 12, 13, 14, 15, 16, 17,
                                                           18, 19, 20, 21, 22, 23, 24, 25})}},
       " after unsqueezing"},
      {{"NegativeLogLikelihoodLoss", {f32({2, 3, 4}), i64({2, 5})}},
       "dims of scores and labels differ: 5 and 4"},
      {{"BatchNormalization", {f32({}), f32({1}), f32({1}), f32({1}), f32({1})}},
       "X must have rank 1 or more"},
      {{"BatchNormalization", {f32({2, 3}), f32({3, 1}), f32({3}), f32({3}), f32({3})}},
       "must have rank 1, found [3, 1]"},
      {{"MaxUnpool",
        {f32({1, 1, 2}), i64({1, 1, 2})},
        {list("kernel_shape", {2}), list("pads", {3, 3})}},
       "padding removes all elements of axis 2"},
      {{"RNN",
        {f32({4, 2, 3}), f32({1, 5, 3}), f32({1, 5, 5}), none,
         Tensor::of<std::int32_t>({2}, {4, 5})},
        {number("hidden_size", 5)}},
       "sequence_lens holds 5, X has 4 steps"},
      {{"RNN", {f32({4, 2, 3}), f32({1, 5, 3}), f32({1, 5, 5})}, {number("hidden_size", 4)}},
       "hidden sizes of R and hidden_size differ: 5 and 4"},
  });
}

TEST_CASE("nodes on packed weights refuse other types and shapes") {
  const Value s = real(0.5F);
  const Value wide = Tensor::scalar(0.5);
  const Value zero = Tensor::scalar(std::uint8_t{0});
  const auto add = [&](const Shape& a, const Value& scale, const Shape& b, const Value& other) {
    return inner("Int8Add", {u8(a), scale, zero, u8(b), other, zero, s, zero});
  };
  CHECK_NOTHROW(run_op(add({2}, s, {2}, s)));
  check_refusals({
      {add({2}, wide, {2}, s), "scales must be float32"},
      {add({2}, s, {2}, wide), "scales must be float32"},
      {add({2}, s, {1, 2}, s), "a and b differ in rank"},
      {inner("Int8Lookup", {f32({2}), u8({256})}), "x and table must be int8 or uint8"},
      {inner("Int8Lookup", {u8({2}), u8({255})}), "table must have 256 elements"},
      {inner("DequantizeGather", {i64({2}), u8({2, 3, 4}), s}), ", needed: a matrix"},
      {inner("DequantizeMatMul", {f64({2, 3}), u8({3, 4}), s}), "a is double, needed: float32"},
      {inner("DequantizeMatMul", {f32({3}), u8({3, 4}), s}),
       "needed: a of rank 2 or more, a matrix b"},
  });
}
