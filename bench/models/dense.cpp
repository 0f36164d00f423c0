#include "bench/models/workloads.h"

namespace bench {

ModelBuilder mlp() {
  Layers net("mlp", 1);
  std::string x = net.builder().input("x", DType::float32, {"N", 784});
  x = net.op("Relu", {net.linear(x, "fc1", 784, 256)});
  x = net.op("Relu", {net.linear(x, "fc2", 256, 128)});
  net.builder().output(net.linear(x, "fc3", 128, 10), DType::float32, {"N", 10});
  return std::move(net.builder());
}

}  // namespace bench
