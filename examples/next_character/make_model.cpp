// Writes the network of this example: make_next_character OUT.onnx
#include <iostream>
#include <stdexcept>

#include <ondine/build.h>

namespace {

using ondine::DType;
using ondine::ModelBuilder;
using ondine::Tensor;

constexpr std::int64_t ids = 256;  // bytes
constexpr std::int64_t embedding_size = 48;
constexpr std::int64_t hidden_size = 192;
constexpr std::int64_t window = 64;

// text [N, 64] -> embedding -> GRU -> scores of the byte that follows each one, [N, 256, 64].
ModelBuilder make_network() {
  ModelBuilder builder("next_character");
  using Integers = std::vector<std::int64_t>;
  const auto weight = [&](const std::string& name, const ondine::Shape& shape) {
    return builder.initializer(name, Tensor(DType::float32, shape));
  };
  std::string x = builder.input("text", DType::int64, {"N", window});
  x = builder.node("Gather", {weight("embedding", {ids, embedding_size}), x});
  x = builder.node("Transpose", {x}, {{"perm", Integers{1, 0, 2}}});  // a GRU has the steps first
  const std::string axis = builder.initializer("axis", Tensor::of({1}, Integers{1}));
  x = builder.node(
      "GRU",
      {x, weight("gru.w", {1, 3 * hidden_size, embedding_size}),
       weight("gru.r", {1, 3 * hidden_size, hidden_size}), weight("gru.b", {1, 6 * hidden_size})},
      {{"hidden_size", hidden_size}, {"linear_before_reset", std::int64_t{1}}});
  x = builder.node("Squeeze", {x, axis});  // of directions there is one
  x = builder.node("MatMul", {x, weight("head.w", {hidden_size, ids})});
  x = builder.node("Add", {x, weight("head.b", {ids})});
  builder.node("Transpose", {x}, {{"perm", Integers{1, 2, 0}}}, "scores");
  builder.output("scores", DType::float32, {"N", ids, window});
  return builder;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc != 2) throw std::invalid_argument("usage: make_next_character OUT.onnx");
  make_network().save(argv[1]);
} catch (const std::exception& error) {
  std::cerr << error.what() << '\n';
  return 1;
}
