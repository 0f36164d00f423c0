#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "graph/contract/ops.h"
#include "graph/contract/subgraph_builder.h"
#include "graph/evaluate/graph_runner.h"
#include "tests/kernels/common/numbers.h"

using namespace ondine;
using namespace ondine::test;

namespace {

std::string text(const char* s) { return s; }

// One head of keys; q [steps, d], k [steps, d], v [steps, m], g and beta one number a step.
std::vector<double> recurrence(const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& g,
                               const Tensor& beta, bool gated, bool delta, double scale) {
  const std::int64_t steps = q.shape()[1];
  const std::int64_t d = q.shape()[2];
  const std::int64_t m = v.shape()[2];
  const auto at = [](const Tensor& t, std::int64_t i) {
    return t.values<double>()[static_cast<std::size_t>(i)];
  };
  std::vector<double> s(static_cast<std::size_t>(d * m));
  std::vector<double> y;
  const auto cell = [&](std::int64_t i, std::int64_t j) -> double& {
    return s[static_cast<std::size_t>(i * m + j)];
  };
  for (std::int64_t t = 0; t < steps; ++t) {
    for (double& x : s) x *= gated ? std::exp(at(g, t)) : 1;
    for (std::int64_t j = 0; j < m; ++j) {
      double value = at(v, t * m + j);
      if (delta) {
        double recalled = 0;
        for (std::int64_t i = 0; i < d; ++i) recalled += cell(i, j) * at(k, t * d + i);
        value = at(beta, t) * (value - recalled);
      }
      for (std::int64_t i = 0; i < d; ++i) cell(i, j) += at(k, t * d + i) * value;
      double sum = 0;
      for (std::int64_t i = 0; i < d; ++i) sum += at(q, t * d + i) * cell(i, j);
      y.push_back(scale * sum);
    }
  }
  return y;
}

}  // namespace

TEST_CASE("LinearAttention follows its recurrence under each rule") {
  const Tensor q = random_tensor({1, 5, 3}, 1);
  const Tensor k = random_tensor({1, 5, 3}, 2, -0.7, 0.7);
  const Tensor v = random_tensor({1, 5, 2}, 3);
  const Tensor g = random_tensor({1, 5, 1}, 4, -1, 0);
  const Tensor beta = random_tensor({1, 5, 1}, 5, 0, 1);
  for (const bool gated : {false, true}) {
    for (const bool delta : {false, true}) {
      const std::string rule = delta   ? (gated ? "gated_delta" : "delta")
                               : gated ? "gated"
                                       : "linear";
      INFO(rule);
      const Value decay = gated ? Value(g) : Value();
      const Value rate = delta ? Value(beta) : Value();
      const OpCase op{"LinearAttention",
                      {q, k, v, Value(), decay, rate},
                      {{"q_num_heads", 1L}, {"kv_num_heads", 1L}, {"update_rule", rule}},
                      2};
      const auto got = run_op(op);
      const auto want = recurrence(q, k, v, g, beta, gated, delta, 1 / std::sqrt(3.0));
      check_close(got[0].tensor(), Tensor::of<double>({1, 5, 2}, want));
      CHECK(got[1].tensor().shape() == Shape{1, 1, 3, 2});
      check_gradient(op, {.dynamic_dims = false, .elements = 4});
    }
  }
}

