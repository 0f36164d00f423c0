#include <ondine/shape.h>

#include <catch2/catch.hpp>

#include <utility>
#include <vector>

#include <ondine/error.h>

using namespace ondine;

TEST_CASE("the size of a shape is the product of its dims up to 2^56") {
  CHECK(Shape{}.size() == 1);
  CHECK(Shape{2, 3, 4}.size() == 24);
  CHECK(Shape{2, 3, 4}.size(1, 3) == 12);
  CHECK(Shape{2, 3, 4}.size(2, 2) == 1);
  const std::int64_t most = std::int64_t{1} << 56;
  CHECK(Shape{most}.size() == most);
  CHECK(Shape{most / 8, 8}.size() == most);
  for (const Shape& shape : {Shape{most, 2}, Shape{most + 1}, Shape{INT64_MAX}, Shape{3, most / 2},
                             Shape{INT64_MAX, INT64_MAX, INT64_MAX}}) {
    try {
      shape.size();
      FAIL_CHECK("accepted: " << shape.to_string());
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::limit);
      CHECK_THAT(error.what(), Catch::Contains(shape.to_string()));
    }
  }
}

TEST_CASE("a shape with a dim of 0 has no elements, but its other dims are bounded") {
  CHECK(Shape{5, 0, 7}.size() == 0);
  const std::int64_t most = sizeof(std::size_t) == 8 ? std::int64_t{1} << 56 : INT32_MAX;
  CHECK(Shape{0, most}.size() == 0);
  CHECK_THROWS_AS(Shape({0, most + 1}).size(), Error);
  CHECK_THROWS_AS(Shape({std::int64_t{1} << 40, 0, std::int64_t{1} << 17}).size(), Error);
}

TEST_CASE("a shape holds up to 32 dims, none of them negative") {
  CHECK(Shape::filled(Shape::max_rank, 1).size() == 1);
  CHECK_THROWS_AS(Shape::filled(Shape::max_rank + 1, 1), Error);
  Shape full = Shape::filled(Shape::max_rank, 1);
  CHECK_THROWS_AS(full.push_back(1), Error);
  CHECK_THROWS_AS(Shape({2, -1}), Error);
  CHECK(full.rank() == Shape::max_rank);
}

TEST_CASE("shapes of every rank are copied and moved with all their dims") {
  for (std::size_t rank = 0; rank <= Shape::max_rank; ++rank) {
    CAPTURE(rank);
    std::vector<std::int64_t> dims;
    for (std::size_t i = 0; i < rank; ++i) dims.push_back(static_cast<std::int64_t>(100 + i));
    const Shape shape(dims);
    for (const std::size_t other_rank : {std::size_t{0}, std::size_t{8}, std::size_t{9}}) {
      Shape assigned = Shape::filled(other_rank, 7);
      assigned = shape;
      CHECK(std::vector(assigned.begin(), assigned.end()) == dims);
      Shape moved = Shape::filled(other_rank, 7);
      moved = std::move(assigned);
      CHECK(std::vector(moved.begin(), moved.end()) == dims);
      if (rank > 0) moved[rank - 1] = 1;
      CHECK(std::vector(shape.begin(), shape.end()) == dims);
    }
    Shape copy = shape;
    copy = *&copy;
    CHECK(copy == shape);
    const Shape moved = std::move(copy);
    CHECK(moved == shape);
    CHECK(moved.rank() == rank);
  }
}

TEST_CASE("shapes are equal when all dims are, and print as a list") {
  CHECK(Shape{2, 3} == Shape{2, 3});
  CHECK_FALSE(Shape{2, 3} == Shape{2, 3, 1});
  CHECK_FALSE(Shape{2, 3} == Shape{3, 2});
  CHECK(Shape{}.to_string() == "[]");
  CHECK(Shape{2, 3}.to_string() == "[2, 3]");
}
