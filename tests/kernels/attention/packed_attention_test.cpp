// PackedAttention is ScaledAttention of interleaved heads, of parts of one operand.
#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "graph/contract/catalogue.h"
#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

const std::string domain(graph::ondine_domain);

struct Setting {
  Shape operand;  // ..., rows, 3, heads, size
  Shape mask = {};
  bool causal = false;
  DType dtype = DType::float64;
};

Tensor as_dtype(const Tensor& x, DType dtype) {
  return run_op_tensor({"Cast", {x}, {{"to", static_cast<std::int64_t>(dtype)}}});
}

Tensor mask_of(const Setting& s) {
  Tensor mask = random_tensor(s.mask, 2);
  const std::int64_t keys = s.mask.back();
  for (std::int64_t i = 0; s.causal && i < mask.size(); ++i) {
    if (i % keys > i / keys % keys)
      mask.mutable_values<double>()[static_cast<std::size_t>(i)] = -1e9;
  }
  return as_dtype(mask, s.dtype);
}

OpCase packed(const Setting& s) {
  OpCase one{.op = "PackedAttention",
             .inputs = {as_dtype(random_tensor(s.operand, 1), s.dtype)},
             .attributes = {{"scale", 0.5F}},
             .domain = domain};
  if (s.mask.rank() > 0) one.inputs.emplace_back(mask_of(s));
  return one;
}

std::int64_t axis_of(const Tensor& operand) {
  return static_cast<std::int64_t>(operand.shape().rank()) - 3;
}

// Equivalent case on q, k and v that are copied out of the packed operand, input `at`.
OpCase apart(const OpCase& of, std::size_t at = 0) {
  OpCase one = of;
  one.op = at == 0 ? "ScaledAttention" : "ScaledAttentionGrad";
  one.attributes.emplace_back("interleaved", std::int64_t{1});
  const Tensor& operand = of.inputs[at].tensor();
  const Tensor axes = Tensor::of<std::int64_t>({1}, {axis_of(operand)});
  const auto parts = run_op(
      {"Split", {operand}, {{"axis", axis_of(operand)}, {"num_outputs", std::int64_t{3}}}, 3});
  one.inputs.resize(at);
  for (const Value& part : parts) {
    one.inputs.emplace_back(run_op_tensor({"Squeeze", {part, axes}}));
  }
  one.inputs.insert(one.inputs.end(), of.inputs.begin() + static_cast<std::ptrdiff_t>(at) + 1,
                    of.inputs.end());
  return one;
}

OpCase gradient_of(const Setting& s, bool of_mask) {
  OpCase one = packed(s);
  std::vector<std::int64_t> dims(s.operand.span().begin(), s.operand.span().end());
  dims.erase(dims.end() - 3);
  one.inputs.insert(one.inputs.begin(), as_dtype(random_tensor(Shape(dims), 3), s.dtype));
  one.op = "PackedAttentionGrad";
  one.outputs = of_mask ? 2 : 1;
  return one;
}

const Setting settings[] = {{{2, 5, 3, 2, 4}},
                            {{3, 2, 5, 3, 2, 4}},
                            {{5, 3, 1, 4}},
                            {{2, 5, 3, 2, 4}, {2, 1, 5, 5}},
                            {{2, 5, 3, 2, 4}, {2, 5, 1}},
                            {{2, 5, 3, 2, 4}, {5}},
                            {{0, 5, 3, 2, 4}},
                            {{2, 0, 3, 2, 4}},
                            {{1, 270, 3, 2, 3}},
                            {{2, 200, 3, 2, 16}, {200, 200}, true},
                            {{2, 600, 3, 2, 2}},  // copied apart
                            {{1, 600, 3, 2, 2}, {600, 600}, true},
                            {{2, 40, 3, 3, 16}, {}, false, DType::float32},
                            {{2, 70, 3, 2, 8}, {1, 1, 70, 70}, true, DType::float32},
                            {{2, 5, 3, 2, 4}, {5, 5}, false, DType::float16}};

}  // namespace

TEST_CASE("attention of a packed operand is that of its parts") {
  for (const Setting& s : settings) {
    INFO(s.operand.to_string() << " mask " << s.mask.to_string());
    const OpCase one = packed(s);
    check_close(run_op_tensor(one), run_op_tensor(apart(one)));
  }
}

TEST_CASE("the derivative of packed attention is that of its parts") {
  for (const Setting& s : settings) {
    INFO(s.operand.to_string() << " mask " << s.mask.to_string());
    const bool of_mask = s.mask.rank() > 0;
    const OpCase one = gradient_of(s, of_mask);
    OpCase parts = apart(one, 1);
    parts.outputs = of_mask ? 4 : 3;
    const auto found = run_op(one);
    auto wanted = run_op(parts);
    const std::int64_t axis = axis_of(one.inputs[1].tensor());
    const Tensor axes = Tensor::of<std::int64_t>({1}, {axis});
    if (of_mask) check_close(found[1].tensor(), wanted[3].tensor());
    wanted.resize(3);
    for (Value& part : wanted) part = run_op_tensor({"Unsqueeze", {part, axes}});
    check_close(found[0].tensor(), run_op_tensor({"Concat", wanted, {{"axis", axis}}}));
  }
}

TEST_CASE("derivatives of packed attention") {
  check_gradient(packed({{2, 4, 3, 2, 3}}));
  check_gradient(packed({{2, 4, 3, 2, 3}, {2, 1, 4, 4}}));
  check_gradient(packed({{2, 4, 3, 2, 3}, {1, 2, 1, 4}}));
  check_gradient(gradient_of({{2, 4, 3, 2, 3}, {4, 4}}, true), {.order = 1, .elements = 6});
  check_gradient(gradient_of({{2, 4, 3, 2, 3}, {4, 4}}, false), {.order = 1, .elements = 6});
}

TEST_CASE("packed attention refuses operands and masks that do not fit") {
  const auto refused = [](OpCase one) { CHECK_THROWS_AS(run_op(one), Error); };
  refused(packed({{2, 5, 2, 2, 4}}));
  refused(packed({{3, 2, 4}}));
  refused(packed({{2, 5, 3, 2, 4}, {2, 1, 4, 5}}));
  refused(packed({{2, 5, 3, 2, 4}, {1, 1, 2, 5, 5}}));
  OpCase no_mask = gradient_of({{2, 4, 3, 2, 3}}, true);
  refused(no_mask);
  OpCase other = gradient_of({{2, 4, 3, 2, 3}}, false);
  other.inputs[0] = random_tensor({2, 4, 2, 2}, 1);
  refused(other);
}

}  // namespace ondine::test
