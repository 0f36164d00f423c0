// Attention whose samples are made the second dim for its projections, as PyTorch's
// MultiheadAttention does where a batch comes first, is computed with the samples first.
#include <ondine/build.h>
#include <ondine/model.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/fusions_run.h"
#include "tests/support/random_tensor.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/text.h"

namespace ondine::test {
namespace {

using Int64s = std::vector<std::int64_t>;
constexpr std::int64_t samples = 3, queries = 5, heads = 2, size = 4, width = heads * size;

enum class Projection { packed, apart };

// Variation of self-attention as it is exported.
struct Form {
  Projection projection = Projection::packed;
  std::int64_t keys = queries;
  bool fixed_batch = false;
  bool inferred_batch = false;  // by Reshape
  bool turned_keys = false;     // before the heads are made a dim of their own
  bool masked = false;
  bool biased = true;
  bool shape_read = false;        // of the projected input, by something that remains
  Int64s stacked{3, 1, 2, 0, 4};  // the Transpose of the parts
  Int64s result{2, 0, 1, 3};
  bool result_read = false;    // before it is projected
  std::int64_t bias_rows = 1;  // of the last projection
};

class Exported {
 public:
  explicit Exported(const Form& form) : form_(form) {
    const ModelBuilder::Dim batch =
        form.fixed_batch ? ModelBuilder::Dim(samples) : ModelBuilder::Dim("N");
    b_.input("x", DType::float32, {batch, queries, width});
    if (form.projection == Projection::apart) {
      b_.input("memory", DType::float32, {batch, form.keys, width});
    }
    const std::string y = attention();
    const std::string rows = transpose(y, form.result);
    if (form.result_read) b_.output(rows, DType::float32, {"A", "B", "C", "D"});
    const std::string flat = reshape(rows, {-1, width});
    const std::string w = weight({width, width});
    const std::int64_t bias_rows = form.bias_rows;
    const std::string c = weight(bias_rows > 1 ? Shape{bias_rows, width} : Shape{width});
    const auto inputs = form.biased ? std::vector{flat, w, c} : std::vector{flat, w};
    const std::string projected = b_.node("Gemm", inputs, {{"transB", std::int64_t{1}}});
    const std::string back = transpose(reshape_samples(projected, {queries, -1, width}), {1, 0, 2});
    b_.output(b_.node("Tanh", {back}), DType::float32, {batch, queries, width});
    b_.save(folder_ / "model.onnx");
  }

  std::string optimized() const { return Model::load(folder_ / "model.onnx").inspect("optimized"); }
  bool same_results() const {
    const Model model = Model::load(folder_ / "model.onnx");
    const Model plain =
        Model::load(folder_ / "model.onnx", {.no_fusion = fusions_from_name("all")});
    NamedValues feeds{{"x", random_floats({samples, queries, width}, 1)}};
    if (form_.projection == Projection::apart) {
      feeds.emplace_back("memory", random_floats({samples, form_.keys, width}, 2));
    }
    const auto last = [&](const Model& of) {
      const auto results = of.infer(feeds);
      return results[results.size() - 1].second.tensor();
    };
    const Tensor found = last(model);
    const Tensor wanted = last(plain);
    if (found.shape() != wanted.shape()) return false;
    for (std::size_t i = 0; i < wanted.values<float>().size(); ++i) {
      if (!(std::abs(found.values<float>()[i] - wanted.values<float>()[i]) < 1e-5F)) return false;
    }
    return true;
  }

