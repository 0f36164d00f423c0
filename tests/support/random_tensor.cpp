#include "tests/support/random_tensor.h"

#include "core/random/random.h"

namespace ondine::test {

Tensor random_tensor(const Shape& shape, std::uint64_t seed, double low, double high) {
  Tensor tensor(DType::float64, shape);
  auto values = tensor.mutable_values<double>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = low + (high - low) * uniform_at({seed, 0, 7}, i);
  }
  return tensor;
}

Tensor random_floats(const Shape& shape, std::uint64_t seed, float low, float high) {
  const Tensor doubles = random_tensor(shape, seed, low, high);
  Tensor tensor(DType::float32, shape);
  auto values = tensor.mutable_values<float>();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(doubles.values<double>()[i]);
  }
  return tensor;
}

}  // namespace ondine::test
