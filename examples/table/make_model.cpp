// Writes a network for tables: make_mlp COLUMNS OUTPUTS OUT.onnx
#include <iostream>
#include <string>

#include <ondine/build.h>

namespace {

using ondine::DType;
using ondine::ModelBuilder;
using ondine::Shape;
using ondine::Tensor;

// A normalization that learns mean and deviation of each column, a hidden layer, the outputs.
ModelBuilder make_mlp(std::int64_t columns, std::int64_t outputs) {
  constexpr std::int64_t hidden = 32;
  ModelBuilder builder("mlp");
  const auto filled = [&](const std::string& name, const Shape& shape, float value) {
    Tensor tensor(DType::float32, shape);
    for (float& one : tensor.mutable_values<float>()) one = value;
    return builder.initializer(name, tensor);
  };
  std::string x = builder.input("features", DType::float32, {"N", columns});
  x = builder.node("BatchNormalization",
                   {x, filled("norm.scale", {columns}, 1), filled("norm.bias", {columns}, 0),
                    filled("norm.mean", {columns}, 0), filled("norm.var", {columns}, 1)});
  x = builder.node("Gemm",
                   {x, filled("fc1.w", {columns, hidden}, 0), filled("fc1.b", {hidden}, 0)});
  x = builder.node("Relu", {x});
  builder.node("Gemm", {x, filled("fc2.w", {hidden, outputs}, 0), filled("fc2.b", {outputs}, 0)},
               {}, "prediction");
  builder.output("prediction", DType::float32, {"N", outputs});
  return builder;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 4) throw std::invalid_argument("usage: make_mlp COLUMNS OUTPUTS OUT.onnx");
  make_mlp(std::stoll(argv[1]), std::stoll(argv[2])).save(argv[3]);
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