 private:
  std::string transpose(const std::string& x, const Int64s& perm) {
    return b_.node("Transpose", {x}, {{"perm", perm}});
  }
  std::string integers(const Int64s& values) {
    const std::string name = "i" + std::to_string(constants_++);
    b_.initializer(name,
                   Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
    return name;
  }
  std::string weight(const Shape& shape) {
    const auto seed = static_cast<std::uint64_t>(constants_++);
    const std::string name = "w" + std::to_string(seed);
    b_.initializer(name, random_floats(shape, seed));
    return name;
  }
  std::string reshape(const std::string& x, const Int64s& shape) {
    return b_.node("Reshape", {x, integers(shape)});
  }
  // -1 stands for the number of samples.
  std::string reshape_samples(const std::string& x, const Int64s& shape) {
    if (form_.inferred_batch) return reshape(x, shape);
    const std::string count =
        b_.node("Shape", {"x"}, {{"start", std::int64_t{0}}, {"end", std::int64_t{1}}});
    std::vector<std::string> dims;
    for (const std::int64_t dim : shape) dims.push_back(dim < 0 ? count : integers({dim}));
    return b_.node("Reshape", {x, b_.node("Concat", dims, {{"axis", std::int64_t{0}}})});
  }
  // Rows of `x`, which has the samples second.
  std::string project(const std::string& x, std::int64_t columns) {
    const std::string product = b_.node("MatMul", {x, weight({width, columns})});
    return b_.node("Add", {weight({columns}), product});
  }

  // q, k and v.
  std::vector<std::string> parts() {
    const std::string x = transpose("x", {1, 0, 2});
    if (form_.projection == Projection::apart) {
      const std::string memory = transpose("memory", {1, 0, 2});
      return {project(x, width), project(memory, width), project(memory, width)};
    }
    const std::string all = project(x, 3 * width);
    if (form_.shape_read) {
      b_.output(b_.node("Shape", {all}), DType::int64, {3});
    }
    const std::string cut = reshape_samples(all, {queries, -1, 3, width});
    const std::string one = b_.node("Unsqueeze", {cut, integers({0})});
    const std::string stacked = transpose(one, form_.stacked);
    const std::string whole = b_.node("Squeeze", {stacked, integers({3})});
    std::vector<std::string> result;
    for (std::int64_t i = 0; i < 3; ++i) {
      const std::string index = "part" + std::to_string(i);
      b_.initializer(index, Tensor::scalar(i));
      result.push_back(b_.node("Gather", {whole, index}, {{"axis", std::int64_t{0}}}));
    }
    return result;
  }

  std::string attention() {
    const auto rows = parts();
    std::vector<std::string> x;
    for (std::size_t i = 0; i < 3; ++i) {
      const std::int64_t count = i == 0 ? queries : form_.keys;
      const std::string beside = reshape(rows[i], {count, -1, size});
      const std::string apart = transpose(beside, {1, 0, 2});
      if (i == 1 && form_.turned_keys) {
        x.push_back(reshape_samples(transpose(apart, {0, 2, 1}), {-1, heads, size, count}));
      } else {
        x.push_back(reshape_samples(apart, {-1, heads, count, size}));
      }
    }
    if (!form_.turned_keys) x[1] = transpose(x[1], {0, 1, 3, 2});
    std::string scores = b_.node("MatMul", {x[0], x[1]});
    if (form_.masked) scores = b_.node("Add", {scores, weight({samples, 1, 1, form_.keys})});
    return b_.node("MatMul", {b_.node("Softmax", {scores}, {{"axis", std::int64_t{-1}}}), x[2]});
  }

  Form form_;
  TemporaryFolder folder_;
  ModelBuilder b_{"model"};
  int constants_ = 0;
};

}  // namespace

TEST_CASE("attention between transpositions of samples and rows has none") {
  if (!fusions_run()) return;
  for (const Form& form :
       {Form{}, Form{.fixed_batch = true}, Form{.inferred_batch = true}, Form{.turned_keys = true},
        Form{.inferred_batch = true, .turned_keys = true},
        Form{.fixed_batch = true, .masked = true}, Form{.biased = false}, Form{.shape_read = true},
        Form{.projection = Projection::apart, .keys = 7},
        Form{.projection = Projection::apart,
        .keys = 7,
        .fixed_batch = true,
        .turned_keys = true,
        .masked = true}}) {
    const Exported exported(form);
    const std::string text = exported.optimized();
    INFO(text);
    const bool packed = form.projection == Projection::packed;
    CHECK(holds(text, packed ? "PackedAttention-" : "interleaved = 1"));
    CHECK_FALSE(holds(text, " Split-"));
    CHECK(holds(text, " Transpose-") == form.shape_read);
    CHECK(exported.same_results());
  }
}

TEST_CASE("attention keeps transpositions of samples and rows that are others or read elsewhere") {
  if (!fusions_run()) return;
  for (const Form& form : {Form{.result = {2, 0, 3, 1}}, Form{.result_read = true},
                           Form{.fixed_batch = true, .bias_rows = samples * queries}}) {
    const Exported exported(form);
    const std::string text = exported.optimized();
    INFO(text);
    CHECK(holds(text, "ScaledAttention-"));
    CHECK_FALSE(holds(text, "interleaved = 1"));
    CHECK_FALSE(holds(text, "PackedAttention-"));
    CHECK(exported.same_results());
  }
}

}  // namespace ondine::test
