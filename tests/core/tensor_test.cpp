#include <ondine/tensor.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include <ondine/error.h>
#include <ondine/value.h>

#include "core/budget.h"
#include "tests/support/resident_bytes.h"

using namespace ondine;

TEST_CASE("a tensor starts with zeros and empty strings") {
  const Tensor numbers(DType::float32, {2, 3});
  for (const float x : numbers.values<float>()) CHECK(x == 0.0F);
  const Tensor text(DType::string, {2});
  CHECK(text.values<std::string>()[1].empty());
}

TEST_CASE("a wrapped tensor reads and writes the caller's memory") {
  std::vector<float> memory{1, 2, 3, 4};
  Tensor tensor = Tensor::wrap(DType::float32, {2, 2}, memory.data());
  tensor.mutable_values<float>()[3] = 9;
  CHECK(memory[3] == 9);
  CHECK(tensor.clone().data() != memory.data());
}

TEST_CASE("reading a tensor as another dtype is an error that names its dtype") {
  const Tensor tensor = Tensor::scalar<float>(1);
  CHECK_THROWS_WITH(tensor.values<double>(), "tensor holds float, not double");
}

template <class T>
concept HasValues = requires(T tensor) {
  std::forward<T>(tensor).template values<float>();
};
static_assert(HasValues<const Tensor&>);
static_assert(!HasValues<Tensor>, "a span over a temporary would dangle");

TEST_CASE("one element is read by its flat index, of a temporary too") {
  const std::vector<float> rows{1, 2, 3, 4};
  CHECK(Tensor::of<float>({2, 2}, rows).item<float>(2) == 3);
  CHECK(Tensor::scalar<std::int64_t>(7).item<std::int64_t>() == 7);
  CHECK_THROWS_WITH(Tensor::of<float>({2, 2}, rows).item<float>(4),
                    "element 4 of a tensor of shape [2, 2]");
  CHECK_THROWS_WITH(Tensor(DType::float32, {0}).item<float>(),
                    "element 0 of a tensor of shape [0]");
  CHECK_THROWS_WITH(Tensor::scalar<float>(1).item<double>(), "tensor holds float, not double");
}

TEST_CASE("the tensor of a temporary value keeps its elements") {
  const auto made = [] { return Value(Tensor::scalar<float>(5)); };
  const auto& tensor = made().tensor();
  CHECK(tensor.item<float>() == 5);
  CHECK_THROWS_AS(Value().tensor(), Error);
}

TEST_CASE("a budget is charged before memory is taken and paid back afterwards") {
  const auto budget = std::make_shared<MemoryBudget>(100);
  {
    const Tensor first(DType::float32, {20}, budget);
    CHECK(budget->used() == 80);
    CHECK_THROWS_WITH(Tensor(DType::float32, {20}, budget),
                      "80 bytes do not fit: 80 of 100 are in use");
    CHECK(budget->used() == 80);
    // The last byte can be had, and nothing beyond it.
    const Tensor second(DType::uint8, {20}, budget);
    CHECK(budget->used() == 100);
    CHECK_THROWS_AS(Tensor(DType::uint8, {1}, budget), Error);
    const Tensor none(DType::uint8, {0}, budget);
    CHECK(budget->used() == 100);
  }
  CHECK(budget->used() == 0);
}

TEST_CASE("a new tensor holds zeros, of any size and on memory that was used before") {
  for (const std::int64_t count : {1, 100, 4096, 1 << 18}) {
    for (int repeat = 0; repeat < 3; ++repeat) {
      Tensor tensor(DType::float32, {count});
      CHECK(reinterpret_cast<std::uintptr_t>(tensor.data()) % 64 == 0);
      std::int64_t others = 0;
      for (float& one : tensor.mutable_values<float>()) {
        others += one == 0 ? 0 : 1;
        one = 7;
      }
      CHECK(others == 0);
    }
  }
  const Tensor words(DType::string, {3});
  CHECK(words.values<std::string>()[2].empty());
}

