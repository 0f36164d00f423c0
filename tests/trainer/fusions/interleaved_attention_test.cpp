// Attention whose operands and result are only transposed reads and writes the heads beside each
// other.
#include <ondine/build.h>
#include <ondine/model.h>

#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/fusions_run.h"
#include "tests/support/random_tensor.h"
#include "tests/support/temporary_folder.h"

namespace ondine::test {
namespace {

using Int64s = std::vector<std::int64_t>;

// Variation of attention between four transpositions.
struct Form {
  Int64s q{0, 2, 1, 3};
  bool two_steps = false;  // of the keys
  Int64s y{0, 2, 1, 3};
  bool keys_read = false;    // transposed, by something else
  bool result_read = false;  // before it is transposed
};

struct Built {
  bool attention, interleaved, transposes, same;
};

Built build(const Form& form) {
  const TemporaryFolder folder;
  const auto file = folder / "model.onnx";
  ModelBuilder b("model");
  const auto transpose = [&](const std::string& x, const Int64s& perm) {
    return b.node("Transpose", {x}, {{"perm", perm}});
  };
  const std::vector<ModelBuilder::Dim> dims{"N", 4, 4, 6};
  for (const char* name : {"q", "k", "v"}) b.input(name, DType::float32, dims);
  const std::string k = form.two_steps ? transpose(transpose("k", {0, 2, 1, 3}), {0, 1, 3, 2})
                                       : transpose("k", {0, 2, 3, 1});
  const std::string scores = b.node("MatMul", {transpose("q", form.q), k});
  const std::string weights = b.node("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  const std::string mixed = b.node("MatMul", {weights, transpose("v", {0, 2, 1, 3})});
  b.output(b.node("Tanh", {transpose(mixed, form.y)}), DType::float32, {"A", "B", "C", "D"});
  if (form.keys_read) b.output(k, DType::float32, {"N", 4, 6, 4});
  if (form.result_read) b.output(mixed, DType::float32, dims);
  b.save(file);

  const Model model = Model::load(file);
  const std::string text = model.inspect("optimized");
  const auto holds = [&](const char* part) { return text.find(part) != std::string::npos; };
  const Model plain = Model::load(file, {.no_fusion = fusions_from_name("all")});
  NamedValues feeds;
  for (const char* name : {"q", "k", "v"}) {
    feeds.emplace_back(name, random_floats({2, 4, 4, 6}, static_cast<std::uint64_t>(name[0])));
  }
  const auto found = model.infer(feeds);
  const auto wanted = plain.infer(feeds);
  bool same = true;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const Tensor a = found[i].second.tensor();
    const Tensor c = wanted[i].second.tensor();
    same = same && a.shape() == c.shape();
    for (std::size_t j = 0; same && j < a.values<float>().size(); ++j) {
      same = std::abs(a.values<float>()[j] - c.values<float>()[j]) < 1e-5F;
    }
  }
  return {holds("ScaledAttention-"), holds("interleaved = 1"), holds(" Transpose-"), same};
}

}  // namespace

TEST_CASE("attention between transpositions reads heads beside each other") {
  if (!fusions_run()) return;
  for (const Form& form : {Form{}, Form{.two_steps = true}}) {
    const Built built = build(form);
    CHECK(built.interleaved);
    CHECK_FALSE(built.transposes);
    CHECK(built.same);
  }
  const Built shared = build({.keys_read = true});
  CHECK(shared.interleaved);
  CHECK(shared.same);
}

TEST_CASE("attention keeps transpositions that are others or that something else reads") {
  if (!fusions_run()) return;
  for (const Form& form :
       {Form{.q = {0, 1, 2, 3}}, Form{.y = {0, 1, 3, 2}}, Form{.result_read = true}}) {
    const Built built = build(form);
    CHECK(built.attention);
    CHECK_FALSE(built.interleaved);
    CHECK(built.same);
  }
}

}  // namespace ondine::test
