#include "tests/deadline/worst_cases.h"

#include <memory>

#include "core/system/pages.h"
#include "tests/deadline/case_parts.h"

namespace ondine::test {

namespace {

Tensor identity(std::int64_t n) {
  Tensor matrix(DType::float32, {n, n});
  for (std::int64_t i = 0; i < n; ++i) {
    matrix.mutable_values<float>()[static_cast<std::size_t>(i * (n + 1))] = 1;
  }
  return matrix;
}

Attributes support_vectors(std::int64_t features, std::int64_t count) {
  return {{"kernel_type", std::string("RBF")},
          {"kernel_params", std::vector<float>{0.1F, 0, 3}},
          {"support_vectors", std::vector<float>(static_cast<std::size_t>(features * count))}};
}

OpCase svm_classifier() {
  Attributes attributes = support_vectors(256, 2048);
  attributes.emplace_back("vectors_per_class", Ints{1024, 1024});
  attributes.emplace_back("coefficients", std::vector<float>(2048));
  attributes.emplace_back("rho", std::vector<float>(1));
  attributes.emplace_back("classlabels_ints", Ints{0, 1});
  return op("SVMClassifier", {floats({1 << 14, 256})}, attributes, 2, ml_domain);
}

OpCase svm_regressor() {
  Attributes attributes = support_vectors(256, 2048);
  attributes.emplace_back("n_supports", std::int64_t{2048});
  attributes.emplace_back("coefficients", std::vector<float>(2048));
  attributes.emplace_back("rho", std::vector<float>(1));
  return op("SVMRegressor", {floats({1 << 14, 256})}, attributes, 1, ml_domain);
}

// A chain of branches, entered at its head by many trees.
OpCase tree_ensemble() {
  constexpr std::int64_t nodes = 2000;
  Ints next, is_leaf(nodes), ones(nodes, 1), zero(nodes);
  for (std::int64_t i = 0; i < nodes; ++i) next.push_back(std::min(i + 1, nodes - 1));
  is_leaf.back() = 1;
  next.back() = 0;
  return op("TreeEnsemble", {floats({4096, 1})},
            {{"n_targets", std::int64_t{1}},
             {"nodes_splits", floats({nodes})},
             {"nodes_modes", bytes({nodes})},
             {"nodes_featureids", zero},
             {"nodes_truenodeids", next},
             {"nodes_trueleafs", is_leaf},
             {"nodes_falsenodeids", zero},
             {"nodes_falseleafs", ones},
             {"leaf_targetids", Ints{0}},
             {"leaf_weights", floats({1})},
             {"tree_roots", Ints(1000)}},
            1, ml_domain);
}

OpCase tf_idf() {
  return op("TfIdfVectorizer", {zeros(DType::int64, {1 << 20})},
            {{"mode", std::string("TF")},
             {"min_gram_length", std::int64_t{2}},
             {"max_gram_length", std::int64_t{2}},
             {"max_skip_count", std::int64_t{1} << 20},
             {"ngram_counts", Ints{0, 0}},
             {"ngram_indexes", Ints{0}},
             {"pool_int64s", Ints{0, 0}}});
}

OpCase regions(const std::string& name, std::int64_t count, Attributes attributes) {
  Tensor rois = floats({count, name == "RoiAlign" ? 4 : 5});
  const auto values = rois.mutable_values<float>();
  const std::size_t width = name == "RoiAlign" ? 4 : 5;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % width >= width - 2) values[i] = 1000;
  }
  std::vector<Value> inputs{floats({1, 1, 1000, 1000}), std::move(rois)};
  if (name == "RoiAlign") inputs.emplace_back(zeros(DType::int64, {count}));
  return op(name, std::move(inputs), std::move(attributes));
}

OpCase gradient_of(OpCase one, const std::string& name, Shape dy) {
  one.op = name;
  one.domain = ondine_domain;
  one.inputs.insert(one.inputs.begin(), floats(std::move(dy)));
  return one;
}

const Attributes align{{"output_height", std::int64_t{64}},
                       {"output_width", std::int64_t{64}},
                       {"sampling_ratio", std::int64_t{4000}}};
