#include "tests/fuzz/usual_feeds.h"

#include <algorithm>

#include "tests/fuzz/any_network.h"
#include "tests/fuzz/any_value.h"

namespace ondine::test {
namespace {

Tensor usual_tensor(Choices& choices, DType dtype, const Shape& shape) {
  if (dtype == DType::float32) return spread_floats(choices, shape);
  if (dtype != DType::int64 && dtype != DType::int32 && dtype != DType::boolean) {
    return any_tensor(choices, dtype, shape);
  }
  std::vector<std::int64_t> values(static_cast<std::size_t>(shape.size()));
  for (std::int64_t& value : values) value = static_cast<std::int64_t>(choices.below(2));
  if (dtype == DType::int64) return Tensor::of<std::int64_t>(shape, values);
  Tensor tensor(dtype, shape);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::int32) {
      static_cast<std::int32_t*>(tensor.mutable_data())[i] = static_cast<std::int32_t>(values[i]);
    } else {
      static_cast<bool*>(tensor.mutable_data())[i] = values[i] != 0;
    }
  }
  return tensor;
}

}  // namespace

NamedValues usual_feeds(Choices& choices, const std::vector<PortInfo>& ports) {
  NamedValues feeds;
  for (const PortInfo& port : ports) {
    if (port.dtype == DType::undefined || !port.dims) continue;
    if (port.has_default && choices.once_in(2)) continue;
    std::vector<std::int64_t> dims = *port.dims;
    for (std::int64_t& dim : dims) dim = dim < 0 ? 2 : std::min<std::int64_t>(dim, 64);
    const Shape shape{std::span<const std::int64_t>(dims)};
    if (shape.size() > 4096) continue;
    feeds.emplace_back(port.name, usual_tensor(choices, port.dtype, shape));
  }
  return feeds;
}

}  // namespace ondine::test
