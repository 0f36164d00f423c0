// Elements of weights by their channel.
#pragma once

#include <cstddef>

#include <ondine/shape.h>

namespace ondine::graph {

// Calls visit(i, channel) for every element i of a tensor in row-major order; its channel is its
// index along `axis`.
template <class Visit>
void for_each_of_channels(const Shape& shape, std::size_t axis, const Visit& visit) {
  const auto count = [&](std::size_t from, std::size_t to) {
    std::size_t product = 1;
    for (std::size_t k = from; k < to; ++k) product *= static_cast<std::size_t>(shape[k]);
    return product;
  };
  const std::size_t outer = count(0, axis);
  const auto channels = static_cast<std::size_t>(shape[axis]);
  const std::size_t inner = count(axis + 1, shape.rank());
  std::size_t i = 0;
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t channel = 0; channel < channels; ++channel) {
      for (std::size_t k = 0; k < inner; ++k) visit(i++, channel);
    }
  }
}

}  // namespace ondine::graph