const Attributes roi_pool{{"pooled_shape", Ints{1, 1}}};

OpCase grid_sample() {
  return op("GridSample", {floats({1, 1 << 16, 4, 4}), floats({1, 16, 16, 2})},
            {{"mode", std::string("cubic")}});
}

std::vector<Value> deformed(bool columns) {
  std::vector<Value> inputs{floats({1, 1024, 64, 64}), floats({1, 18, 62, 62}), Value()};
  if (columns) inputs.emplace_back(shape_of({3, 3}));
  return inputs;
}

std::vector<Value> with(std::vector<Value> first, std::vector<Value> rest) {
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

}  // namespace

Tensor zeros(DType dtype, Shape shape) {
  const Tensor size(dtype, Shape{1});
  const auto bytes = static_cast<std::size_t>(shape.size()) * size.bytes();
  if (bytes < (1U << 20)) return Tensor(dtype, std::move(shape));
  const std::shared_ptr<void> pages(map_pages(bytes), [bytes](void* p) { unmap_pages(p, bytes); });
  return Tensor::share(dtype, std::move(shape), pages.get(), pages);
}

const std::map<std::string, std::vector<MakeCase>>& worst_cases() {
  static const std::map<std::string, std::vector<MakeCase>> others{
      {":NonMaxSuppression", {[] {
         return op("NonMaxSuppression", {floats({1, 400'000, 4}), floats({1, 1, 400'000}),
                                         Tensor::of<std::int64_t>({1}, {1'000'000})});
       }}},
      {":TfIdfVectorizer", {tf_idf}},
      {":GridSample", {grid_sample}},
      {"ai.ondine:GridSampleGrad", {[] {
         OpCase one = gradient_of(grid_sample(), "GridSampleGrad", {1, 1 << 16, 16, 16});
         one.outputs = 2;
         return one;
       }}},
      {":RoiAlign", {[] { return regions("RoiAlign", 64, align); }}},
      {"ai.ondine:RoiAlignGrad", {[] {
         return gradient_of(regions("RoiAlign", 64, align), "RoiAlignGrad", {64, 1, 64, 64});
       }}},
      {":MaxRoiPool", {[] { return regions("MaxRoiPool", 4096, roi_pool); }}},
      {"ai.ondine:MaxRoiPoolGrad", {[] {
         return gradient_of(regions("MaxRoiPool", 4096, roi_pool), "MaxRoiPoolGrad",
                            {4096, 1, 1, 1});
       }}},
      {"ai.ondine:DeformColumns",
       {[] { return op("DeformColumns", deformed(true), {}, 1, ondine_domain); }}},
      {"ai.ondine:DeformColumnsGrad", {[] {
         return op("DeformColumnsGrad", with({floats({1, 1024 * 9, 62 * 62})}, deformed(true)), {},
                   2, ondine_domain);
       }}},
      {":StringSplit", {[] {
         return op("StringSplit", {text(std::string(1 << 22, 'a'))},
                   {{"delimiter", std::string(1 << 20, 'a') + "b"}}, 2);
       }}},
      {":StringNormalizer", {[] {
         return op("StringNormalizer", {text(std::string(1 << 24, 'a'))},
                   {{"case_change_action", std::string("UPPER")}});
       }}},
      {":StringConcat", {[] {
         return op("StringConcat",
                   {Tensor::of<std::string>({1 << 13}, std::vector<std::string>(1 << 13)),
                    text(std::string(1 << 16, 'a'))});
       }}},
      {":Einsum",
       {[] {
          return op("Einsum", {floats({3000}), floats({3000}), floats({3000})},
                    {{"equation", std::string("a,b,c->")}});
        },
        [] {
          return op("Einsum", {floats({3000}), floats({3000}), floats({3000})},
                    {{"equation", std::string("a,b,c->a")}});
        },
        [] {
          return op("Einsum", {floats({4096, 4096}), floats({4096, 4096})},
                    {{"equation", std::string("ab,bc->ac")}});
        }}},
      {":MatMul",
       {[] {
          return op("MatMul", {floats({4096, 4096}), floats({4096, 4096})});
        },
        [] {
          return op("MatMul",
                    {zeros(DType::int32, {4096, 4096}), zeros(DType::int32, {4096, 4096})});
        },
        [] {
          return op("MatMul",
                    {zeros(DType::float64, {4096, 4096}), zeros(DType::float64, {4096, 4096})});
        }}},
      {":Gemm", {[] {
         return op("Gemm", {zeros(DType::int64, {64, 4096}), zeros(DType::int64, {4096, 8192})});
       }}},
      {":Det", {[] {
         return op("Det", {identity(2048)});  // zeros end the elimination at once
       }}},
      {"ai.onnx.ml:SVMClassifier", {svm_classifier}},
      {"ai.onnx.ml:SVMRegressor", {svm_regressor}},
      {"ai.onnx.ml:TreeEnsemble", {tree_ensemble}},
      {":Multinomial", {[] {
         return op("Multinomial", {floats({1, 1 << 16})}, {{"sample_size", std::int64_t{1} << 24}});
       }}},
      {":TopK", {[] {
         return op("TopK", {floats({1 << 24}), Tensor::of<std::int64_t>({1}, {1 << 23})}, {}, 2);
       }}},
      {":Unique",
       {[] { return op("Unique", {floats({1 << 24})}, {}, 4); },
        [] {
          return op("Unique", {floats({1 << 12, 1 << 13})}, {{"axis", std::int64_t{0}}});
        }}},
      {":CumSum", {[] {
         return op("CumSum", {floats({1 << 26}), Tensor::of<std::int64_t>({}, {0})});
       }}},
      {":DFT", {[] {
         return op("DFT", {floats({32, 1'000'003, 1}), Value(), Tensor::of<std::int64_t>({}, {1})});
       }}},
      {":Resize",
       {[] {
          return op("Resize",
                    {floats({1, 1, 4000, 4000}), Value(), Value(), shape_of({1, 1, 4000, 3000})},
                    {{"mode", std::string("cubic")}, {"antialias", std::int64_t{1}}});
        },
        [] {
          return op("Resize", {floats({1, 1, 16}), Value(), Value(), shape_of({1, 1, 1 << 26})});
        }}},
      {":AffineGrid", {[] {
         return op("AffineGrid", {floats({1, 2, 3}), shape_of({1, 1, 4096, 8192})});
       }}},
      {":MelWeightMatrix", {[] {
         const auto number = [](std::int64_t n) {
           return Value(Tensor::of<std::int64_t>({}, {n}));
         };
         return op("MelWeightMatrix", {number(12), number(1 << 24), number(1 << 20),
                                       Tensor::of<float>({}, {0}), Tensor::of<float>({}, {1000})});
       }}},
      {":MaxUnpool", {[] {
         return op("MaxUnpool", {floats({1, 1, 1 << 26}), zeros(DType::int64, {1, 1, 1 << 26})},
                   {{"kernel_shape", Ints{1}}});
       }}},
      {"ai.ondine:Cofactor",
       {[] {
          return op("Cofactor", {floats({2048, 2048})}, {}, 1, ondine_domain);
        },
        [] { return op("Cofactor", {identity(1500)}, {}, 1, ondine_domain); }}},
      {"com.microsoft:Inverse",
       {[] { return op("Inverse", {identity(2048)}, {}, 1, "com.microsoft"); }}},
      {"ai.ondine:DeformColumnsGradGrad", {[] {
         return op("DeformColumnsGradGrad",
                   with({floats({1, 1024, 64, 64}), floats({1, 18, 62, 62}), Value(),
                         floats({1, 1024 * 9, 62 * 62})},
                        deformed(true)),
                   {}, 3, ondine_domain);
       }}},
      {"ai.ondine:GridSampleGradGrad", {[] {
         OpCase one = gradient_of(grid_sample(), "GridSampleGradGrad", {1, 1 << 16, 16, 16});
         one.inputs.insert(one.inputs.begin(),
                           {floats({1, 1 << 16, 4, 4}), floats({1, 16, 16, 2})});
         one.outputs = 3;
         return one;
       }}},
      {"ai.ondine:LinearRecurrence", {[] {
         return op("LinearRecurrence",
                   {floats({1 << 26}), floats({1 << 26}), Tensor::of<std::int64_t>({}, {0})}, {}, 1,
                   ondine_domain);
       }}},
      {":CumProd", {[] {
         return op("CumProd", {floats({1 << 26}), Tensor::of<std::int64_t>({}, {0})});
       }}},
      {"ai.ondine:MatMulT", {[] {
         return op("MatMulT", {floats({4096, 4096}), floats({4096, 4096})},
                   {{"transB", std::int64_t{1}}}, 1, ondine_domain);
       }}},
      {"ai.ondine:ProjectedCrossEntropy", {[] {
         return op("ProjectedCrossEntropy",
                   {floats({4096, 2048}), zeros(DType::int64, {4096}), floats({2048, 8192})}, {}, 2,
                   ondine_domain);
       }}},
      {"ai.ondine:ProjectedWeightGrad", {[] {
         return op("ProjectedWeightGrad",
                   {floats({}), floats({4096, 2048}), floats({2048, 8192}),
                    zeros(DType::int64, {4096}), floats({4096})},
                   {}, 1, ondine_domain);
       }}},
      {"ai.ondine:ResizeGrad", {[] {
         return op("ResizeGrad",
                   {floats({1, 1, 4000, 3000}), Value(), Value(), shape_of({1, 1, 4000, 3000}),
                    shape_of({1, 1, 4000, 4000})},
                   {{"mode", std::string("cubic")}, {"antialias", std::int64_t{1}}}, 1,
                   ondine_domain);
       }}},
      {":Hardmax", {[] { return op("Hardmax", {floats({1 << 27})}); }}},
      {":ArgMax", {[] { return op("ArgMax", {floats({1 << 28})}); }}},
      {":Range", {[] {
         return op("Range", {Tensor::of<float>({}, {0}), Tensor::of<float>({}, {1 << 26}),
                             Tensor::of<float>({}, {1})});
       }}},
      {"ai.ondine:AffineGridGrad", {[] {
         return op("AffineGridGrad", {floats({1, 4096, 8192, 2})}, {}, 1, ondine_domain);
       }}},
      {":SplitToSequence", {[] { return op("SplitToSequence", {floats({1 << 20})}); }}},
      {":RandomNormal", {[] {
         return op("RandomNormal", {}, {{"shape", Ints{1 << 26}}});
       }}},
      {":NonZero", {[] { return op("NonZero", {floats({1 << 27})}); }}},
      {":Compress", {[] {
         Tensor all = zeros(DType::boolean, {1 << 26});
         for (bool& one : all.mutable_values<bool>()) one = true;
         return op("Compress", {floats({1 << 26}), std::move(all)});
       }}},
      {"ai.onnx.ml:LinearClassifier", {[] {
         return op("LinearClassifier", {floats({1 << 18, 1024})},
                   {{"coefficients", std::vector<float>(1024 * 64)},
                    {"intercepts", std::vector<float>(64)},
                    {"classlabels_ints", Ints(64)}},
                   2, ml_domain);
       }}},
      {":Softmax", {[] {
         return op("Softmax", {floats({32, 1 << 22})});
       }}},
      {":LSTM", {[] {
         return op("LSTM", {floats({512, 64, 512}), floats({1, 2048, 512}), floats({1, 2048, 512})},
                   {{"hidden_size", std::int64_t{512}}}, 3);
       }}},
      {"ai.ondine:Im2Col", {[] {
         return op("Im2Col", {floats({1, 1, 1000, 1000}), shape_of({8, 8})}, {}, 1, ondine_domain);
       }}},
  };
  static const std::map<std::string, std::vector<MakeCase>> all = [] {
    std::map<std::string, std::vector<MakeCase>> cases = window_cases();
    cases.insert(others.begin(), others.end());
    return cases;
  }();
  return all;
}

}  // namespace ondine::test
