// Gathering and scattering along every axis of many shapes, with indices of both signs and types,
// against loops over coordinates.
#include <catch2/catch.hpp>

#include <limits>

#include <ondine/error.h>

#include "tests/kernels/indexing/scatter_reduction.h"
#include "tests/support/op_harness.h"
#include "tests/support/tensors.h"

using namespace ondine;        // NOLINT
using namespace ondine::test;  // NOLINT

namespace {

using Ints = std::vector<std::int64_t>;

struct Case {
  Shape tensor;
  Shape indices;
};

// Sizes around a vector's width, one element, none, and more rows than one thread takes at a time.
const std::vector<Case> cases{{{5}, {0}},
                              {{1}, {3}},
                              {{7}, {9}},
                              {{3, 1}, {2, 1}},
                              {{1, 8}, {1, 17}},
                              {{4, 9}, {3, 9}},
                              {{2, 3, 4}, {2, 3, 4}},
                              {{3, 2, 5}, {1, 2, 3}},
                              {{0, 4}, {0, 4}},
                              {{9000}, {8193}},
                              {{3, 2800}, {3, 2750}},
                              {{2, 1, 3, 2}, {2, 1, 2, 2}}};

Ints coordinates(std::int64_t at, const Shape& shape) {
  Ints result(shape.rank());
  for (std::size_t a = shape.rank(); a-- > 0;) {
    result[a] = at % shape[a];
    at /= shape[a];
  }
  return result;
}

std::size_t offset(const Ints& at, const Shape& shape) {
  std::int64_t result = 0;
  for (std::size_t a = 0; a < shape.rank(); ++a) result = result * shape[a] + at[a];
  return static_cast<std::size_t>(result);
}

// Indices from -size to size - 1 in an order that repeats some.
Ints index_values(std::int64_t count, std::int64_t size) {
  Ints values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back((i * 7 + 3) % (2 * size) - size);
  return values;
}

Tensor index_tensor(const Shape& shape, const Ints& values, bool wide) {
  if (wide) return Tensor::of<std::int64_t>(shape, values);
  return Tensor::of<std::int32_t>(shape, std::vector<std::int32_t>(values.begin(), values.end()));
}

// Where each index points to: the coordinates of its place but for the axis.
std::vector<std::size_t> targets(const Case& one, std::size_t axis, const Ints& indices) {
  std::vector<std::size_t> result;
  for (std::int64_t i = 0; i < one.indices.size(); ++i) {
    Ints at = coordinates(i, one.indices);
    const std::int64_t index = indices[static_cast<std::size_t>(i)];
    at[axis] = index < 0 ? index + one.tensor[axis] : index;
    result.push_back(offset(at, one.tensor));
  }
  return result;
}

// Whether indices of this shape may be along the axis: no other dim is larger than the tensor's.
bool fits(const Case& one, std::size_t axis) {
  for (std::size_t a = 0; a < one.tensor.rank(); ++a) {
    if (a != axis && one.indices[a] > one.tensor[a]) return false;
  }
  return one.tensor[axis] > 0 || one.indices.size() == 0;
}

template <class Check>
void for_each_case(const Check& check) {
  for (const Case& one : cases) {
    for (std::size_t axis = 0; axis < one.tensor.rank(); ++axis) {
      if (!fits(one, axis)) continue;
      for (const bool wide : {false, true}) {
        CAPTURE(one.tensor.to_string(), one.indices.to_string(), axis, wide);
        const std::int64_t size = std::max<std::int64_t>(1, one.tensor[axis]);
        const Ints values = index_values(one.indices.size(), size);
        // The axis is counted from the end for one of the two types.
        const auto given = static_cast<std::int64_t>(axis) -
                           (wide ? static_cast<std::int64_t>(one.tensor.rank()) : 0);
        check(one, given, index_tensor(one.indices, values, wide), targets(one, axis, values));
      }
    }
  }
}

}  // namespace

TEST_CASE("GatherElements takes the element of each index, along any axis of any shape") {
  for_each_case([](const Case& one, std::int64_t axis, const Tensor& indices,
                   const std::vector<std::size_t>& from) {
    const Tensor x = iota(one.tensor);
    Tensor want(DType::float32, one.indices);
    auto out = want.mutable_values<float>();
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(from[i]);
    check_close(run_op_tensor({"GatherElements", {x, indices}, {{"axis", axis}}}), want, {0, 0});
  });
}