TEST_CASE("tensors are identical in dtype, shape and every bit") {
  const Tensor one = Tensor::of<float>({2, 1}, {0.0F, 1.0F});
  CHECK(one.identical(one.clone()));
  CHECK_FALSE(one.identical(one.reshaped({1, 2})));
  CHECK_FALSE(one.identical(Tensor::of<float>({2, 1}, {-0.0F, 1.0F})));
  CHECK_FALSE(one.identical(Tensor::of<float>({2, 1}, {0.0F, 2.0F})));
  CHECK_FALSE(Tensor(DType::int32, {1}).identical(Tensor(DType::uint32, {1})));
  CHECK(Tensor(DType::int32, {0}).identical(Tensor(DType::int32, {0})));
  const Tensor words = Tensor::of<std::string>({2}, {"a", "b"});
  CHECK(words.identical(words.clone()));
  CHECK_FALSE(words.identical(Tensor::of<std::string>({2}, {"a", "c"})));
  CHECK_FALSE(Tensor().clone().defined());
  CHECK_THROWS_WITH(one.reshaped({3}), "shape [3] does not hold the elements of [2, 1]");
}

TEST_CASE("a shape whose size overflows is refused") {
  const Shape shape{std::int64_t{1} << 40, std::int64_t{1} << 40};
  CHECK_THROWS_AS(shape.size(), Error);
  CHECK(Shape{std::int64_t{1} << 20, 0, std::int64_t{1} << 10}.size() == 0);
  // Strides of these would overflow, though they hold nothing.
  CHECK_THROWS_AS((Shape{std::int64_t{1} << 40, 0, std::int64_t{1} << 17}.size()), Error);
  CHECK_THROWS_AS((Shape{0, INT64_MAX, INT64_MAX}.size()), Error);
}

TEST_CASE("a budget is paid back when memory cannot be had") {
  // No address space has 2^58 bytes.
  const auto budget = std::make_shared<MemoryBudget>(std::uint64_t{1} << 60);
  CHECK_THROWS_AS(Tensor(DType::float32, {std::int64_t{1} << 56}, budget), Error);
  CHECK(budget->used() == 0);
}

TEST_CASE("the elements of a tensor are zero and aligned, of whatever size it is") {
  for (const std::int64_t size : {1, 3, 15, 16, 17, 64, 1000, 300'000}) {
    Tensor tensor(DType::float32, {size});
    CHECK(reinterpret_cast<std::uintptr_t>(tensor.data()) % 64 == 0);
    const auto elements = tensor.mutable_values<float>();
    CHECK(std::all_of(elements.begin(), elements.end(), [](float one) { return one == 0; }));
    std::fill(elements.begin(), elements.end(), 1.0F);
    CHECK(tensor.clone().identical(tensor));
  }
  const Tensor texts(DType::string, {5});
  for (const std::string& text : texts.values<std::string>()) CHECK(text.empty());
  CHECK(Tensor(DType::float32, {0}).data() == nullptr);
}

TEST_CASE("small tensors take little more memory than their elements") {
  const std::size_t before = test::resident_bytes();
  std::vector<Tensor> tensors;
  for (std::int64_t i = 0; i < 20'000; ++i) tensors.push_back(Tensor::scalar(i));
  CHECK(tensors.back().item<std::int64_t>() == 19'999);
  CHECK(test::resident_bytes() < before + (std::size_t{20} << 20));
}

TEST_CASE("the texts of a large tensor are freed with it") {
  const auto fill = [] {
    Tensor tensor(DType::string, {100'000});  // of 12 bytes each or more
    CHECK(tensor.bytes() >= std::size_t{1} << 20);
    for (std::string& text : tensor.mutable_values<std::string>()) text.assign(500, 'x');
    CHECK(tensor.values<std::string>()[99'999].size() == 500);
  };
  fill();
  const std::size_t before = test::resident_bytes();
  for (int i = 0; i < 5; ++i) fill();
  CHECK(test::resident_bytes() < before + (std::size_t{30} << 20));
}
