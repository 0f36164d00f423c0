#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include <ondine/error.h>

#include "graph/contract/catalogue.h"
#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

const std::string domain(graph::ondine_domain);

struct Setting {
  std::int64_t outer, queries, keys, features, values;
  bool transposed = false;
  Shape mask = {};
};

std::vector<Value> operands(const Setting& s) {
  std::vector<Value> in{random_tensor({s.outer, 2, s.queries, s.features}, 1),
                        random_tensor(s.transposed ? Shape{s.outer, 2, s.features, s.keys}
                                                   : Shape{s.outer, 2, s.keys, s.features},
                                      2),
                        random_tensor({s.outer, 2, s.keys, s.values}, 3)};
  if (s.mask.rank() > 0) in.emplace_back(random_tensor(s.mask, 4));
  return in;
}

OpCase op_case(const Setting& s) {
  return {.op = "ScaledAttention",
          .inputs = operands(s),
          .attributes = {{"scale", 0.5F}, {"transK", std::int64_t{s.transposed}}},
          .domain = domain};
}

// Score by score, from the definition.
Tensor expected(const Setting& s) {
  const auto in = operands(s);
  const auto q = as_doubles(in[0].tensor());
  const auto k = as_doubles(in[1].tensor());
  const auto v = as_doubles(in[2].tensor());
  const auto mask = in.size() > 3 ? as_doubles(in[3].tensor()) : std::vector<double>{};
  Tensor y(DType::float64, {s.outer, 2, s.queries, s.values});
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  for (std::int64_t h = 0; h < s.outer * 2; ++h) {
    for (std::int64_t i = 0; i < s.queries; ++i) {
      std::vector<double> weights;
      double sum = 0;
      for (std::int64_t j = 0; j < s.keys; ++j) {
        double score = 0;
        for (std::int64_t f = 0; f < s.features; ++f) {
          score += q[at((h * s.queries + i) * s.features + f)] *
                   k[at(s.transposed ? (h * s.features + f) * s.keys + j
                                     : (h * s.keys + j) * s.features + f)];
        }
        score *= 0.5;
        if (!mask.empty()) {
          const std::int64_t place[] = {h / 2, h % 2, i, j};
          std::int64_t offset = 0;
          for (std::size_t d = 0; d < 4; ++d) {
            offset = offset * s.mask[d] + (s.mask[d] == 1 ? 0 : place[d]);
          }
          score += mask[at(offset)];
        }
        weights.push_back(std::exp(score));
        sum += weights.back();
      }
      for (std::int64_t j = 0; j < s.keys; ++j) {
        for (std::int64_t f = 0; f < s.values; ++f) {
          y.mutable_values<double>()[at((h * s.queries + i) * s.values + f)] +=
              weights[at(j)] / sum * v[at((h * s.keys + j) * s.values + f)];
        }
      }
    }
  }
  return y;
}

}  // namespace

TEST_CASE("ScaledAttention follows its definition, for every kind of mask and in several tiles") {
  for (const Setting& s : {Setting{3, 4, 5, 2, 3},
                           {3, 4, 5, 2, 3, true},
                           {3, 4, 5, 2, 3, true, {3, 2, 4, 5}},
                           {3, 4, 5, 2, 3, false, {1, 1, 4, 5}},
                           {3, 4, 5, 2, 3, false, {3, 1, 1, 5}},
                           {3, 4, 5, 2, 3, false, {1, 2, 4, 1}},
                           {1, 1, 1, 1, 1},
                           {1, 270, 7, 3, 2},
                           {1, 40, 2050, 2, 2, true, {1, 2, 40, 2050}}}) {
    INFO(s.queries << " x " << s.keys << " transposed " << s.transposed << " mask of rank "
                   << s.mask.rank());
    check_close(run_op_tensor(op_case(s)), expected(s));
  }
  const Tensor none = run_op_tensor(op_case({2, 3, 0, 2, 2}));
  check_close(none, Tensor(DType::float64, {2, 2, 3, 2}));
}

