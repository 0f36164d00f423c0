// Reshape of tensors with symbolic dims.
#include <ondine/build.h>
#include <ondine/model.h>

#include <catch2/catch.hpp>

namespace ondine::test {
namespace {

using Sizes = std::vector<std::int64_t>;

// The type of x after one Reshape after the other, as the graph prints it.
std::string reshaped(const std::vector<ModelBuilder::Dim>& dims, const std::vector<Sizes>& shapes) {
  ModelBuilder b("model");
  std::string y = b.input("x", DType::float32, dims);
  for (const Sizes& shape : shapes) {
    const std::string name = "shape" + std::to_string(&shape - shapes.data());
    b.initializer(name, Tensor::of<std::int64_t>({static_cast<std::int64_t>(shape.size())}, shape));
    y = b.node("Reshape", {y, name});
  }
  std::vector<ModelBuilder::Dim> any;
  for (std::size_t i = 0; i < shapes.back().size(); ++i) any.emplace_back("D" + std::to_string(i));
  b.output(b.node("Tanh", {b.node("Relu", {y}, {}, "y")}), DType::float32, any);
  const std::string text = Model::load(b.bytes()).inspect("graph");
  const std::string before = "y: tensor(float)";
  const std::size_t begin = text.find(before) + before.size();
  return text.substr(begin, text.find(']', begin) + 1 - begin);
}

}  // namespace

TEST_CASE("an inferred dim is a multiple of a symbol, or the symbol again") {
  CHECK(reshaped({"N", 10, 16}, {{-1, 4}}) == "[40*N, 4]");
  CHECK(reshaped({"N", 10, 16}, {{10, -1, 16}}) == "[10, N, 16]");
  CHECK(reshaped({10, "N", 64}, {{10, -1, 16}, {-1, 4, 10, 16}}) == "[N, 4, 10, 16]");
  CHECK(reshaped({"N", 6}, {{-1, 3}, {-1, 12}}) == "[?, 12]");
  CHECK(reshaped({"N", "M", 6}, {{-1, 3}}) == "[?, 3]");
  CHECK(reshaped({"N", "M", 6}, {{0, -1}}) == "[N, 6*M]");
  CHECK(reshaped({"N", 6}, {{-1, 3}, {0, 3, 1}}) == "[2*N, 3, 1]");
}

}  // namespace ondine::test
