#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "graph/contract/catalogue.h"
#include "tests/support/op_harness.h"
#include "tests/support/tensors.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Int64s = std::vector<std::int64_t>;

}  // namespace

TEST_CASE("Trilu keeps one side of a diagonal") {
  const Tensor x = iota<std::int64_t>({2, 3, 4});
  for (const std::int64_t upper : {0, 1}) {
    for (const std::int64_t k : Int64s{-9, -2, -1, 0, 1, 3, 9, INT64_MIN, INT64_MAX}) {
      Tensor want = x.clone();
      for_each_index(x.shape(), [&](const Int64s& i) {
        const bool above = k < 4 && (k < -3 || i[2] >= i[1] + k);
        const bool below = k > -4 && (k > 3 || i[2] <= i[1] + k);
        if (upper != 0 ? !above : !below) {
          want.mutable_values<std::int64_t>()[position(x.shape(), i)] = 0;
        }
      });
      INFO("upper " << upper << " k " << k);
      CHECK(run_op_tensor(
                {.op = "Trilu", .inputs = {x, Tensor::scalar(k)}, .attributes = {{"upper", upper}}})
                .identical(want));
    }
  }
  CHECK(run_op_tensor({.op = "Trilu", .inputs = {iota({3, 0})}}).size() == 0);
  CHECK_THROWS_AS(run_op_tensor({.op = "Trilu", .inputs = {iota({3})}}), Error);
}

TEST_CASE("DepthToSpace and SpaceToDepth are inverse") {
  const Tensor x = iota<float>({2, 12, 2, 3});
  const auto deep = [&](std::string mode) {
    return run_op_tensor(
        {.op = "DepthToSpace", .inputs = {x}, .attributes = {{"blocksize", 2L}, {"mode", mode}}});
  };
  CHECK(deep("DCR").identical(moved<float>(x, {2, 3, 4, 6}, [](const Int64s& i) {
    return Int64s{i[0], (i[2] % 2 * 2 + i[3] % 2) * 3 + i[1], i[2] / 2, i[3] / 2};
  })));
  CHECK(deep("CRD").identical(moved<float>(x, {2, 3, 4, 6}, [](const Int64s& i) {
    return Int64s{i[0], i[1] * 4 + i[2] % 2 * 2 + i[3] % 2, i[2] / 2, i[3] / 2};
  })));
  CHECK(run_op_tensor(
            {.op = "SpaceToDepth", .inputs = {deep("DCR")}, .attributes = {{"blocksize", 2L}}})
            .identical(x));
  const graph::Attributes crd{{"blocksize", 2L}, {"mode", std::string("CRD")}};
  CHECK(run_op_tensor({.op = "SpaceToDepth", .inputs = {deep("CRD")}, .attributes = crd})
            .identical(x));
  check_gradient(
      {.op = "SpaceToDepth", .inputs = {random_tensor({1, 2, 4, 2}, 1)}, .attributes = crd});
  CHECK_THROWS_AS(deep("RDC"), Error);
  CHECK_THROWS_AS(run_op_tensor({.op = "DepthToSpace", .inputs = {x}}), Error);
  CHECK_THROWS_AS(
      run_op_tensor({.op = "DepthToSpace", .inputs = {x}, .attributes = {{"blocksize", 5L}}}),
      Error);
  CHECK_THROWS_AS(
      run_op_tensor({.op = "SpaceToDepth", .inputs = {x}, .attributes = {{"blocksize", 2L}}}),
      Error);
  CHECK_THROWS_AS(
      run_op_tensor(
          {.op = "SpaceToDepth", .inputs = {iota({2, 2})}, .attributes = {{"blocksize", 2L}}}),
      Error);
}

TEST_CASE("ReverseSequence reverses the first steps of each batch element") {
  const Tensor x = iota<std::int16_t>({4, 3, 2});
  const Int64s lengths{4, 0, 3};
  const auto source = [&](std::int64_t t, std::int64_t b) {
    const std::int64_t n = lengths[static_cast<std::size_t>(b)];
    return t < n ? n - 1 - t : t;
  };
  CHECK(run_op_tensor({.op = "ReverseSequence", .inputs = {x, int64s(lengths)}})
            .identical(moved<std::int16_t>(x, x.shape(), [&](const Int64s& i) {
              return Int64s{source(i[0], i[1]), i[1], i[2]};
            })));
  CHECK(run_op_tensor({.op = "ReverseSequence",
                       .inputs = {x, int64s({3, 1, 2, 0})},
                       .attributes = {{"batch_axis", 0L}, {"time_axis", 1L}}})
            .item<std::int16_t>() == 4);
  const auto bad = [&](Int64s sizes) {
    return run_op_tensor({.op = "ReverseSequence", .inputs = {x, int64s(sizes)}});
  };
  CHECK_THROWS_AS(bad({4, 0, 5}), Error);
  CHECK_THROWS_AS(bad({4, 0, -1}), Error);
  CHECK_THROWS_AS(bad({4, 0}), Error);
}

