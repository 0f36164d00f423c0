// NormalizedPointwiseConv and its derivative by the weights against the operators that they stand
// for.
#include <catch2/catch.hpp>

#include "graph/contract/catalogue.h"
#include "kernels/conv/primitives/normalized_pointwise.h"
#include "tests/kernels/common/row_test.h"
#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

const std::string domain(graph::ondine_domain);
using Int64s = std::vector<std::int64_t>;
using Index = std::int64_t;

struct Operands {
  Operands(const Shape& in, Index out, const std::string& name)
      : channels(in[1]),
        x(random_tensor(in, 1)),
        dy(random_tensor({in[0], out, in[2], in[3]}, 2)),
        w(random_tensor({out, in[1], 1, 1}, 3)),
        w_shape(Tensor::of<std::int64_t>({4}, {out, in[1], 1, 1})) {
    if (name == "Relu") {
      activation = {{"relu", std::int64_t{1}}};
    } else if (name == "Clip") {
      activation = {{"low", -0.25F}, {"high", 0.5F}};
    } else {
      activation = {{"activation", name}};
      if (name == "Swish") activation.emplace_back("alpha", 1.25F);
    }
  }

  graph::Attributes attributes(bool train) const {
    graph::Attributes all = activation;
    if (train) all.emplace_back("training_mode", std::int64_t{1});
    all.emplace_back("momentum", 0.75F);
    return all;
  }
  std::vector<Value> normalized(bool train) const {
    return run_op({.op = "BatchNormalizationActivation",
                   .inputs = {x, scale, bias, mean, variance},
                   .attributes = attributes(train),
                   .outputs = train ? 5U : 1U,
                   .domain = domain});
  }
  OpCase forward() const {
    return {.op = "NormalizedPointwiseConv",
            .inputs = {x, scale, bias, mean, variance, w},
            .attributes = attributes(true),
            .outputs = 5,
            .domain = domain};
  }
  OpCase weights() const {
    return {.op = "NormalizedPointwiseConvGradWeight",
            .inputs = {x, scale, bias, mean, variance, dy, w_shape},
            .attributes = attributes(false),
            .outputs = 1,
            .domain = domain};
  }

  graph::Attributes activation;
  Index channels;
  Tensor x, dy, w, w_shape;
  Tensor scale = random_tensor({channels}, 4), bias = random_tensor({channels}, 5);
  Tensor mean = random_tensor({channels}, 6);
  Tensor variance = random_tensor({channels}, 7, 0.5, 2);
};

}  // namespace

TEST_CASE("NormalizedPointwiseConv is what its operators are one after the other") {
  for (const Shape& in : {Shape{2, 3, 1, 1}, Shape{3, 5, 14, 14}, Shape{1, 40, 61, 58}}) {
    for (const std::string activation : {"Clip", "Relu", "HardSwish", "Swish"}) {
      CAPTURE(in[1], in[2], activation);
      const Operands o(in, 7, activation);
      const auto want = o.normalized(true);
      const Tensor y = run_op_tensor({.op = "Conv", .inputs = {want[0].tensor(), o.w}});
      const auto got = run_op(o.forward());
      check_close(got[0].tensor(), y);
      for (std::size_t k = 1; k < 5; ++k) check_close(got[k].tensor(), want[k].tensor());
      OpCase given = o.forward();
      for (const std::size_t k : {3, 4}) given.inputs.push_back(got[k].tensor());
      const auto same = run_op(given);
      for (std::size_t k = 0; k < 5; ++k) CHECK(same[k].tensor().identical(got[k].tensor()));
    }
  }
}

TEST_CASE("NormalizedPointwiseConvGradWeight is what its operators are one after the other") {
  for (const Shape& in : {Shape{2, 3, 1, 1}, Shape{3, 5, 14, 14}, Shape{2, 150, 49, 48}}) {
    for (const std::string activation : {"Clip", "Relu", "HardSwish", "Swish"}) {
      CAPTURE(in[1], in[2], activation);
      const Operands o(in, 7, activation);
      check_close(run_op_tensor(o.weights()),
                  run_op_tensor({.op = "ConvGradWeight",
                                 .inputs = {o.normalized(false)[0].tensor(), o.dy, o.w_shape},
                                 .domain = domain}));
    }
  }
}

TEST_CASE("the derivatives of pointwise convolutions of normalized planes follow their expansion") {
  for (const std::string activation : {"Clip", "Relu", "HardSwish", "Swish"}) {
    const Operands o({2, 3, 2, 3}, 2, activation);
    OpCase one = o.forward();
    one.outputs = 3;
    check_gradient(one, {.variants = false});
    check_gradient(o.weights(), {.variants = false});
  }
}