TEST_CASE("ScatterElements combines each update with what its index points to, in order") {
  for (const std::string reduction : {"none", "add", "mul", "max", "min"}) {
    CAPTURE(reduction);
    for_each_case([&](const Case& one, std::int64_t axis, const Tensor& indices,
                      const std::vector<std::size_t>& to) {
      // Whole numbers of both signs; products stay finite in double.
      Tensor x(DType::float64, one.tensor);
      auto values = x.mutable_values<double>();
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = static_cast<double>(i % 5) - 2;
      }
      Tensor updates(DType::float64, one.indices);
      auto given = updates.mutable_values<double>();
      for (std::size_t i = 0; i < given.size(); ++i) given[i] = static_cast<double>(i % 3) - 1;
      Tensor want(DType::float64, one.tensor);
      auto out = want.mutable_values<double>();
      std::copy(values.begin(), values.end(), out.begin());
      for (std::size_t i = 0; i < to.size(); ++i) {
        out[to[i]] = combine(reduction, out[to[i]], given[i]);
      }
      check_close(run_op_tensor({"ScatterElements",
                                 {x, indices, updates},
                                 {{"axis", axis}, {"reduction", reduction}}}),
                  want, {0, 0});
    });
  }
}

TEST_CASE("GatherND and ScatterND move slices of any length by any number of coordinates") {
  const Shape shape{3, 4, 2, 5};
  const Tensor x = iota(shape);
  for (std::size_t batch = 0; batch < 3; ++batch) {
    for (std::size_t count = 1; batch + count <= shape.rank(); ++count) {
      CAPTURE(batch, count);
      std::vector<std::int64_t> dims;
      for (std::size_t a = 0; a < batch; ++a) dims.push_back(shape[a]);
      dims.push_back(7);
      const Shape rows{std::span<const std::int64_t>(dims)};
      dims.push_back(static_cast<std::int64_t>(count));
      const Shape indices_shape{std::span<const std::int64_t>(dims)};
      Ints indices;
      std::vector<std::size_t> starts;
      const std::int64_t length = shape.size(batch + count, shape.rank());
      for (std::int64_t row = 0; row < rows.size(); ++row) {
        const Ints at = coordinates(row, rows);
        std::int64_t start = 0;
        for (std::size_t a = 0; a < batch; ++a) start = start * shape[a] + at[a];
        for (std::size_t c = 0; c < count; ++c) {
          const std::int64_t size = shape[batch + c];
          const std::int64_t index = (row * 5 + static_cast<std::int64_t>(c)) % (2 * size) - size;
          indices.push_back(index);
          start = start * size + (index < 0 ? index + size : index);
        }
        starts.push_back(static_cast<std::size_t>(start * length));
      }
      dims.pop_back();
      for (std::size_t a = batch + count; a < shape.rank(); ++a) dims.push_back(shape[a]);
      Tensor want(DType::float32, Shape(std::span<const std::int64_t>(dims)));
      auto out = want.mutable_values<float>();
      const auto size = static_cast<std::size_t>(length);
      for (std::size_t i = 0; i < out.size(); ++i) {
        out[i] = static_cast<float>(starts[i / size] + i % size);
      }
      const Tensor at = Tensor::of<std::int64_t>(indices_shape, indices);
      check_close(
          run_op_tensor({"GatherND", {x, at}, {{"batch_dims", static_cast<std::int64_t>(batch)}}}),
          want, {0, 0});
      if (batch != 0) continue;
      // Scattering what was gathered leaves all as it was; zeros leave zeros where they go.
      check_close(run_op_tensor({"ScatterND", {x, at, want}}), x, {0, 0});
      Tensor changed = iota(shape);
      auto left = changed.mutable_values<float>();
      for (const std::size_t start : starts) {
        std::fill_n(left.begin() + static_cast<std::ptrdiff_t>(start), size, 0.0F);
      }
      check_close(run_op_tensor({"ScatterND", {x, at, Tensor(DType::float32, want.shape())}}),
                  changed, {0, 0});
    }
  }
}

TEST_CASE("an index one beyond either end of its axis is refused, the last ones are taken") {
  const Tensor x = iota({3, 4});
  const auto taken = [&](std::int64_t axis, std::int64_t index) {
    return run_op_tensor(
               {"GatherElements", {x, Tensor::of<std::int64_t>({1, 1}, {index})}, {{"axis", axis}}})
        .item<float>();
  };
  CHECK(taken(0, 2) == 8);
  CHECK(taken(0, -3) == 0);
  CHECK(taken(1, 3) == 3);
  CHECK(taken(1, -4) == 0);
  CHECK_THROWS_AS(taken(0, 3), Error);
  CHECK_THROWS_AS(taken(0, -4), Error);
  CHECK_THROWS_AS(taken(1, 4), Error);
  CHECK_THROWS_AS(taken(1, -5), Error);
}