TEST_CASE("CenterCropPad keeps the centre") {
  const Tensor x = iota<std::int32_t>({5, 2});
  const auto run = [&](Int64s shape, graph::Attributes attributes) {
    return run_op_tensor(
        {.op = "CenterCropPad", .inputs = {x, int64s(shape)}, .attributes = attributes});
  };
  CHECK(as_doubles(run({2, 2}, {})) == std::vector<double>{2, 3, 4, 5});
  CHECK(as_doubles(run({1, 5}, {})) == std::vector<double>{0, 4, 5, 0, 0});
  CHECK(run({3}, {{"axes", Int64s{-1}}}).shape() == Shape{5, 3});
  CHECK(run({0, 2}, {}).shape() == Shape{0, 2});
  CHECK_THROWS_AS(run({1}, {}), Error);
  CHECK_THROWS_AS(run({1, -1}, {}), Error);
}

TEST_CASE("TensorScatter writes a run of slices into a cache") {
  const Tensor cache = Tensor(DType::int32, {2, 4, 1});
  const Tensor update = Tensor::of<std::int32_t>({2, 2, 1}, std::vector<std::int32_t>{1, 2, 3, 4});
  const auto run = [&](Int64s at, std::string mode) {
    return as_doubles(run_op_tensor({.op = "TensorScatter",
                                     .inputs = {cache, update, int64s(at)},
                                     .attributes = {{"mode", mode}}}));
  };
  CHECK(run({0, 2}, "linear") == std::vector<double>{1, 2, 0, 0, 0, 0, 3, 4});
  CHECK(run({3, 1}, "circular") == std::vector<double>{2, 0, 0, 1, 0, 3, 4, 0});
  CHECK_THROWS_AS(run({0, 3}, "linear"), Error);
  CHECK_THROWS_AS(run({0, -1}, "circular"), Error);
  CHECK_THROWS_AS(run({0, INT64_MAX}, "linear"), Error);
  CHECK_THROWS_AS(run({0}, "linear"), Error);
  CHECK_THROWS_AS(run({0, 0}, "round"), Error);
}

TEST_CASE("Movement operators have derivatives") {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  check_gradient({.op = "Trilu", .inputs = {x, Tensor::scalar<std::int64_t>(-1)}});
  check_gradient({.op = "Trilu", .inputs = {x}, .attributes = {{"upper", 0L}}});
  check_gradient({.op = "ReverseSequence", .inputs = {x, int64s({2, 0, 1})}});
  check_gradient({.op = "CenterCropPad", .inputs = {x, int64s({3, 2, 4})}});
  check_gradient({.op = "CenterCropPad",
                  .inputs = {x, int64s({1, 6})},
                  .attributes = {{"axes", Int64s{1, -1}}}});
  const Tensor image = random_tensor({1, 4, 2, 4}, 2);
  check_gradient({.op = "SpaceToDepth", .inputs = {image}, .attributes = {{"blocksize", 2L}}});
  check_gradient({.op = "DepthToSpace", .inputs = {image}, .attributes = {{"blocksize", 2L}}});
  check_gradient({.op = "DepthToSpace",
                  .inputs = {image},
                  .attributes = {{"blocksize", 2L}, {"mode", std::string("CRD")}}});
}

TEST_CASE("TensorScatter has derivatives") {
  const Tensor cache = random_tensor({2, 2, 3, 2}, 1);
  const Tensor update = random_tensor({2, 2, 2, 2}, 2);
  check_gradient({.op = "TensorScatter", .inputs = {cache, update, int64s({1, 0})}});
  check_gradient({.op = "TensorScatter",
                  .inputs = {cache, update, int64s({2, 1})},
                  .attributes = {{"mode", std::string("circular")}}});
  check_gradient({.op = "TensorScatter", .inputs = {cache, update}});
}