TEST_CASE("Derivatives of ScaledAttention") {
  check_gradient(op_case({2, 3, 4, 2, 3}));
  check_gradient(op_case({2, 3, 4, 2, 3, true}));
  check_gradient(op_case({2, 3, 4, 2, 3, false, {2, 1, 3, 4}}));
  for (const Shape& mask :
       {Shape{2, 2, 3, 4}, {1, 1, 3, 4}, {1, 2, 1, 4}, {2, 1, 3, 1}, {3, 4}, {4}, {1, 1, 1, 1}}) {
    CAPTURE(mask.rank());
    check_gradient(op_case({2, 3, 4, 2, 3, true, mask}));
  }
  check_gradient(op_case({1, 270, 5, 2, 2}), {.order = 1, .dynamic_dims = false, .elements = 4});
}

TEST_CASE("ScaledAttentionGrad is what its expansion is") {
  auto in = operands({2, 3, 4, 2, 3, true, {2, 1, 3, 4}});
  in.insert(in.begin(), random_tensor({2, 2, 3, 3}, 9));
  for (const std::size_t outputs : {3, 4}) {
    check_gradient({.op = "ScaledAttentionGrad",
                    .inputs = in,
                    .attributes = {{"scale", 0.5F}, {"transK", std::int64_t{1}}},
                    .outputs = outputs,
                    .domain = domain},
                   {.order = 1, .elements = 6});
  }
}

namespace {

// Attention whose mask hides all keys from the second query of each sample, and y of that query.
OpCase hidden_row(std::int64_t queries, std::int64_t keys, std::int64_t size, DType dtype) {
  OpCase one = op_case({2, queries, keys, size, size, false, {2, 1, queries, keys}});
  Tensor& mask = one.inputs[3].tensor();
  for (std::int64_t i = 0; i < mask.size(); ++i) {
    if (i / keys % queries == 1) {
      mask.mutable_values<double>()[static_cast<std::size_t>(i)] =
          -std::numeric_limits<double>::infinity();
    }
  }
  if (dtype != DType::float64) {
    for (Value& input : one.inputs) {
      input = run_op_tensor({"Cast", {input}, {{"to", static_cast<std::int64_t>(dtype)}}});
    }
  }
  one.attributes.emplace_back("zero_rows", std::int64_t{1});
  return one;
}

}  // namespace

TEST_CASE("a query from which the mask hides all keys gives 0 with zero_rows, otherwise NaN") {
  for (const DType dtype : {DType::float64, DType::float32}) {
    for (const std::int64_t rows : {4, 80}) {
      OpCase one = hidden_row(rows, rows, 3, dtype);
      const auto y = as_doubles(run_op_tensor(one));
      one.attributes.pop_back();
      const auto plain = as_doubles(run_op_tensor(one));
      for (std::size_t i = 0; i < y.size(); ++i) {
        const bool hidden = i / 3 % static_cast<std::size_t>(rows) == 1;
        if (hidden ? y[i] != 0 : y[i] != plain[i]) FAIL("element " << i << " is " << y[i]);
        if (hidden && !std::isnan(plain[i])) FAIL("element " << i << " is " << plain[i]);
      }
    }
  }
}

TEST_CASE("a query without a key has no derivative, nor has what it would see") {
  OpCase one = hidden_row(4, 5, 3, DType::float64);
  one.op = "ScaledAttentionGrad";
  one.inputs.insert(one.inputs.begin(), random_tensor({2, 2, 4, 3}, 9));
  one.outputs = 4;
  const auto parts = run_op(one);
  for (const Value& part : parts) {
    for (const double x : as_doubles(part.tensor())) CHECK(std::isfinite(x));
  }
  const auto dq = as_doubles(parts[0].tensor());
  for (std::size_t i = 0; i < dq.size(); ++i) {
    if (i / 3 % 4 == 1) CHECK(dq[i] == 0);
  }
}

TEST_CASE("ScaledAttentionGrad gives the derivative of no mask that is not there") {
  auto in = operands({2, 3, 4, 2, 3});
  in.insert(in.begin(), random_tensor({2, 2, 3, 3}, 9));
  CHECK_THROWS_AS(
      run_op({.op = "ScaledAttentionGrad", .inputs = in, .outputs = 4, .domain = domain}), Error);
}

