// Results that all their readers round are stored rounded.
#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/model.h>

#include "kernels/simd/tables.h"
#include "tests/support/random_tensor.h"

namespace ondine::test {
namespace {

constexpr std::int64_t rows = 128, cols = 256, columns = 48;

// What else becomes of h before it is multiplied.
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

bool rounds_products() { return math::rounds_products(math::kernels(Precision::bfloat16).isa); }

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

}  // namespace ondine::test