TEST_CASE("LinearAttention continues from a state and shares heads") {
  const Tensor q = random_tensor({2, 4, 8}, 1);
  const Tensor k = random_tensor({2, 4, 4}, 2, -0.5, 0.5);
  const Tensor v = random_tensor({2, 4, 6}, 3);
  const Tensor decay = random_tensor({2, 4, 4}, 4, -1, 0);
  const graph::Attributes attributes{
      {"q_num_heads", 4L}, {"kv_num_heads", 2L}, {"update_rule", text("gated")}};
  const auto whole = run_op({"LinearAttention", {q, k, v, Value(), decay}, attributes, 2});
  CHECK(whole[0].tensor().shape() == Shape{2, 4, 12});
  const auto steps = [](const Tensor& x, std::int64_t first, std::int64_t last) {
    return run_op_tensor(
        {"Slice",
         {x, Tensor::of<std::int64_t>({1}, {first}), Tensor::of<std::int64_t>({1}, {last}),
          Tensor::of<std::int64_t>({1}, {1})}});
  };
  const auto part = [&](std::int64_t first, std::int64_t last, const Value& past) {
    return run_op({"LinearAttention",
                   {steps(q, first, last), steps(k, first, last), steps(v, first, last), past,
                    steps(decay, first, last)},
                   attributes,
                   2});
  };
  const auto one = part(0, 3, Value());
  const auto two = part(3, 4, one[1]);
  check_close(one[0].tensor(), steps(whole[0].tensor(), 0, 3));
  check_close(two[0].tensor(), steps(whole[0].tensor(), 3, 4));
  check_close(two[1].tensor(), whole[1].tensor());
  CHECK_THROWS_AS(run_op({"LinearAttention", {q, k, v}, attributes, 2}), Error);
  CHECK_THROWS_AS(run_op({"LinearAttention", {q, k, v, Value(), v}, attributes, 2}), Error);
  CHECK_THROWS_AS(
      run_op({"LinearAttention", {q, k, v}, {{"q_num_heads", 3L}, {"kv_num_heads", 2L}}, 2}),
      Error);
}

TEST_CASE("SwiGLU gates") {
  const Tensor a = random_tensor({2, 3}, 1);
  const Tensor b = random_tensor({2, 3}, 2);
  for (const float alpha : {1.0F, 0.5F}) {
    const OpCase op{"SwiGLU", {a, b}, {{"alpha", alpha}}};
    check_close(run_op_tensor(op), reference({2, 3}, {a, b}, [&](const std::vector<double>& x) {
                  return x[0] / (1 + std::exp(-static_cast<double>(alpha) * x[0])) * x[1];
                }));
    check_gradient(op);
  }
  for (const DType dtype : float_dtypes) {
    CHECK(run_op_tensor({"SwiGLU", {as_dtype(a, dtype), as_dtype(b, dtype)}}).dtype() == dtype);
  }
  CHECK(run_op_tensor({"SwiGLU", {Tensor(DType::float32, {0}), Tensor(DType::float32, {0})}})
            .shape() == Shape{0});
  CHECK_THROWS_AS(run_op({"SwiGLU", {a, random_tensor({3}, 1)}}), Error);
  CHECK_THROWS_AS(run_op({"SwiGLU", {a, random_tensor({2, 1}, 1)}}), Error);
}

TEST_CASE("CausalConvWithState sees only what came before") {
  const Tensor x = random_tensor({2, 3, 4}, 1);
  const Tensor w = random_tensor({3, 1, 3}, 2);
  const Tensor bias = random_tensor({3}, 3);
  const Tensor past = random_tensor({2, 3, 2}, 4);
  for (const bool silu : {false, true}) {
    const OpCase op{"CausalConvWithState",
                    {x, w, bias, past},
                    {{"activation", text(silu ? "silu" : "none")}},
                    2};
    const auto got = run_op(op);
    const auto y = got[0].tensor().values<double>();
    const auto at = [&](std::int64_t plane, std::int64_t step) {
      const Tensor& from = step < 0 ? past : x;
      const std::int64_t place = step < 0 ? plane * 2 + step + 2 : plane * 4 + step;
      return from.values<double>()[static_cast<std::size_t>(place)];
    };
    for (std::int64_t plane = 0; plane < 6; ++plane) {
      for (std::int64_t t = 0; t < 4; ++t) {
        double sum = bias.values<double>()[static_cast<std::size_t>(plane % 3)];
        for (std::int64_t j = 0; j < 3; ++j) {
          sum += w.values<double>()[static_cast<std::size_t>(plane % 3 * 3 + j)] *
                 at(plane, t + j - 2);
        }
        if (silu) sum /= 1 + std::exp(-sum);
        CHECK(y[static_cast<std::size_t>(plane * 4 + t)] == Approx(sum));
      }
      CHECK(got[1].tensor().item<double>(static_cast<std::size_t>(plane * 2)) == at(plane, 2));
    }
    check_gradient(op, {.dynamic_dims = false, .elements = 8});
  }
  // A state longer than the input keeps some of the past.
  const auto step = run_op(
      {"CausalConvWithState", {random_tensor({1, 1, 1}, 1), random_tensor({1, 1, 4}, 2)}, {}, 2});
  CHECK(as_doubles(step[1].tensor())[0] == 0);
  CHECK(run_op({"CausalConvWithState", {x, random_tensor({3, 1, 1}, 2)}, {}, 2})[1]
            .tensor()
            .shape() == Shape{2, 3, 0});
  CHECK_THROWS_AS(run_op({"CausalConvWithState", {x, random_tensor({2, 1, 3}, 1)}, {}, 2}), Error);
  CHECK_THROWS_AS(run_op({"CausalConvWithState", {x, w}, {{"activation", text("relu")}}, 2}),
                  Error);
}

