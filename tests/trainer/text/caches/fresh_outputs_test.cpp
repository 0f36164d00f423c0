// Models with caches get outputs of what is new in them.
#include "trainer/text/caches/fresh_outputs.h"

#include <catch2/catch.hpp>
#include <string>

#include <ondine/build.h>

#include "tests/support/op_harness.h"
#include "tests/support/random_tensor.h"
#include "trainer/text/generate/cache_ports.h"

using namespace ondine;
using namespace ondine::test;

namespace {

// Attention with caches of two heads of 4 features, which joins them itself or reads joined ones.
struct Form {
  bool attends = true;    // Attention joins
  bool has_heads = true;  // new keys and values have their heads apart
  bool past_last = false;
};

Model decoder(const Form& form) {
  ModelBuilder b("decoder", 23);
  b.input("input_ids", DType::int64, {"N", "T"});
  const std::string x =
      b.node("Gather", {b.initializer("words", random_floats({256, 8}, 1)), "input_ids"});
  std::vector<std::string> operands{x, "", ""}, all;
  for (const std::string kind : {"key", "value"}) {
    const std::string past =
        b.input("past." + kind, DType::float32, {"N", std::int64_t{2}, "P", std::int64_t{4}});
    std::string fresh = b.node("MatMul", {x, b.initializer(kind, random_floats({8, 8}, 2))});
    if (form.has_heads) {
      const std::string split = b.node(
          "Reshape",
          {fresh, b.initializer(kind + ".dims", Tensor::of<std::int64_t>({4}, {0, 0, 2, 4}))});
      fresh = b.node("Transpose", {split}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
    }
    operands[kind == "key" ? 1 : 2] = fresh;
    all.push_back(past);
    if (form.attends) continue;
    std::vector<std::string> parts{past, fresh};
    if (form.past_last) std::swap(parts[0], parts[1]);
    operands[kind == "key" ? 1 : 2] =
        b.node("Concat", parts, {{"axis", std::int64_t{-2}}}, "present." + kind);
  }
  if (form.has_heads) {
    operands[0] = b.node("Transpose", {b.node("Reshape", {x, "key.dims"})},
                         {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
  }
  ModelBuilder::Attributes heads;
  if (!form.has_heads) heads = {{"q_num_heads", 2L}, {"kv_num_heads", 2L}};
  std::vector<std::string> outputs{"y"};
  if (form.attends) {
    operands.insert(operands.end(), {"", all[0], all[1]});
    outputs.insert(outputs.end(), {"present.key", "present.value"});
  }
  b.node("Attention", "", operands, outputs, heads);
  const std::string y =
      b.node("ReduceSum",
             {form.has_heads
                  ? b.node("Transpose", {"y"}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}})
                  : "y"},
             {{"keepdims", 1L}});
  b.node(
      "Add",
      {y, b.node("Cast",
                 {b.node("Unsqueeze",
                         {"input_ids", b.initializer("last", Tensor::of<std::int64_t>({1}, {2}))})},
                 {{"to", 1L}})},
      {}, "sums");
  b.node("Mul", {"sums", b.initializer("classes", random_floats({256}, 3))}, {}, "logits");
  b.output("logits", DType::float32, {"N", "T", std::int64_t{256}});
  for (const char* name : {"present.key", "present.value"}) {
    b.output(name, DType::float32, {"N", std::int64_t{2}, "all", std::int64_t{4}});
  }
  return Model::load(b.bytes());
}

}  // namespace

TEST_CASE("an output of what is new has the last places of a cache, whatever joins them") {
  for (const bool attends : {true, false}) {
    for (const bool has_heads : {true, false}) {
      if (!attends && !has_heads) continue;
      CAPTURE(attends, has_heads);
      const Model model = decoder({.attends = attends, .has_heads = has_heads});
      const auto other = text::with_fresh_outputs(model, text::find_decoder_ports(model));
      REQUIRE(other);
      const text::DecoderPorts ports = text::find_decoder_ports(*other);
      CHECK(ports.scores == "logits");
      const Results results =
          other->infer({{"input_ids", Tensor::of<std::int64_t>({1, 3}, {4, 200, 7})},
                        {"past.key", random_floats({1, 2, 5, 4}, 4)},
                        {"past.value", random_floats({1, 2, 5, 4}, 5)}});
      for (const text::CachePorts& cache : ports.caches) {
        const Tensor present = results[cache.present].tensor();
        const Tensor fresh = results[cache.fresh].tensor();
        REQUIRE(present.shape() == Shape{1, 2, 8, 4});
        REQUIRE(fresh.shape() == Shape{1, 2, 3, 4});
        for (std::size_t i = 0; i < 24; ++i) {
          CHECK(fresh.values<float>()[i] == present.values<float>()[i / 12 * 32 + 20 + i % 12]);
        }
      }
    }
  }
}

TEST_CASE("a cache behind what is new gets no output of that") {
  const Model model = decoder({.attends = false, .past_last = true});
  CHECK_FALSE(text::with_fresh_outputs(model, text::find_decoder_ports(model)));
}
