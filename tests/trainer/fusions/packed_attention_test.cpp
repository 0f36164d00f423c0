// Attention over the parts of one product, which it reads where they lie.
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
constexpr std::int64_t rows = 6, heads = 2, size = 4, width = heads * size;

// Variation of self-attention as language models are exported.
struct Form {
  bool fixed_batch = false;
  std::vector<std::size_t> parts{0, 1, 2};  // that q, k and v are
  Int64s sizes{width, width, width};        // of the parts
  bool part_read = false;                   // by something else
  bool causal = true;
};

std::filesystem::path save(const TemporaryFolder& folder, const Form& form) {
  ModelBuilder b("network");
  const ModelBuilder::Dim batch =
      form.fixed_batch ? ModelBuilder::Dim(std::int64_t{3}) : ModelBuilder::Dim("N");
  const auto x = b.input("x", DType::float32, {batch, rows, width});
  const auto integers = [&](const Int64s& values) {
    return b.initializer("i" + std::to_string(values.size()) + std::to_string(values.back()),
                         Tensor::of<std::int64_t>({std::ssize(values)}, values));
  };
  std::int64_t columns = 0;
  for (const std::int64_t part : form.sizes) columns += part;
  const auto all = b.node("MatMul", {x, b.initializer("w", random_floats({width, columns}, 1))});
  const auto sum = b.node("Add", {all, b.initializer("bias", random_floats({columns}, 2))});
  const std::vector<std::string> parts{"part0", "part1", "part2"};
  const auto sizes = b.initializer("sizes", Tensor::of<std::int64_t>({3}, form.sizes));
  b.node("Split", "", {sum, sizes}, parts, {{"axis", std::int64_t{-1}}});
  const auto apart = [&](std::size_t i, const Int64s& perm) {
    const auto shape = integers({0, 0, -1, size});
    return b.node("Transpose", {b.node("Reshape", {parts[form.parts[i]], shape})},
                  {{"perm", perm}});
  };
  auto scores = b.node("MatMul", {apart(0, {0, 2, 1, 3}), apart(1, {0, 2, 3, 1})});
  if (form.causal) {
    Tensor mask(DType::float32, {1, 1, rows, rows});
    for (std::int64_t i = 0; i < rows * rows; ++i) {
      if (i % rows > i / rows) mask.mutable_values<float>()[static_cast<std::size_t>(i)] = -1e9F;
    }
    scores = b.node("Add", {scores, b.initializer("mask", mask)});
  }
  const auto weights = b.node("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  const auto mixed = b.node("MatMul", {weights, apart(2, {0, 2, 1, 3})});
  const auto beside = b.node("Transpose", {mixed}, {{"perm", Int64s{0, 2, 1, 3}}});
  b.output(b.node("Reshape", {beside, integers({0, 0, width})}), DType::float32,
           {batch, rows, width});
  if (form.part_read) b.output("part1", DType::float32, {batch, rows, width});
  const auto file = folder / "network.onnx";
  b.save(file);
  return file;
}

std::vector<float> trained(const std::filesystem::path& file, const LoadOptions& options) {
  Model model = Model::load(file, options);
  for (std::uint64_t i = 0; i < 3; ++i) {
    const NamedValues batch{{"x", random_floats({3, rows, width}, 10 + i)},
                            {"label", random_floats({3, rows, width}, 20 + i)}};
    model.train_step(batch);
  }
  return model.parameters();
}

}  // namespace

TEST_CASE("attention over the parts of a product copies none of them") {
  if (!fusions_run()) return;
  for (const Form& form : {Form{}, Form{.fixed_batch = true}, Form{.causal = false}}) {
    const TemporaryFolder folder;
    const auto file = save(folder, form);
    PrepareOptions options;
    options.loss = Loss::mse;
    options.optimizer = Sgd{.learning_rate = 0.1F};
    prepare(file, file, options);
    const std::string text = Model::load(file).inspect("optimized");
    INFO(text);
    CHECK(count(text, "PackedAttention-") == 1);
    CHECK(count(text, "PackedAttentionGrad-") == 1);
    CHECK(count(text, " Split-") + count(text, " Concat-") + count(text, " Transpose-") == 0);
    const auto wanted = trained(file, {.no_fusion = fusions_from_name("all")});
    const auto found = trained(file, {});
    REQUIRE(found.size() == wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK(found[i] == Approx(wanted[i]).epsilon(1e-4).margin(1e-6));
    }
  }
}

TEST_CASE("parts that are others or that something else reads are split") {
  if (!fusions_run()) return;
  for (const Form& form :
       {Form{.parts = {1, 0, 2}}, Form{.parts = {0, 1, 1}}, Form{.part_read = true}}) {
    const TemporaryFolder folder;
    const auto file = save(folder, form);
    const Model model = Model::load(file);
    const Model plain = Model::load(file, {.no_fusion = fusions_from_name("all")});
    CHECK(count(model.inspect("optimized"), "PackedAttention-") == 0);
    CHECK(count(model.inspect("optimized"), "interleaved = 1") == 1);
    const NamedValues feeds{{"x", random_floats({3, rows, width}, 5)}};
    const auto found = model.infer(feeds)[0].second.tensor();
    const auto wanted = plain.infer(feeds)[0].second.tensor();
    for (std::size_t i = 0; i < wanted.values<float>().size(); ++i) {
      CHECK(found.values<float>()[i] == Approx(wanted.values<float>()[i]).margin(1e-5));
    }
  }
}

TEST_CASE("fewer heads of keys than of queries are no parts of equal size") {
  if (!fusions_run()) return;
  const TemporaryFolder folder;
  const auto file = save(folder, {.sizes = {width, width / 2, width / 2}, .causal = false});
  CHECK(count(Model::load(file).inspect("optimized"), "PackedAttention-") == 0);
}

}  // namespace ondine::test