TEST_CASE("FlexAttention writes its modifiers out") {
  graph::Graph g;
  graph::Builder b(g, catalogue());
  b.set_expand([](const graph::Node& node) { return node.op->bind == nullptr; });
  const auto input = [&](const Shape& shape) {
    g.inputs.push_back(g.add_temporary("x", graph::Type::tensor(DType::float64, shape)));
    return b.value(g.inputs.back());
  };
  const std::vector<graph::Val> x{input({1, 4, 3, 2}), input({1, 2, 5, 2}), input({1, 2, 5, 2})};
  const graph::Val shift = input({});
  const auto modifier = [&](const char* name, auto&& write) {
    graph::SubgraphBuilder body(b);
    const graph::Val in =
        body.add_formal("in", graph::Type::tensor(DType::float64, Shape{1, 4, 3, 5}));
    const graph::Val out = write(body, in);
    return body.finish(name, {&out, 1});
  };
  std::vector<graph::Subgraph> subgraphs;
  subgraphs.push_back(modifier("score_mod", [&](graph::SubgraphBuilder& body, graph::Val in) {
    return in * 2.0 + body.capture(shift) * in;
  }));
  subgraphs.push_back(
      modifier("prob_mod", [](graph::SubgraphBuilder&, graph::Val in) { return in * 0.5; }));
  graph::Node node;
  node.op = catalogue().find("ai.onnx.preview", "FlexAttention");
  REQUIRE(node.op != nullptr);
  node.version = 1;
  for (const graph::Val v : x) node.inputs.push_back(v.id());
  node.subgraphs = std::move(subgraphs);
  node.outputs.push_back(g.add_temporary("y"));
  g.outputs = node.outputs;
  b.append(node);
  const Tensor q = random_tensor({1, 4, 3, 2}, 1);
  const Tensor k = random_tensor({1, 2, 5, 2}, 2);
  const Tensor v = random_tensor({1, 2, 5, 2}, 3);
  const auto got = graph::evaluate(g, std::vector<Value>{q, k, v, Tensor::scalar(1.0)});
  // (2 + 1) times the scores, half of the values.
  Tensor want =
      run_op_tensor({"Attention", {q, k, v}, {{"scale", static_cast<float>(3 / std::sqrt(2.0))}}});
  want = want.clone();
  for (double& y : want.mutable_values<double>()) y *= 0.5;
  check_close(got[0].tensor(), want, {1e-5, 1e-6});
}

TEST_CASE("FlexAttention without modifiers is Attention, its derivative too") {
  const Tensor q = random_tensor({1, 2, 3, 2}, 1);
  const Tensor k = random_tensor({1, 1, 4, 2}, 2);
  const OpCase op{"FlexAttention", {q, k, k}, {}, 1, "ai.onnx.preview", 1};
  check_close(run_op_tensor(op), run_op_tensor({"Attention", {q, k, k}}));
  check_gradient(op, {.elements = 8});
  CHECK_THROWS_AS(
      run_op(
          {"FlexAttention", {q, k, random_tensor({1, 1, 3, 2}, 1)}, {}, 1, "ai.onnx.preview", 1}),
      Error);
  CHECK_THROWS_AS(run_op({"FlexAttention", {k, q, q}, {}, 1, "ai.onnx.preview", 1}), Error);
}

