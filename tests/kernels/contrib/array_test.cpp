#include <cmath>

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "tests/kernels/contrib/waves.h"
#include "tests/support/op_harness.h"

using namespace ondine;
using namespace ondine::test;

TEST_CASE("Trilu of com.microsoft is the standard's") {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  const auto k = Tensor::scalar(std::int64_t{1});
  check_close(run_op_tensor({"Trilu", {x, k}, {{"upper", 0L}}, 1, contrib}),
              run_op_tensor({"Trilu", {x, k}, {{"upper", 0L}}}));
  check_close(run_op_tensor({"Trilu", {x}, {}, 1, contrib}), run_op_tensor({"Trilu", {x}}));
  check_gradient({"Trilu", {x}, {}, 1, contrib});
}

TEST_CASE("Unique of com.microsoft keeps the order of first occurrence") {
  const auto x = Tensor::of<float>({6}, {3, 1, 3, 2, 1, 5});
  const auto got = run_op({"Unique", {x}, {}, 3, contrib});
  check_close(got[0].tensor(), Tensor::of<float>({4}, {3, 1, 2, 5}));
  check_close(got[1].tensor(), Tensor::of<std::int64_t>({6}, {0, 1, 0, 2, 1, 3}));
  check_close(got[2].tensor(), Tensor::of<std::int64_t>({4}, {2, 2, 1, 1}));
}

// Values of onnxruntime 1.31.
TEST_CASE("CropAndResize samples from corner to corner") {
  const Tensor image = wave({1, 1, 4, 5}, 0);
  const auto regions = Tensor::of<float>({2, 4}, {0.1F, 0.2F, 0.9F, 1.1F, 0.5F, 0.5F, 0.2F, 0});
  const auto batch = Tensor::of<std::int32_t>({2}, {0, 0});
  const auto crop = [&](std::int32_t rows, std::int32_t columns, graph::Attributes attributes) {
    return run_op_tensor({"CropAndResize",
                          {image, regions, batch, Tensor::of<std::int32_t>({2}, {rows, columns})},
                          std::move(attributes),
                          1,
                          contrib});
  };
  constexpr Closeness tolerance{2e-5, 2e-6};
  check_close(crop(2, 3, {{"extrapolation_value", 9.0F}}),
              Tensor::of<float>({2, 1, 2, 3}, {0.1305367F, 0.4069515F, 9, -0.394917F, 0.001033008F,
                                               9, -0.06392688F, 0.05829626F, 0.1531017F,
                                               -0.1952918F, -0.2652584F, -0.2104699F}),
              tolerance);
  check_close(crop(2, 3, {{"extrapolation_value", 9.0F}, {"mode", std::string("nearest")}}),
              Tensor::of<float>({2, 1, 2, 3},
                                {0.6442177F, 0.8632094F, 9, -0.9791777F, 0.03362305F, 9, 0.8545989F,
                                 0.9881682F, 0.6569866F, -0.9824526F, -0.8715758F, -0.3507832F}),
              tolerance);
  check_close(crop(1, 1, {}), Tensor::of<float>({2, 1, 1, 1}, {-0.1192213F, -0.7785887F}),
              tolerance);
  CHECK_THROWS_AS(crop(2, 3, {{"mode", std::string("cubic")}}), Error);
}

TEST_CASE("Derivatives of CropAndResize") {
  const auto regions = Tensor::of<double>({2, 4}, {0.12, 0.23, 0.91, 0.84, 0.5, 0.45, 0.2, 0.1});
  check_gradient({"CropAndResize",
                  {random_tensor({2, 2, 4, 5}, 1), regions, Tensor::of<std::int32_t>({2}, {1, 0}),
                   Tensor::of<std::int32_t>({2}, {2, 3})},
                  {},
                  1,
                  contrib},
                 {.order = 1, .elements = 20, .variants = false});
}

TEST_CASE("Inverse") {
  const Tensor x = random_tensor({2, 3, 3}, 1);
  const Tensor y = run_op_tensor({"Inverse", {x}, {}, 1, contrib});
  std::vector<double> unit;
  for (int i = 0; i < 18; ++i) unit.push_back(i % 9 % 4 == 0 ? 1 : 0);
  check_close(run_op_tensor({"MatMul", {x, y}}), Tensor::of<double>({2, 3, 3}, unit),
              {1e-10, 1e-10});
  const auto singular = Tensor::of<double>({2, 2}, {1, 2, 2, 4});
  CHECK(std::isnan(run_op_tensor({"Inverse", {singular}, {}, 1, contrib}).item<double>()));
  CHECK_THROWS_AS(run_op({"Inverse", {random_tensor({2, 3}, 1)}, {}, 1, contrib}), Error);
  check_gradient({"Inverse", {Tensor::of<double>({2, 2}, {1.5, 0.3, -0.4, 0.9})}, {}, 1, contrib},
                 {.variants = false});
}
