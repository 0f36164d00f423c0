// Elements by channel, against the index of each.
#include "graph/training/quantize/channels.h"

#include <catch2/catch.hpp>
#include <utility>
#include <vector>

using namespace ondine;

TEST_CASE("every element is visited in order with its index along the axis") {
  const std::vector<Shape> shapes{{4},    {3, 5}, {5, 3}, {2, 3, 4},
                                  {1, 1}, {2, 0}, {0, 3}, {4, 2, 3, 2}};
  for (const Shape& shape : shapes) {
    for (std::size_t axis = 0; axis < shape.rank(); ++axis) {
      CAPTURE(shape.to_string(), axis);
      std::int64_t stride = 1;
      for (std::size_t k = axis + 1; k < shape.rank(); ++k) stride *= shape[k];
      std::vector<std::pair<std::size_t, std::size_t>> want;
      for (std::int64_t i = 0; i < shape.size(); ++i) {
        want.emplace_back(i, i / stride % shape[axis]);
      }
      std::vector<std::pair<std::size_t, std::size_t>> got;
      graph::for_each_of_channels(
          shape, axis, [&](std::size_t i, std::size_t channel) { got.emplace_back(i, channel); });
      CHECK(got == want);
    }
  }
}
