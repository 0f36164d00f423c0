// Attention to a cache and to new keys and values reads both where they lie.
#include <ondine/build.h>
#include <ondine/model.h>

#include <catch2/catch.hpp>
#include <string>

#include "tests/support/fusions_run.h"
#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

using Int64s = std::vector<std::int64_t>;

struct Form {
  bool rows_first = false;   // samples, rows and features of all heads, as made caches lie
  bool other_past = false;   // the cache is computed before it is joined
  bool past_last = false;    // new rows come first
  std::int64_t queries = 0;  // of a text of their own; 0: those of the new rows
};

std::vector<std::byte> network(const Form& form) {
  ModelBuilder b("decoder");
  const auto heads = [&](const std::string& x) {
    const std::string split = b.node(
        "Reshape", {x, b.initializer("heads" + x, Tensor::of<std::int64_t>({4}, {0, 0, 4, 8}))});
    return b.node("Transpose", {split}, {{"perm", Int64s{0, 2, 1, 3}}});
  };
  const auto whole = [&](const std::string& name) {
    const std::vector<ModelBuilder::Dim> past =
        form.rows_first ? std::vector<ModelBuilder::Dim>{"N", "P", 32}
                        : std::vector<ModelBuilder::Dim>{"N", 4, "P", 8};
    std::string earlier = b.input("past_" + name, DType::float32, past);
    if (form.other_past) earlier = b.node("Tanh", {earlier});
    std::string fresh = b.input(name, DType::float32, {"N", "T", 32});
    if (!form.rows_first) fresh = heads(fresh);
    std::vector<std::string> parts{earlier, fresh};
    if (form.past_last) std::swap(parts[0], parts[1]);
    const std::string all =
        b.node("Concat", parts, {{"axis", std::int64_t{form.rows_first ? 1 : 2}}});
    return form.rows_first ? heads(all) : all;
  };
  const std::string queries = form.queries > 0 ? "Q" : "T";
  const std::string q = heads(b.input("q", DType::float32, {"N", queries, 32}));
  const std::string k = whole("k"), v = whole("v");
  const std::string scores =
      b.node("MatMul", {q, b.node("Transpose", {k}, {{"perm", Int64s{0, 1, 3, 2}}})});
  const std::string weights = b.node("Softmax", {scores}, {{"axis", std::int64_t{-1}}});
  b.node("MatMul", {weights, v}, {}, "y");
  b.output("y", DType::float32, {"N", 4, queries, 8});
  return b.bytes();
}

NamedValues feeds_of(const Form& form, std::int64_t tokens, std::int64_t past) {
  NamedValues feeds;
  feeds.emplace_back("q", random_floats({2, form.queries > 0 ? form.queries : tokens, 32}, 1));
  std::uint64_t seed = 2;
  for (const std::string name : {"k", "v"}) {
    const Shape shape = form.rows_first ? Shape{2, past, 32} : Shape{2, 4, past, 8};
    feeds.emplace_back("past_" + name, random_floats(shape, seed++));
    feeds.emplace_back(name, random_floats({2, tokens, 32}, seed++));
  }
  return feeds;
}

bool splits(const Form& form) {
  const std::string text = Model::load(network(form)).inspect("optimized");
  return text.find("CachedAttention-") != std::string::npos;
}

}  // namespace

TEST_CASE("attention to a cache and new rows gives the same where it reads both as they lie") {
  for (const bool rows_first : {false, true}) {
    const Form form{.rows_first = rows_first};
    if (fusions_run()) CHECK(splits(form));
    LoadOptions plainly, many;
    plainly.no_fusion = fusions_from_name("all");
    many.threads = 3;
    const Model model = Model::load(network(form)), plain = Model::load(network(form), plainly),
                threaded = Model::load(network(form), many);
    for (const std::int64_t tokens : {1, 2, 40}) {
      for (const std::int64_t past : {0, 9, 700}) {
        const NamedValues feeds = feeds_of(form, tokens, past);
        const Tensor y = model.infer(feeds)["y"].tensor();
        check_close(y, plain.infer(feeds)["y"].tensor(), {1e-5, 1e-6});
        CHECK(y.identical(threaded.infer(feeds)["y"].tensor()));
      }
    }
  }
}

TEST_CASE("attention to rows that are no cache before new ones stays as it is") {
  CHECK_FALSE(splits({.other_past = true}));
  CHECK_FALSE(splits({.past_last = true}));
  CHECK_FALSE(splits({.queries = 5}));
}

}  // namespace ondine::test
