// Attention in windows, with a trained bias of positions and a mask of shifted windows, as
// exporters write it: shapes are computed, dropout of 0 stays in between.
#include <ondine/build.h>
#include <ondine/model.h>
#include <ondine/prepare.h>

#include <catch2/catch.hpp>

#include "tests/support/fusions_run.h"
#include "tests/support/random_tensor.h"
#include "tests/support/temporary_folder.h"
#include "tests/support/text.h"

namespace ondine::test {
namespace {

using Int64s = std::vector<std::int64_t>;
constexpr std::int64_t images = 2;
constexpr std::int64_t windows = 3;
constexpr std::int64_t rows = 4;
constexpr std::int64_t heads = 2;
constexpr std::int64_t size = 3;
constexpr std::int64_t width = heads * size;

// Variation of attention in windows.
struct Form {
  bool shifted = true;      // the mask of windows
  bool biased = true;       // the bias of heads
  bool mask_first = false;  // in its sum
  float dropped = 0;
  std::int64_t third = 2;  // the part that v is
};

class Composer {
 public:
  explicit Composer(const Form& form) : form_(form) {}

  void save(const std::filesystem::path& file) {
    const std::string x = b_.input("x", DType::float32, {images * windows, rows, width});
    const std::string all = op("MatMul", {x, weights("w_all", {width, 3 * width})});
    const std::string parts = op("Transpose", {op("Reshape", {all, computed_shape(x)})},
                                 {{"perm", Int64s{2, 0, 3, 1, 4}}});
    const auto part = [&](std::int64_t i) { return op("Gather", {parts, int64(i)}, axis(0)); };
    const std::string q = op("Mul", {part(0), number(0.5F)});
    const std::string k = op("Transpose", {part(1)}, {{"perm", Int64s{0, 1, 3, 2}}});
    std::string scores = op("MatMul", {q, k});
    if (form_.biased) scores = op("Add", {scores, bias()});
    if (form_.shifted) scores = shifted(scores);
    const std::string p = op("Softmax", {scores}, axis(-1));
    b_.node("Dropout", "", {p, number(form_.dropped)}, {"kept", "mask"});
    const std::string y = op("MatMul", {"kept", part(form_.third)});
    const std::string flat = op("Reshape", {op("Transpose", {y}, {{"perm", Int64s{0, 2, 1, 3}}}),
                                            int64s({images * windows, rows, width})});
    b_.output(op("MatMul", {flat, weights("w_out", {width, width})}), DType::float32,
              {images * windows, rows, width});
    b_.save(file);
    PrepareOptions options;
    options.loss = Loss::mse;
    options.train = {"w*"};
    prepare(file, file, options);
  }

 private:
  std::string op(const std::string& name, std::vector<std::string> inputs,
                 ModelBuilder::Attributes attributes = {}) {
    return b_.node(name, std::move(inputs), std::move(attributes));
  }
  static ModelBuilder::Attributes axis(std::int64_t axis) { return {{"axis", axis}}; }
  std::string constant(Tensor tensor) {
    return b_.initializer("c" + std::to_string(++count_), std::move(tensor));
  }
  std::string number(float value) { return constant(Tensor::scalar(value)); }
  std::string int64(std::int64_t value) { return constant(Tensor::scalar(value)); }
  std::string int64s(const Int64s& values) {
    return constant(Tensor::of<std::int64_t>({static_cast<std::int64_t>(values.size())}, values));
  }
  std::string weights(const std::string& name, const Shape& shape) {
    return b_.initializer(name, random_floats(shape, ++count_));
  }
  // Shape [samples, rows, parts, heads, size], computed from x.
  std::string computed_shape(const std::string& x) {
    const std::string sizes = op("Slice", {op("Shape", {x}), int64s({0}), int64s({2})});
    const std::string last = op("Div", {int64s({width}), int64s({heads})});
    return op("Concat", {sizes, int64s({3, heads}), last}, axis(0));
  }
  std::string bias() {
    Int64s index;
    for (std::int64_t i = 0; i < rows * rows; ++i) index.push_back(i * 5 % 7);
    const std::string found = op("Gather", {weights("w_table", {7, heads}), int64s(index)});
    const std::string square = op("Reshape", {found, int64s({rows, rows, heads})});
    return op("Unsqueeze", {op("Transpose", {square}, {{"perm", Int64s{2, 0, 1}}}), int64s({0})});
  }
  std::string shifted(const std::string& scores) {
    Tensor mask(DType::float32, {1, windows, 1, rows, rows});
    for (std::int64_t i = 0; i < mask.size(); ++i) {
      if (i / 3 % 4 == 1) mask.mutable_values<float>()[static_cast<std::size_t>(i)] = -100;
    }
    const std::string seen = op("Reshape", {scores, int64s({images, windows, heads, rows, rows})});
    std::vector<std::string> addends{seen, constant(mask)};
    if (form_.mask_first) std::swap(addends[0], addends[1]);
    return op("Reshape", {op("Add", addends), int64s({images * windows, heads, rows, rows})});
  }

  Form form_;
  ModelBuilder b_{"model", 17};
  std::uint64_t count_ = 0;
};

std::vector<float> trained(const std::filesystem::path& file, const LoadOptions& options) {
  Model model = Model::load(file, options);
  for (std::uint64_t i = 0; i < 3; ++i) {
    const Shape shape{images * windows, rows, width};
    const NamedValues batch{{"x", random_floats(shape, 10 + i)},
                            {"label", random_floats(shape, 20 + i)}};
    model.train_step(batch);
  }
  return model.parameters();
}

// Text of the optimized graph, after a check that it trains like the plain one.
std::string optimized(const Form& form) {
  const TemporaryFolder folder;
  const auto file = folder / "model.onnx";
  Composer(form).save(file);
  if (form.dropped == 0) {
    const auto wanted = trained(file, {.no_fusion = fusions_from_name("all")});
    const auto found = trained(file, {});
    REQUIRE(found.size() == wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK(found[i] == Approx(wanted[i]).epsilon(1e-5).margin(1e-6));
    }
  }
  return Model::load(file).inspect("optimized");
}

}  // namespace

TEST_CASE("attention in windows becomes one operator, with the derivative of its bias") {
  if (!fusions_run()) return;
  for (const bool biased : {true, false}) {
    for (const bool shifted : {true, false}) {
      for (const bool mask_first : {false, true}) {
        if (mask_first && !shifted) continue;
        INFO("biased " << biased << ", shifted " << shifted << ", mask first " << mask_first);
        const std::string text =
            optimized({.shifted = shifted, .biased = biased, .mask_first = mask_first});
        INFO(text);
        CHECK(count(text, "PackedAttention-") == 1);
        CHECK(count(text, "PackedAttentionGrad-") == 1);
        CHECK(count(text, "Softmax") == 0);
        CHECK(count(text, "Dropout") == 0);
        CHECK(count(text, " Split-") + count(text, " Concat-") == 0);
        // Only the bias is still transposed.
        CHECK(count(text, " Transpose-") == (biased ? 2 : 0));
      }
    }
  }
}

TEST_CASE("attention that drops weights, and parts in another order, stay as they are") {
  if (!fusions_run()) return;
  CHECK(count(optimized({.dropped = 0.5F}), "ScaledAttention-") == 0);
  const std::string text = optimized({.third = 1});
  CHECK(count(text, "ScaledAttention-") == 1);
  CHECK(count(text, "interleaved = 1") + count(text, "PackedAttention-") == 0);
}

}  // namespace ondine::test
