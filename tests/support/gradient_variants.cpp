#include "tests/support/gradient_variants.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include <catch2/catch.hpp>

#include <ondine/error.h>

#include "autodiff/backward.h"
#include "graph/contract/ops.h"
#include "tests/support/tensors.h"

namespace ondine::test {

using namespace graph;  // NOLINT

namespace {

bool is_double(const Value& value) {
  return value.is_tensor() && value.tensor().dtype() == DType::float64;
}

Tensor convert(const Tensor& tensor, DType dtype) {
  return run_op_tensor(
      {.op = "Cast", .inputs = {tensor}, .attributes = {{"to", static_cast<std::int64_t>(dtype)}}});
}

// The first `size` positions on an axis.
Tensor cut(const Tensor& tensor, std::size_t axis, std::int64_t size) {
  return run_op_tensor(
      {.op = "Slice",
       .inputs = {tensor, int64s({0}), int64s({size}), int64s({static_cast<std::int64_t>(axis)})}});
}

template <class Choose>
std::vector<Value> cut_where(std::vector<Value> inputs, std::int64_t size, Choose&& choose) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].is_tensor() || inputs[i].tensor().dtype() == DType::string) continue;
    for (std::size_t axis = 0; axis < inputs[i].tensor().shape().rank(); ++axis) {
      if (choose(i, axis)) inputs[i] = cut(inputs[i].tensor(), axis, size);
    }
  }
  return inputs;
}

bool runs(const Expression& expression, const std::vector<Value>& inputs) {
  try {
    const GradientSetup setup(expression, inputs, {}, false);
    if (setup.xs.empty() || setup.ys.empty()) return false;
    for (const Tensor& y : setup.evaluate(setup.ys)) {
      for (const double v : y.values<double>()) {
        if (!std::isfinite(v)) return false;
      }
    }
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

std::vector<std::pair<std::string, std::vector<Value>>> dim_variants(
    const Expression& expression, const std::vector<Value>& inputs) {
  std::vector<std::pair<std::string, std::vector<Value>>> result;
  const auto size_of = [&](std::size_t i, std::size_t axis) {
    return inputs[i].tensor().shape()[axis];
  };
  std::set<std::int64_t> sizes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_double(inputs[i])) continue;
    for (std::size_t axis = 0; axis < inputs[i].tensor().shape().rank(); ++axis) {
      if (size_of(i, axis) > 1) sizes.insert(size_of(i, axis));
      if (size_of(i, axis) < 2 || inputs.size() < 2) continue;
      auto one =
          cut_where(inputs, 1, [&](std::size_t j, std::size_t a) { return j == i && a == axis; });
      if (runs(expression, one)) {
        result.emplace_back(
            "size 1 on axis " + std::to_string(axis) + " of input " + std::to_string(i),
            std::move(one));
      }
    }
  }
  for (const std::int64_t from : sizes) {
    for (const std::int64_t to : {0, 1}) {
      auto all = cut_where(
          inputs, to, [&](std::size_t i, std::size_t axis) { return size_of(i, axis) == from; });
      if (!runs(expression, all)) {
        all = cut_where(inputs, to, [&](std::size_t i, std::size_t axis) {
          return is_double(inputs[i]) && size_of(i, axis) == from;
        });
        if (!runs(expression, all)) continue;
      }
      result.emplace_back("dims " + std::to_string(to) + " instead of " + std::to_string(from),
                          std::move(all));
    }
  }
  return result;
}

namespace {

std::vector<Tensor> derivatives(GradientSetup& setup, DType dtype) {
  const auto values = setup.evaluate(setup.ys);
  std::vector<Val> dys;
  for (std::size_t k = 0; k < values.size(); ++k) {
    // Float32 numbers in both cases.
    const Tensor weight = convert(random_tensor(values[k].shape(), k, 0.5, 1.5), DType::float32);
    dys.push_back(setup.add_input(convert(weight, dtype), false));
  }
  return setup.evaluate_derivatives(autodiff::backward(setup.builder, setup.ys, dys, setup.xs));
}

}  // namespace

void compare_with_floats(const Expression& expression, const std::vector<Value>& inputs,
                         const std::vector<std::size_t>& skip, const GradientSetup& like) {
  std::vector<Value> floats = inputs;
  std::vector<Value> doubles = inputs;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!is_double(inputs[i])) continue;
    floats[i] = convert(inputs[i].tensor(), DType::float32);
    doubles[i] = convert(floats[i].tensor(), DType::float64);
  }
  std::unique_ptr<GradientSetup> narrow;
  try {
    narrow = std::make_unique<GradientSetup>(expression, floats, skip, false, DType::float32);
  } catch (const Error&) {
    return;  // it is for double only
  }
  if (narrow->ys.size() != like.ys.size() || narrow->xs.size() != like.xs.size()) return;
  GradientSetup in_double(expression, doubles, skip, false);
  INFO("in float32");
  const auto got = derivatives(*narrow, DType::float32);
  const auto want = derivatives(in_double, DType::float64);
  for (std::size_t i = 0; i < want.size(); ++i) {
    const auto w = want[i].values<double>();
    double scale = 0.1;
    for (const double v : w) scale = std::max(scale, std::abs(v));
    const double bound = 1e-5 * scale;
    for (std::size_t e = 0; e < w.size(); ++e) {
      const auto g = static_cast<double>(got[i].values<float>()[e]);
      INFO("input " << i << " element " << e << " float " << g << " double " << w[e]);
      REQUIRE((std::isnan(w[e]) ? std::isnan(g) : std::abs(g - w[e]) <= bound));
    }
  }
}

}  // namespace ondine::test
