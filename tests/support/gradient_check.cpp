#include "tests/support/gradient_check.h"

#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "autodiff/backward.h"
#include "graph/contract/ops.h"
#include "tests/support/gradient_variants.h"

namespace ondine::test {

using namespace graph;  // NOLINT

CheckedGradients& checked_gradients() {
  static CheckedGradients all;
  return all;
}

namespace {

class Checker {
 public:
  Checker(const Expression& expression, const std::vector<Value>& inputs,
          const GradientCheck& check, bool dynamic)
      : check_(check), setup_(expression, inputs, check.skip, dynamic) {
    dynamic_ = dynamic;
  }

  void run_orders(int orders) {
    REQUIRE(!setup_.xs.empty());
    REQUIRE(!setup_.ys.empty());
    for (int order = 1; order <= orders && !setup_.ys.empty(); ++order) {
      INFO("derivative of order " << order);
      check_once(order);
    }
  }

  void compare_floats(const Expression& expression, const std::vector<Value>& inputs) {
    compare_with_floats(expression, inputs, check_.skip, setup_);
  }

 private:
  void check_once(int order) {
    const auto values = setup_.evaluate(setup_.ys);
    std::vector<Tensor> weights;
    std::vector<Val> dys;
    for (std::size_t k = 0; k < setup_.ys.size(); ++k) {
      weights.push_back(
          random_tensor(values[k].shape(), static_cast<std::uint64_t>(order) * 100 + k, 0.5, 1.5));
    }
    const GradientSetup forward = setup_.forward();
    for (const Tensor& weight : weights) dys.push_back(setup_.add_input(weight, false));
    const Graph before = setup_.graph;
    const auto derivatives = autodiff::backward(setup_.builder, setup_.ys, dys, setup_.xs);
    const auto analytic = setup_.evaluate_derivatives(derivatives);
    const double error = compare(forward, weights, analytic);
    if (!dynamic_) setup_.record(order, error, before);
    if (order == 1) {
      check_subsets(before, dys, analytic);
      // The derivative of what computes the first one, also where that is linear in x.
      setup_.xs.insert(setup_.xs.end(), dys.begin(), dys.end());
    }
    setup_.ys.clear();
    for (const Val d : derivatives) {
      if (d) setup_.ys.push_back(d);
    }
  }

  double compare(const GradientSetup& forward, const std::vector<Tensor>& weights,
                 const std::vector<Tensor>& analytic) {
    double worst = 0;
    for (std::size_t i = 0; i < setup_.xs.size(); ++i) {
      const auto got = analytic[i].values<double>();
      const std::size_t stride = std::max<std::size_t>(1, got.size() / check_.elements);
      for (std::size_t e = 0; e < got.size(); e += stride) {
        const double want = forward.numeric(i, e, weights, check_.step);
        if (std::isnan(want) && std::isnan(got[e])) continue;
        const double error = std::abs(got[e] - want);
        INFO("input " << i << " element " << e << " analytic " << got[e] << " numeric " << want);
        REQUIRE(error <= check_.closeness.atol + check_.closeness.rtol * std::abs(want));
        worst = std::max(worst, error / std::max(std::abs(want), 1.0));
      }
    }
    return worst;
  }

  // Asking for some derivatives only gives the same ones.
  void check_subsets(const Graph& before, const std::vector<Val>& dys,
                     const std::vector<Tensor>& all) {
    const std::vector<Val> xs = setup_.xs;
    const Graph after = setup_.graph;
    for (const auto& subset : subsets(xs.size())) {
      setup_.graph = before;
      setup_.xs.clear();
      for (const std::size_t i : subset) setup_.xs.push_back(xs[i]);
      const auto got = setup_.evaluate_derivatives(
          autodiff::backward(setup_.builder, setup_.ys, dys, setup_.xs));
      for (std::size_t i = 0; i < got.size(); ++i) {
        check_close(got[i], all[subset[i]], {1e-12, 1e-12});
      }
    }
    setup_.xs = xs;
    setup_.graph = after;
  }

  // Every proper subset of up to eight, one alone and all but one of more.
  static std::vector<std::vector<std::size_t>> subsets(std::size_t n) {
    std::vector<std::vector<std::size_t>> result;
    const std::uint64_t all = n < 64 ? (std::uint64_t{1} << n) - 1 : 0;
    const auto add = [&](std::uint64_t bits) {
      auto& subset = result.emplace_back();
      for (std::size_t i = 0; i < n; ++i) {
        if ((bits >> i & 1U) != 0) subset.push_back(i);
      }
    };
    if (n <= 8) {
      for (std::uint64_t bits = 1; bits < all; ++bits) add(bits);
      return result;
    }
    for (std::size_t i = 0; i < n; ++i) {
      add(std::uint64_t{1} << i);
      add(all ^ (std::uint64_t{1} << i));
    }
    return result;
  }

  GradientCheck check_;
  GradientSetup setup_;
  bool dynamic_ = false;
};

}  // namespace

void check_gradient(const Expression& expression, const std::vector<Value>& inputs,
                    const GradientCheck& check) {
  {
    Checker known(expression, inputs, check, false);
    if (check.floats) known.compare_floats(expression, inputs);
    known.run_orders(check.order);
  }
  if (check.dynamic_dims) {
    INFO("with dynamic dims");
    Checker(expression, inputs, check, true).run_orders(check.order);
  }
  if (!check.variants) return;
  GradientCheck brief = check;
  brief.elements = 3;
  for (const auto& [what, variant] : dim_variants(expression, inputs)) {
    INFO(what);
    Checker(expression, variant, brief, false).run_orders(1);
  }
}

void check_gradient(const OpCase& op_case, const GradientCheck& check) {
  INFO("gradient of " << op_case.op);
  check_gradient(
      [&](Builder& b, std::span<const Val> inputs) {
        return b.nodes(op_case.op, inputs, op_case.attributes, op_case.outputs, op_case.domain,
                       op_case.version);
      },
      op_case.inputs, check);
}

}  // namespace ondine::test
