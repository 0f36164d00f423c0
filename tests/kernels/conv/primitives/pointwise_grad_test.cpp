// ConvGrads of pointwise convolutions against the operators that it stands for, and its primitive
// against the definition.
#include <catch2/catch.hpp>

#include "graph/contract/catalogue.h"
#include "kernels/conv/primitives/conv_grads.h"
#include "tests/kernels/common/row_test.h"
#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

const std::string domain(graph::ondine_domain);
using Index = std::int64_t;

struct Operands {
  Operands(const Shape& in, Index out)
      : dy(random_tensor({in[0], out, in[2], in[3]}, 1)),
        w(random_tensor({out, in[1], 1, 1}, 2)),
        x(random_tensor(in, 3)),
        w_shape(Tensor::of<std::int64_t>({4}, {out, in[1], 1, 1})),
        x_shape(Tensor::of<std::int64_t>({4}, {in[0], in[1], in[2], in[3]})) {}

  OpCase both() const {
    return {.op = "ConvGrads", .inputs = {dy, x, w}, .outputs = 2, .domain = domain};
  }

  Tensor dy, w, x, w_shape, x_shape;
};

math::ConvGradsDesc desc_of(Index batch, Index in, Index out, Index positions, int threads) {
  return {.shape = {.batch = batch,
                    .in_channels = in,
                    .out_channels = out,
                    .in = {1, 1, positions},
                    .out = {1, 1, positions}},
          .all = true,
          .threads = threads};
}

}  // namespace

TEST_CASE("ConvGrads of pointwise windows is what its operators are one after the other") {
  for (const Shape& in : {Shape{2, 3, 1, 1}, Shape{3, 5, 14, 14}, Shape{1, 20, 61, 58}}) {
    for (const Index out : {4, 70}) {
      CAPTURE(in[1], in[2], out);
      const Operands o(in, out);
      const auto got = run_op(o.both());
      check_close(got[1].tensor(),
                  run_op_tensor(
                      {.op = "ConvGradInput", .inputs = {o.dy, o.w, o.x_shape}, .domain = domain}));
      check_close(got[0].tensor(), run_op_tensor({.op = "ConvGradWeight",
                                                  .inputs = {o.x, o.dy, o.w_shape},
                                                  .domain = domain}));
    }
  }
}

TEST_CASE("the derivatives of ConvGrads of pointwise windows are those of its expansion") {
  check_gradient(Operands({2, 3, 2, 3}, 4).both(), {.variants = false});
}

TEST_CASE("ConvGrads without a normalization rejects what is no pair of pointwise gradients") {
  const Operands o({2, 3, 8, 8}, 4);
  OpCase wrong = o.both();
  wrong.inputs[0] = random_tensor({2, 4, 8, 7}, 1);
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("dy is"));
  wrong = o.both();
  wrong.inputs[2] = random_tensor({4, 2, 1, 1}, 1);
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("channels"));
  wrong = o.both();
  wrong.inputs[2] = random_tensor({4, 3, 3, 3}, 1);
  wrong.attributes = {{"pads", std::vector<std::int64_t>(4, 1)}};
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("windows of one element"));
  wrong = o.both();
  wrong.outputs = 1;
  CHECK_THROWS_WITH(run_op(wrong), Catch::Contains("need a normalization"));
}

TEST_CASE("without samples the derivative by the weights of a pointwise convolution is 0") {
  ThreadPool pool(2);
  const math::ConvGrads<float> primitive(desc_of(0, 3, 2, 9, 2));
  std::vector<float> dw(6, 1);
  const math::test::Scratch scratch(primitive.workspace());
  primitive.run(pool, {.dw = dw.data(), .workspace = scratch});
  for (const float v : dw) CHECK(v == 0);
}

TEMPLATE_TEST_CASE("both derivatives of pointwise convolutions have the same bits for any threads",
                   "", float, double) {
  using T = TestType;
  for (const auto& [batch, in, out, positions] :
       {std::array<Index, 4>{1, 20, 9, 196}, std::array<Index, 4>{3, 33, 300, 225},
        std::array<Index, 4>{5, 4, 37, 5000}}) {
    CAPTURE(batch, in, out, positions);
    math::test::Numbers numbers(static_cast<std::uint64_t>(in));
    const auto dy = numbers.row<T>(batch * out * positions);
    const auto w = numbers.row<T>(out * in);
    const auto x = numbers.row<T>(batch * in * positions);
    std::vector<double> wanted(x.size() + w.size());
    double* const dw = wanted.data() + x.size();
    for (Index n = 0; n < batch; ++n) {
      for (Index o = 0; o < out; ++o) {
        for (Index c = 0; c < in; ++c) {
          for (Index p = 0; p < positions; ++p) {
            const auto from_x = static_cast<std::size_t>((n * in + c) * positions + p);
            const double d =
                static_cast<double>(dy[static_cast<std::size_t>((n * out + o) * positions + p)]);
            wanted[from_x] += d * static_cast<double>(w[static_cast<std::size_t>(o * in + c)]);
            dw[o * in + c] += d * static_cast<double>(x[from_x]);
          }
        }
      }
    }
    math::test::check<T>(wanted, sizeof(T) == 4 ? 2e-5 : 1e-13,
                         [&](ThreadPool& pool, const math::SimdTables& kernels) {
                           const math::ConvGrads<T> primitive(
                               desc_of(batch, in, out, positions, pool.threads()), kernels);
                           CHECK(primitive.name() == "pointwise");
                           const math::test::Scratch scratch(primitive.workspace());
                           std::vector<T> results(wanted.size());
                           primitive.run(pool, {.dy = dy.data(),
                                                .x = x.data(),
                                                .w = w.data(),
                                                .dw = results.data() + x.size(),
                                                .dx = results.data(),
                                                .workspace = scratch});
                           CHECK(scratch.intact());
                           return results;
                         });
  }
}

}  // namespace ondine::test
