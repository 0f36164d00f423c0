// GemmAdam: Adam by a gradient that is computed strip by strip.
#include <array>
#include <cstring>

#include <catch2/catch.hpp>

#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

constexpr const char* own = "ai.ondine";
const graph::Attributes adam{{"alpha", 0.8F}, {"beta", 0.9F}, {"norm_coefficient", 0.1F}};

struct Step {
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t terms = 0;
  bool trans_a = false;
  bool lookup = false;
  bool decays = false;

  Value rate = Tensor::scalar(0.3F);
  Value count = Tensor::scalar(std::int64_t{3});
  Value x = random_floats({rows, cols}, 1);
  Value v = random_floats({rows, cols}, 2);
  Value h = random_floats({rows, cols}, 3, 0, 1);
  Value a = random_floats(trans_a ? Shape{terms, rows} : Shape{rows, terms}, 4);
  Value b = random_floats({terms, cols}, 5);
  Value dy = random_floats({4, cols}, 6);
  Value indices = Tensor::of<std::int64_t>({4}, {rows - 1, 0, -1, rows / 2});

  Value decay = Tensor::scalar(0.01F);

  graph::Attributes product() const { return {{"transA", std::int64_t{trans_a}}}; }

  std::vector<Value> fused() const {
    std::vector<Value> inputs{rate, count, x, v, h, a, b};
    if (lookup) inputs.insert(inputs.end(), {dy, indices});
    if (decays) {
      inputs.resize(9);
      inputs.push_back(decay);
    }
    graph::Attributes attributes = adam;
    attributes.emplace_back("transA", std::int64_t{trans_a});
    return run_op({.op = "GemmAdam",
                   .inputs = inputs,
                   .attributes = attributes,
                   .outputs = 3,
                   .domain = own});
  }
  std::vector<Value> separate() const {
    Value g = run_op({.op = "Gemm", .inputs = {a, b}, .attributes = product()})[0];
    if (lookup) {
      const Value shape = Tensor::of<std::int64_t>({2}, {rows, cols});
      g = run_op({.op = "GatherGrad", .inputs = {dy, indices, shape, g}, .domain = own})[0];
    }
    auto results = run_op({.op = "Adam",
                           .inputs = {rate, count, x, g, v, h},
                           .attributes = adam,
                           .outputs = 3,
                           .domain = "ai.onnx.preview.training",
                           .version = 1});
    if (decays) {
      results[0] = run_op({.op = "SgdUpdate", .inputs = {results[0], x, decay}, .domain = own})[0];
    }
    return results;
  }
};

void check_same_bits(const Step& step) {
  CAPTURE(step.rows, step.cols, step.terms, step.trans_a, step.lookup);
  const auto got = step.fused();
  const auto want = step.separate();
  for (std::size_t k = 0; k < 3; ++k) {
    const Tensor& one = got[k].tensor();
    REQUIRE(one.bytes() == want[k].tensor().bytes());
    CHECK(std::memcmp(one.data(), want[k].tensor().data(), one.bytes()) == 0);
  }
}

}  // namespace

TEST_CASE("GemmAdam has the bits of a product, a lookup's derivative and Adam, in any strips") {
  // One strip, one for each thread, and several, the last of which has fewer rows.
  for (const std::int64_t rows : {std::int64_t{5}, std::int64_t{700}, std::int64_t{2690},
                                  std::int64_t{10850}, std::int64_t{16200}}) {
    for (const bool trans_a : {false, true}) {
      for (const bool lookup : {false, true}) {
        check_same_bits(
            {.rows = rows, .cols = 192, .terms = 37, .trans_a = trans_a, .lookup = lookup});
      }
    }
  }
  // Strips of 48 rows would leave one of a single row.
  check_same_bits({.rows = 97, .cols = 30000, .terms = 20, .trans_a = true, .lookup = true});
}

TEST_CASE("GemmAdam takes the decay off as SgdUpdate does, with the same bits") {
  for (const bool lookup : {false, true}) {
    check_same_bits({.rows = 2690, .cols = 192, .terms = 37, .lookup = lookup, .decays = true});
  }
  Step refused{.rows = 5, .cols = 4, .terms = 3, .decays = true};
  refused.decay = random_floats({2}, 1);
  CHECK_THROWS_WITH(refused.fused(), Catch::Contains("the decay is"));
}

TEST_CASE("the derivatives of GemmAdam are those of its expansion") {
  const Value count = Tensor::scalar(std::int64_t{2});
  std::vector<Value> inputs{random_tensor({}, 1), count, random_tensor({3, 4}, 2),
                            random_tensor({3, 4}, 3), random_tensor({3, 4}, 4, 0.5, 1.5)};
  inputs.insert(inputs.end(),
                {random_tensor({3, 2}, 5), random_tensor({2, 4}, 6), random_tensor({2, 4}, 7),
                 Tensor::of<std::int64_t>({2}, {2, 0}), random_tensor({}, 8)});
  check_gradient({.op = "GemmAdam", .inputs = inputs, .outputs = 3, .domain = own},
                 {.variants = false, .floats = false});
}

}  // namespace ondine::test
