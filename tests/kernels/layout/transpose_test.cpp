#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/support/op_harness.h"
#include "tests/support/tensors.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Perm = std::vector<std::int64_t>;

template <class T>
void check_transpose(const Shape& shape, const Perm& perm) {
  const Tensor x = iota<T>(shape);
  Shape y;
  for (const auto axis : perm) y.push_back(shape[static_cast<std::size_t>(axis)]);
  const Tensor want = moved<T>(x, y, [&](const Perm& index) {
    Perm source(index.size());
    for (std::size_t a = 0; a < perm.size(); ++a) {
      source[static_cast<std::size_t>(perm[a])] = index[a];
    }
    return source;
  });
  INFO(shape.to_string() << " -> " << y.to_string());
  CHECK(run_op_tensor({.op = "Transpose", .inputs = {x}, .attributes = {{"perm", perm}}})
            .identical(want));
}

}  // namespace

TEST_CASE("Transpose permutes axes for every element size") {
  const std::vector<std::pair<Shape, Perm>> cases = {{{2, 3}, {1, 0}},
                                                     {{70, 45}, {1, 0}},
                                                     {{2, 3, 4}, {2, 0, 1}},
                                                     {{2, 3, 4}, {0, 2, 1}},
                                                     {{3, 40, 50}, {0, 2, 1}},
                                                     {{4, 1, 5, 2}, {3, 1, 0, 2}},
                                                     {{2, 33, 5, 7}, {0, 2, 3, 1}},
                                                     {{0, 3}, {1, 0}},
                                                     {{}, {}},
                                                     {{5}, {0}},
                                                     {{2, 3, 4, 5, 6}, {4, 2, 0, 1, 3}}};
  for (const auto& [shape, perm] : cases) {
    check_transpose<std::uint8_t>(shape, perm);
    check_transpose<std::int16_t>(shape, perm);
    check_transpose<float>(shape, perm);
    check_transpose<double>(shape, perm);
    check_transpose<std::complex<double>>(shape, perm);
  }
}

TEST_CASE("Transpose reverses the axes by default and moves strings") {
  const Tensor x = iota_strings({2, 3, 2});
  const Tensor y = run_op_tensor({.op = "Transpose", .inputs = {x}});
  CHECK(y.shape() == Shape{2, 3, 2});
  CHECK(y.values<std::string>()[1] == x.values<std::string>()[6]);
}

TEST_CASE("Transpose rejects what is no permutation") {
  const auto run = [](Perm perm) {
    return run_op_tensor(
        {.op = "Transpose", .inputs = {iota({2, 3})}, .attributes = {{"perm", perm}}});
  };
  CHECK_THROWS_AS(run({0}), Error);
  CHECK_THROWS_AS(run({0, 0}), Error);
  CHECK_THROWS_AS(run({0, 2}), Error);
}

TEST_CASE("Transpose has derivatives") {
  const Tensor x = random_tensor({2, 3, 2}, 1);
  check_gradient({.op = "Transpose", .inputs = {x}});
  check_gradient({.op = "Transpose", .inputs = {x}, .attributes = {{"perm", Perm{2, 0, 1}}}});
}
