// Errors of a run name the node of the model, not what it was expanded to.
#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/model.h>

using namespace ondine;
using Catch::Contains;

namespace {

Model quantized_product() {
  ModelBuilder b("product", 21);
  const auto scalar = [&](const std::string& name, const Tensor& value) {
    return b.initializer(name, value);
  };
  const Tensor zero(DType::uint8, {});
  const std::string a = b.input("a", DType::uint8, {"M", "K"});
  const std::string w = b.input("w", DType::uint8, {"K2", "N"});
  const std::string scales = b.input("scales", DType::float32, {"Q"});
  const std::string zeros = b.input("zeros", DType::uint8, {"Q"});
  const std::string one = scalar("one", Tensor::scalar(1.0F));
  const std::string none = scalar("none", zero);
  b.node("QLinearMatMul", {a, one, none, w, scales, zeros, one, none}, {}, "product");
  b.output("product", DType::uint8, {"M", "N"});
  return Model::load(b.bytes());
}

NamedValues inputs(std::int64_t depth, std::int64_t scales) {
  return {{"a", Tensor(DType::uint8, {3, 4})},
          {"w", Tensor(DType::uint8, {depth, 5})},
          {"scales", Tensor(DType::float32, {scales})},
          {"zeros", Tensor(DType::uint8, {scales})}};
}

}  // namespace

TEST_CASE("a shape that an expanded node refuses in a run is told with the node's name") {
  Model model = quantized_product();
  CHECK_NOTHROW(model.infer(inputs(4, 5)));
  const auto named = Contains("of node 'product' (QLinearMatMul-21)");
  CHECK_THROWS_WITH(model.infer(inputs(9, 5)), Contains("4 and 9") && named);
  CHECK_THROWS_WITH(model.infer(inputs(4, 7)), Contains("7 and 5") && named);
}