namespace {

// N x heads x rows x size as N x rows x heads x size, or back.
Tensor swapped(const Tensor& x) {
  return run_op_tensor({"Transpose", {x}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}}});
}

OpCase interleaved_case(const Setting& s) {
  OpCase one = op_case(s);
  for (std::size_t i = 0; i < 3; ++i) one.inputs[i] = swapped(one.inputs[i].tensor());
  one.attributes = {{"scale", 0.5F}, {"interleaved", std::int64_t{1}}};
  return one;
}

}  // namespace

TEST_CASE("ScaledAttention takes heads that lie beside each other, row by row") {
  for (const Setting& s : {Setting{3, 4, 5, 2, 3},
                           {3, 4, 5, 2, 3, false, {3, 2, 4, 5}},
                           {3, 4, 5, 2, 3, false, {1, 2, 4, 1}},
                           {1, 1, 1, 1, 1},
                           {2, 3, 0, 2, 2},
                           {0, 3, 4, 2, 2},
                           {1, 270, 7, 3, 2},
                           {2, 5, 600, 2, 3},  // copied apart
                           {1, 3, 600, 2, 2, false, {1, 1, 1, 600}}}) {
    INFO(s.queries << " x " << s.keys << " mask of rank " << s.mask.rank());
    check_close(swapped(run_op_tensor(interleaved_case(s))), expected(s));
  }
}

TEST_CASE("derivatives of attention with interleaved heads are those of separate ones") {
  check_gradient(interleaved_case({2, 3, 4, 2, 3}));
  check_gradient(interleaved_case({2, 3, 4, 2, 3, false, {2, 1, 3, 4}}));
  for (const Setting& s : {Setting{2, 3, 4, 2, 3, false, {1, 2, 3, 4}}, {2, 3, 600, 2, 3}}) {
    OpCase apart = op_case(s);
    OpCase beside = interleaved_case(s);
    const Tensor dy = random_tensor({s.outer, 2, s.queries, s.values}, 9);
    apart.inputs.insert(apart.inputs.begin(), dy);
    beside.inputs.insert(beside.inputs.begin(), swapped(dy));
    apart.op = beside.op = "ScaledAttentionGrad";
    apart.outputs = beside.outputs = 3;
    const auto wanted = run_op(apart);
    const auto found = run_op(beside);
    for (std::size_t i = 0; i < 3; ++i) check_close(swapped(found[i].tensor()), wanted[i].tensor());
  }
  OpCase gradient = interleaved_case({2, 3, 4, 2, 3, false, {2, 1, 3, 4}});
  gradient.inputs.insert(gradient.inputs.begin(), random_tensor({2, 3, 2, 3}, 9));
  gradient.op = "ScaledAttentionGrad";
  gradient.outputs = 3;
  check_gradient(gradient, {.order = 1, .elements = 6});
}

TEST_CASE("ScaledAttention rejects what does not fit") {
  const auto throws = [](std::size_t i, Value value) {
    auto one = op_case({2, 3, 4, 2, 3, false, {2, 2, 3, 4}});
    one.inputs[i] = std::move(value);
    CHECK_THROWS_AS(run_op(one), Error);
  };
  throws(0, random_tensor({2, 2, 3, 3}, 1));
  throws(0, random_tensor({2, 3, 2}, 1));
  throws(1, random_tensor({1, 2, 4, 2}, 1));
  throws(2, random_tensor({2, 2, 5, 3}, 1));
  throws(3, random_tensor({2, 2, 2, 4}, 1));
  throws(3, random_tensor({1, 2, 2, 3, 4}, 1));
  OpCase transposed = interleaved_case({2, 3, 4, 2, 3});
  transposed.attributes.emplace_back("transK", std::int64_t{1});
  CHECK_THROWS_AS(run_op(transposed), Error);
  OpCase flat = transposed;
  flat.inputs = {random_tensor({3, 2}, 1), random_tensor({4, 2}, 2), random_tensor({4, 2}, 3)};
  flat.attributes = {{"interleaved", std::int64_t{1}}};
  CHECK_THROWS_AS(run_op(flat), Error);
}

}  // namespace ondine::test
