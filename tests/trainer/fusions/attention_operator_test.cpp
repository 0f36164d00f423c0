// ONNX's Attention is fused with what lies around it, where it is what ScaledAttention computes.
#include <ondine/build.h>
#include <ondine/model.h>

#include <catch2/catch.hpp>
#include <cmath>
#include <functional>
#include <limits>

#include "tests/support/fusions_run.h"
#include "tests/support/random_tensor.h"
#include "tests/support/temporary_folder.h"

namespace ondine::test {
namespace {

using Int64s = std::vector<std::int64_t>;
constexpr std::int64_t queries = 4, keys = 5, size = 6;

// Variation of attention of two heads whose operands are transposed.
struct Form {
  ModelBuilder::Attributes attributes = {};
  std::int64_t key_heads = 2;
  std::function<std::string(ModelBuilder&)> mask = nullptr;
  bool scores_read = false;
};

struct Built {
  bool interleaved, transposes, same;
};

Built build(const Form& form) {
  const TemporaryFolder folder;
  const auto file = folder / "model.onnx";
  ModelBuilder b("model", 25);
  const auto apart = [&](const std::string& name, std::int64_t rows, std::int64_t heads) {
    b.input(name, DType::float32, {"N", rows, heads, size});
    return b.node("Transpose", {name}, {{"perm", Int64s{0, 2, 1, 3}}});
  };
  std::vector<std::string> inputs{apart("q", queries, 2), apart("k", keys, form.key_heads),
                                  apart("v", keys, form.key_heads)};
  if (form.mask) inputs.push_back(form.mask(b));
  std::vector<std::string> outputs{"mixed"};
  if (form.scores_read) outputs.insert(outputs.end(), {"", "", "scores"});
  b.node("Attention", "", inputs, outputs, form.attributes);
  const auto y = b.node("Transpose", {"mixed"}, {{"perm", Int64s{0, 2, 1, 3}}});
  b.output(b.node("Tanh", {y}), DType::float32, {"N", queries, 2, size});
  if (form.scores_read) b.output("scores", DType::float32, {"N", 2, queries, keys});
  b.save(file);

  const Model model = Model::load(file);
  const std::string text = model.inspect("optimized");
  const auto holds = [&](const char* part) { return text.find(part) != std::string::npos; };
  const Model plain = Model::load(file, {.no_fusion = fusions_from_name("all")});
  const NamedValues feeds{{"q", random_floats({3, queries, 2, size}, 1)},
                          {"k", random_floats({3, keys, form.key_heads, size}, 2)},
                          {"v", random_floats({3, keys, form.key_heads, size}, 3)}};
  const Tensor found = model.infer(feeds)[0].second.tensor();
  const Tensor wanted = plain.infer(feeds)[0].second.tensor();
  bool same = found.shape() == wanted.shape();
  for (std::size_t i = 0; same && i < wanted.values<float>().size(); ++i) {
    same = std::abs(found.values<float>()[i] - wanted.values<float>()[i]) < 1e-5F;
  }
  return {holds("interleaved = 1"), holds(" Transpose-"), same};
}

constexpr float infinity = std::numeric_limits<float>::infinity();

// A constant mask of `shape`, `hidden` in the keys of the first row from `first` on.
std::function<std::string(ModelBuilder&)> constant_mask(const Shape& shape, std::int64_t first) {
  return [=](ModelBuilder& b) {
    Tensor mask = random_floats(shape, 4);
    for (std::int64_t j = first; j < shape.back(); ++j) {
      mask.mutable_values<float>()[static_cast<std::size_t>(j)] = -infinity;
    }
    return b.initializer("mask", mask);
  };
}

}  // namespace

TEST_CASE("Attention without past keys and windows is fused with its transpositions") {
  if (!fusions_run()) return;
  for (const Form& form :
       {Form{}, Form{.attributes = {{"scale", 0.7F}}}, Form{.attributes = {{"softcap", 2.0F}}},
        Form{.key_heads = 1}, Form{.attributes = {{"softcap", 0.5F}}, .key_heads = 1},
        Form{.attributes = {{"is_causal", std::int64_t{1}}}},
        Form{.attributes = {{"softmax_precision", std::int64_t{1}}}},
        Form{.mask = constant_mask({queries, keys}, 2)},
        Form{.mask = constant_mask({queries, keys}, 0)},  // a row without keys
        Form{.mask = constant_mask({1, 2, queries, keys}, keys)},
        Form{.mask = constant_mask({2, 1, keys}, 1)}}) {
    const Built built = build(form);
    CHECK(built.interleaved);
    CHECK_FALSE(built.transposes);
    CHECK(built.same);
  }
}

TEST_CASE("Attention that is more than ScaledAttention stays as it is") {
  if (!fusions_run()) return;
  const auto fed = [](ModelBuilder& b) {
    const auto mask = b.initializer("mask", random_floats({queries, keys}, 5));
    const auto q = b.node("ReduceMax", {"q"}, {{"keepdims", std::int64_t{0}}});
    return b.node("Add", {mask, q});
  };
  for (const Form& form :
       {Form{.attributes = {{"left_window_size", std::int64_t{1}}}},
        Form{.attributes = {{"is_causal", std::int64_t{1}}},
        .mask = constant_mask({queries, keys}, keys)},
        Form{.attributes = {{"softmax_precision", std::int64_t{11}}}},
        Form{.mask = constant_mask({queries, keys - 1}, 3)},  // keys beyond its end are hidden
        Form{.mask = fed}, Form{.scores_read = true}}) {
    const Built built = build(form);
    CHECK_FALSE(built.interleaved);
    CHECK(built.same);
  }
}

}  // namespace ondine::test
