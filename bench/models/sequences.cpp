#include <cmath>

#include "bench/models/workloads.h"

namespace bench {
namespace {

using Int64s = std::vector<std::int64_t>;

constexpr std::int64_t width = 256;
constexpr std::int64_t heads = 4;
constexpr std::int64_t hidden = 1024;

// x [N, T, in] -> [N, T, out]; weight [in, out].
std::string project(Layers& net, const std::string& x, const std::string& name, std::int64_t in,
                    std::int64_t out) {
  const double bound = 1 / std::sqrt(static_cast<double>(in));
  const std::string product =
      net.op("MatMul", {x, net.uniform(name + ".weight", {in, out}, bound)});
  return net.op("Add", {product, net.uniform(name + ".bias", {out}, bound)});
}

std::string attention(Layers& net, const std::string& x, const std::string& name) {
  const auto by_head = [&](const std::string& which, const Int64s& perm) {
    const std::string y = project(net, x, name + "." + which, width, width);
    return net.op("Transpose", {net.op("Reshape", {y, "by_head"})}, {{"perm", perm}});
  };
  const std::string query = net.op("Mul", {by_head("query", {0, 2, 1, 3}), "scale"});
  const std::string key = by_head("key", {0, 2, 3, 1});
  const std::string value = by_head("value", {0, 2, 1, 3});
  const std::string scores =
      net.op("Softmax", {net.op("MatMul", {query, key})}, {{"axis", std::int64_t{-1}}});
  const std::string mixed =
      net.op("Transpose", {net.op("MatMul", {scores, value})}, {{"perm", Int64s{0, 2, 1, 3}}});
  return project(net, net.op("Reshape", {mixed, "together"}), name + ".out", width, width);
}

std::string encoder_layer(Layers& net, std::string x, const std::string& name) {
  x = net.layer_norm(net.op("Add", {x, attention(net, x, name + ".attention")}), name + ".norm1",
                     width);
  std::string y = net.op("Relu", {project(net, x, name + ".up", width, hidden)});
  y = project(net, y, name + ".down", hidden, width);
  return net.layer_norm(net.op("Add", {x, y}), name + ".norm2", width);
}

std::string lstm_layer(Layers& net, const std::string& x, const std::string& name, std::int64_t in,
                       std::int64_t size) {
  const double bound = 1 / std::sqrt(static_cast<double>(size));
  const std::string weight = net.uniform(name + ".weight", {1, 4 * size, in}, bound);
  const std::string recurrent = net.uniform(name + ".recurrent", {1, 4 * size, size}, bound);
  const std::string bias = net.uniform(name + ".bias", {1, 8 * size}, bound);
  // [T, 1, N, size] -> [T, N, size]
  return net.op("Squeeze", {net.op("LSTM", {x, weight, recurrent, bias}, {{"hidden_size", size}}),
                            "direction"});
}

}  // namespace

ModelBuilder transformer() {
  Layers net("transformer", 5);
  std::string x = net.builder().input("x", DType::float32, {"N", 128, width});
  net.int64s("by_head", {0, 0, heads, width / heads});
  net.int64s("together", {0, 0, width});
  net.builder().initializer("scale",
                            Tensor::scalar(1 / std::sqrt(static_cast<float>(width / heads))));
  for (int i = 0; i < 4; ++i) x = encoder_layer(net, x, "layer" + std::to_string(i));
  x = net.op("ReduceMean", {x}, {{"axes", Int64s{1}}, {"keepdims", std::int64_t{0}}});
  net.builder().output(net.linear(x, "fc", width, 10), DType::float32, {"N", 10});
  return std::move(net.builder());
}

ModelBuilder lstm() {
  constexpr std::int64_t size = 128;
  Layers net("lstm", 6);
  std::string x = net.builder().input("x", DType::float32, {100, "N", 40});
  net.int64s("direction", {1});
  net.builder().initializer("last", Tensor::scalar(std::int64_t{-1}));
  x = lstm_layer(net, x, "lstm1", 40, size);
  x = lstm_layer(net, x, "lstm2", size, size);
  x = net.op("Gather", {x, "last"}, {{"axis", std::int64_t{0}}});
  net.builder().output(net.linear(x, "fc", size, 10), DType::float32, {"N", 10});
  return std::move(net.builder());
}

}  // namespace bench
