// Results that all their readers round are stored rounded.
#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/model.h>

#include "kernels/simd/tables.h"
#include "tests/support/random_tensor.h"

namespace ondine::test {
namespace {

constexpr std::int64_t rows = 128, cols = 256, columns = 48;

// Use of h beside its product: none, a view between them, a sum, or an output of the graph.
enum class Reader { none, view, sum, output };

// y = h w2, h = op(x w).
std::vector<std::byte> network(const std::string& op, Reader reader, std::int64_t count = rows) {
  ModelBuilder b("network", 20);
  b.input("x", DType::float32, {count, cols});
  b.initializer("w", random_floats({cols, cols}, 2));
  b.initializer("w2", random_floats({cols, columns}, 3));
  b.initializer("scale", random_floats({cols}, 4));
  b.initializer("shape", Tensor::of<std::int64_t>({3}, {2, count / 2, cols}));
  b.initializer("back", Tensor::of<std::int64_t>({2}, {count, cols}));
  const std::string g = b.node("MatMul", {"x", "w"});
  const bool scaled = op == "LayerNormalization";
  b.node(op, "", scaled ? std::vector<std::string>{g, "scale"} : std::vector{g}, {"h"});
  std::string h = "h";
  if (reader == Reader::view) h = b.node("Reshape", {b.node("Reshape", {h, "shape"}), "back"});
  const std::string y = b.node("MatMul", {h, "w2"});
  b.output(reader == Reader::sum
               ? b.node("Add", {y, b.node("ReduceMax", {"h"}, {{"keepdims", std::int64_t{0}}})})
               : y,
           DType::float32, {count, columns});
  if (reader == Reader::output) b.output("h", DType::float32, {count, cols});
  return b.bytes();
}

struct Result {
  std::string type;  // that h is stored in
  std::vector<float> y;
};

Result run(const std::vector<std::byte>& model, int threads, std::int64_t count = rows) {
  const Model loaded = Model::load(model, {.threads = threads, .precision = Precision::bfloat16});
  const Tensor y = loaded.infer({{"x", random_floats({count, cols}, 1)}})[0].second.tensor();
  Result result{.type = {}, .y = {y.values<float>().begin(), y.values<float>().end()}};
  for (const PlannedOperator& node : loaded.plan_report({}).nodes) {
    if (node.op != "MatMul" && node.op != "Reshape" && result.type.empty()) {
      result.type = node.outputs[0].type;
    }
  }
  return result;
}

bool rounds_products() { return math::rounds_products(math::simd_tables(Precision::bfloat16)); }

const std::string rounded = "tensor(bfloat16)[128, 256]", full = "tensor(float)[128, 256]";

}  // namespace

TEST_CASE("what only products read is stored as they round it, with the same results") {
  if (!rounds_products()) return;
  for (const char* op : {"Gelu", "Sigmoid", "LayerNormalization"}) {
    CAPTURE(op);
    const Result wanted = run(network(op, Reader::output), 1);
    CHECK(wanted.type == full);
    for (const Reader reader : {Reader::none, Reader::view}) {
      for (const int threads : {1, 3}) {
        const Result found = run(network(op, reader), threads);
        CHECK(found.type == rounded);
        CHECK(found.y == wanted.y);
      }
    }
  }
}

TEST_CASE("what others read too, outputs and small values stay as they are computed") {
  if (!rounds_products()) return;
  CHECK(run(network("Gelu", Reader::sum), 1).type == full);
  CHECK(run(network("Gelu", Reader::output), 1).type == full);
  CHECK(run(network("Gelu", Reader::none, 32), 1, 32).type == "tensor(float)[32, 256]");
}

namespace {

// Step that follows the product h = x w, before another product.
enum class After { elementwise, normalization, exponent, sum };

// The type in which a plan stores h.
std::string type_of_product(After after, Precision precision = Precision::bfloat16,
                            std::int64_t terms = cols) {
  ModelBuilder b("network", 20);
  b.input("x", DType::float32, {rows, terms});
  b.initializer("w", random_floats({terms, cols}, 2));
  b.initializer("w2", random_floats({cols, columns}, 3));
  b.initializer("scale", random_floats({cols}, 4));
  b.initializer("rest", random_floats({rows, cols}, 5));
  std::string h = b.node("MatMul", {"x", "w"});
  if (after == After::elementwise) h = b.node("Mul", {b.node("Gelu", {h}), b.node("Relu", {h})});
  if (after == After::normalization) h = b.node("LayerNormalization", {h, "scale"});
  if (after == After::exponent) h = b.node("Exp", {h});
  if (after == After::sum) h = b.node("Gelu", {b.node("Add", {h, "rest"})});
  b.output(b.node("MatMul", {h, "w2"}), DType::float32, {rows, columns});
  const Model model =
      Model::load(b.bytes(), {.precision = precision, .no_fusion = {Fusion::fuse_elementwise}});
  return model.plan_report({}).nodes[0].outputs[0].type;
}

}  // namespace

TEST_CASE("products are stored rounded where all that reads them takes bfloat16") {
  if (!rounds_products()) return;
  CHECK(type_of_product(After::elementwise) == rounded);
  CHECK(type_of_product(After::normalization) == rounded);
}

TEST_CASE("products that something reads in float32, sums and long products keep their precision") {
  if (!rounds_products()) return;
  CHECK(type_of_product(After::exponent) == full);
  CHECK(type_of_product(After::sum) == full);
  CHECK(type_of_product(After::elementwise, Precision::bfloat16, 4096) == full);
  CHECK(type_of_product(After::elementwise, Precision::float32) == full);
}

TEST_CASE("what is computed by elements from rounded products is stored rounded, too") {
  if (!rounds_products()) return;
  ModelBuilder b("network", 20);
  b.input("x", DType::float32, {rows, cols});
  b.initializer("w", random_floats({cols, cols}, 2));
  b.initializer("scale", random_floats({cols}, 4));
  const std::string h = b.node("MatMul", {"x", "w"});
  const std::string g = b.node("Mul", {b.node("Gelu", {h}), b.node("Sigmoid", {h})});
  b.output(b.node("LayerNormalization", {g, "scale"}), DType::float32, {rows, cols});
  const Fusion gates = fusions_from_name("recognize_gated_activation").front();
  const auto run = [&](int threads) {
    const Model model = Model::load(b.bytes(), {.threads = threads,
                                                .precision = Precision::bfloat16,
                                                .no_fusion = {Fusion::fuse_elementwise, gates}});
    std::size_t narrow = 0;
    for (const PlannedOperator& node : model.plan_report({}).nodes) {
      if (node.outputs[0].type == rounded) ++narrow;
    }
    CHECK(narrow == 4);  // all but the last
    const Tensor y = model.infer({{"x", random_floats({rows, cols}, 1)}})[0].second.tensor();
    return std::vector<float>(y.values<float>().begin(), y.values<float>().end());
  };
  CHECK(run(1) == run(3));
}

}  // namespace ondine::test