TEST_CASE("NonMaxSuppression keeps the best of boxes that overlap") {
  const auto boxes = Tensor::of<float>(
      {1, 5, 4}, {0, 0, 1, 1, 0, 0.1F, 1, 1.1F, 0, 5, 1, 6, 1, 1.1F, 0, 0.1F, 0, 10, 1, 11});
  const auto scores = Tensor::of<float>({1, 2, 5}, {0.9F, 0.75F, 0.6F, 0.95F, 0.5F,  //
                                                    0.1F, 0.2F, 0.3F, 0.1F, 0.1F});
  const auto most = [](std::int64_t n) { return Tensor::scalar(n); };
  const auto rows = [](const Tensor& y) {
    const auto v = y.values<std::int64_t>();
    return std::vector<std::int64_t>(v.begin(), v.end());
  };
  using Rows = std::vector<std::int64_t>;
  CHECK(rows(run_op_tensor({"NonMaxSuppression",
                            {boxes, scores, most(3), Tensor::scalar(0.5F),
                             Tensor::scalar(0.25F)}})) == Rows{0, 0, 3, 0, 0, 2, 0, 0, 4, 0, 1, 2});
  CHECK(
      rows(run_op_tensor({"NonMaxSuppression", {boxes, scores, most(1), Tensor::scalar(0.5F)}})) ==
      Rows{0, 0, 3, 0, 1, 2});
  // Equal scores: the first box.
  CHECK(rows(run_op_tensor({"NonMaxSuppression",
                            {boxes, Tensor::of<float>({1, 1, 5}, {1, 1, 1, 1, 1}), most(2),
                             Tensor::scalar(1.0F)}})) == Rows{0, 0, 0, 0, 0, 1});
  CHECK(run_op_tensor({"NonMaxSuppression", {boxes, scores}}).shape() == Shape{0, 3});
  const auto centred = Tensor::of<float>({1, 2, 4}, {0.5F, 0.5F, 1, 1, 0.5F, 0.6F, 1, 1});
  CHECK(rows(run_op_tensor(
            {"NonMaxSuppression",
             {centred, Tensor::of<float>({1, 1, 2}, {0.5F, 0.6F}), most(9), Tensor::scalar(0.5F)},
             {{"center_point_box", 1L}}})) == Rows{0, 0, 1});
  CHECK_THROWS_AS(run_op({"NonMaxSuppression", {boxes, scores.reshaped({2, 1, 5})}}), Error);
  CHECK_THROWS_AS(
      run_op({"NonMaxSuppression", {boxes, scores, most(1)}, {{"center_point_box", 2L}}}), Error);
}

TEST_CASE("Sequence operators in every float dtype, over no steps and no samples") {
  const Tensor x = random_tensor({2, 3, 4}, 1, -1, 1);
  const Tensor w = random_tensor({3, 1, 2}, 2);
  const std::vector<OpCase> cases{
      {"LinearAttention",
       {x, x, x},
       {{"q_num_heads", 2L}, {"kv_num_heads", 2L}, {"update_rule", text("linear")}},
       2},
      {"CausalConvWithState", {x, w}, {{"activation", text("silu")}}, 2},
      {"SwiGLU", {x, x}}};
  for (const OpCase& one : cases) {
    for (const DType dtype : float_dtypes) {
      INFO(one.op << " " << to_string(dtype));
      OpCase narrow = one;
      OpCase in_double = one;
      for (std::size_t i = 0; i < one.inputs.size(); ++i) {
        const Tensor rounded = as_dtype(one.inputs[i].tensor(), dtype);
        narrow.inputs[i] = rounded;
        in_double.inputs[i] = Tensor::of<double>(rounded.shape(), as_doubles(rounded));
      }
      const auto got = run_op(narrow);
      const auto want = run_op(in_double);
      const double margin = dtype == DType::bfloat16 ? 0.06 : dtype == DType::float16 ? 6e-3 : 1e-5;
      for (std::size_t k = 0; k < got.size(); ++k) {
        CHECK(got[k].tensor().dtype() == dtype);
        const auto a = as_doubles(got[k].tensor());
        const auto b = as_doubles(want[k].tensor());
        for (std::size_t i = 0; i < a.size(); ++i) CHECK(a[i] == Approx(b[i]).margin(margin));
      }
    }
  }
  for (const Shape& shape : {Shape{2, 0, 4}, Shape{0, 3, 4}}) {
    const Tensor none(DType::float32, shape);
    OpCase attention = cases[0];
    attention.inputs = {none, none, none};
    const auto got = run_op(attention);
    CHECK(got[0].tensor().shape() == shape);
    CHECK(got[1].tensor().shape() == Shape{shape[0], 2, 2, 2});
  }
  const Tensor none(DType::float32, {0, 3, 4});
  CHECK(run_op({"CausalConvWithState", {none, as_dtype(w, DType::float32)}, {}, 2})[0]
            .tensor()
            .shape() == Shape{0, 3, 4});
}