TEST_CASE("pointwise convolutions of normalized planes reject operands of other sizes") {
  const Operands o({2, 3, 8, 8}, 4, "Relu");
  OpCase wrong = o.forward();
  wrong.inputs[1] = random_tensor({4}, 1);
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("numbers of channels"));
  wrong = o.forward();
  wrong.inputs.emplace_back(random_tensor({3}, 1));
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("given together"));
  wrong.inputs.emplace_back(random_tensor({4}, 1));
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("numbers of channels"));
  wrong = o.forward();
  wrong.inputs[5] = random_tensor({4, 3, 3, 3}, 1);
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("windows of one element"));
  wrong = o.forward();
  wrong.attributes.emplace_back("strides", Int64s{2, 2});
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("windows of one element"));
  wrong = o.weights();
  wrong.inputs[5] = random_tensor({2, 4, 8, 7}, 1);
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("dims of x and dy"));
  wrong = o.weights();
  wrong.inputs[3] = random_tensor({4}, 1);
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("numbers of channels"));
  wrong = o.weights();
  wrong.inputs[0] = random_tensor({2, 3, 8}, 1);
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("not planes"));
}

TEST_CASE("without samples statistics are NaN and the derivative is 0") {
  ThreadPool pool(2);
  const math::NormalizedPointwiseDesc desc{0, 3, 2, 9, {}};
  const math::NormalizedPointwiseConv<float> forward(desc, 2);
  std::vector<float> mean(3, 1), variance(3, 1), dw(6, 1);
  const math::test::Scratch scratch(forward.workspace());
  forward.run(pool, {.batch_mean = mean.data(), .batch_variance = variance.data()}, scratch);
  for (const float v : mean) CHECK(std::isnan(v));
  for (const float v : variance) CHECK(std::isnan(v));
  const math::NormalizedPointwiseWeights<float> weights(desc, 2);
  const math::test::Scratch none(weights.workspace());
  weights.run(pool, {.dw = dw.data()}, none);
  for (const float v : dw) CHECK(v == 0);
}

TEMPLATE_TEST_CASE("pointwise convolutions of normalized planes have the same bits for any threads",
                   "", float, double) {
  using T = TestType;
  for (const auto& [batch, in, out, positions] :
       {std::array<Index, 4>{1, 20, 9, 196}, std::array<Index, 4>{3, 300, 33, 225},
        std::array<Index, 4>{5, 37, 4, 5000}}) {
    CAPTURE(batch, in, out, positions);
    math::test::Numbers numbers(static_cast<std::uint64_t>(in));
    const auto x = numbers.row<T>(batch * in * positions);
    const auto dy = numbers.row<T>(batch * out * positions);
    const auto w = numbers.row<T>(out * in);
    const auto scale = numbers.row<T>(in);
    const auto bias = numbers.row<T>(in);
    math::NormalizedPointwiseDesc desc{batch, in, out, positions, {}};
    desc.norm.epsilon = 0.1;
    desc.norm.low = -0.5;
    desc.norm.high = 0.75;
    const auto at = [](const std::vector<T>& v, Index i) {
      return static_cast<double>(v[static_cast<std::size_t>(i)]);
    };
    // Expected results by definition; dw comes last.
    std::vector<double> wanted(static_cast<std::size_t>(batch * out * positions + out * in));
    double* const dw = wanted.data() + batch * out * positions;
    for (Index c = 0; c < in; ++c) {
      double mean = 0, variance = 0;
      const double count = static_cast<double>(batch * positions);
      const auto for_each = [&](const auto& visit) {
        for (Index n = 0; n < batch; ++n) {
          for (Index p = 0; p < positions; ++p) visit(n, p, at(x, (n * in + c) * positions + p));
        }
      };
      for_each([&](Index, Index, double v) { mean += v / count; });
      for_each([&](Index, Index, double v) { variance += (v - mean) * (v - mean) / count; });
      for_each([&](Index n, Index p, double v) {
        const double z = std::clamp(
            (v - mean) / std::sqrt(variance + 0.1) * at(scale, c) + at(bias, c), -0.5, 0.75);
        for (Index o = 0; o < out; ++o) {
          wanted[static_cast<std::size_t>((n * out + o) * positions + p)] += at(w, o * in + c) * z;
          dw[o * in + c] += at(dy, (n * out + o) * positions + p) * z;
        }
      });
    }
    math::test::check<T>(
        wanted, sizeof(T) == 4 ? 2e-5 : 1e-13,
        [&](ThreadPool& pool, const math::SimdTables& kernels) {
          const math::NormalizedPointwiseConv<T> forward(desc, pool.threads(), kernels);
          const math::NormalizedPointwiseWeights<T> weights(desc, pool.threads(), kernels);
          const math::test::Scratch scratch(forward.workspace()), more(weights.workspace());
          std::vector<T> results(wanted.size()), mean(scale.size()), variance(scale.size());
          forward.run(pool,
                      {.x = x.data(),
                       .scale = scale.data(),
                       .bias = bias.data(),
                       .w = w.data(),
                       .y = results.data(),
                       .batch_mean = mean.data(),
                       .batch_variance = variance.data()},
                      scratch);
          weights.run(pool,
                      {.x = x.data(),
                       .scale = scale.data(),
                       .bias = bias.data(),
                       .mean = mean.data(),
                       .variance = variance.data(),
                       .dy = dy.data(),
                       .dw = results.data() + batch * out * positions},
                      more);
          CHECK(scratch.intact());
          CHECK(more.intact());
          return results;
        });
  }
}

}  // namespace ondine::test
