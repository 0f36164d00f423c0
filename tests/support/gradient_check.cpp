#include <algorithm>
#include <cmath>

#include <catch2/catch.hpp>

#include "autodiff/backward.h"
#include "graph/contract/ops.h"
#include "graph/evaluate/graph_runner.h"
#include "tests/support/op_harness.h"

namespace ondine::test {

using namespace graph;  // NOLINT

namespace {

// A graph under construction with the value fed to each of its inputs.
struct Setup {
  Graph graph;
  std::vector<Value> fed;
  std::vector<ValueId> xs;  // the double inputs
};

Type input_type(const Value& value, bool open) {
  Type type = type_of(value);
  if (open && type.dims) type.dims->assign(type.dims->size(), Dim());
  return type;
}

Val add_input(Setup& setup, Builder& builder, const Value& value, bool open) {
  setup.graph.inputs.push_back(setup.graph.add_temporary("x", input_type(value, open)));
  setup.fed.push_back(value);
  return builder.value(setup.graph.inputs.back());
}

std::vector<Value> run(const Setup& setup, const Builder& builder) {
  Graph runnable = setup.graph;
  runnable.nodes.clear();
  Builder expander(runnable, builder.catalogue());
  expander.set_expand([](const Node& node) { return node.op->bind == nullptr; });
  for (const Node& node : setup.graph.nodes) expander.append(node);
  return evaluate(runnable, setup.fed);
}

double weighted_sum(const std::vector<Value>& ys, const std::vector<Tensor>& weights) {
  double sum = 0;
  for (std::size_t k = 0; k < ys.size(); ++k) {
    const auto y = ys[k].tensor().values<double>();
    const auto w = weights[k].values<double>();
    for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * w[i];
  }
  return sum;
}

// d/dx_i of sum_k <w_k, y_k> for one element of input `x`, by central differences.
double numeric(Setup setup, const Builder& builder, std::size_t x, std::size_t element,
               const std::vector<Tensor>& weights, double relative_step) {
  Tensor point = setup.fed[x].tensor().clone();
  auto values = point.mutable_values<double>();
  const double at = values[element];
  const double step = relative_step * std::max(1.0, std::abs(at));
  setup.fed[x] = point;
  values[element] = at + step;
  const double above = weighted_sum(run(setup, builder), weights);
  values[element] = at - step;
  const double below = weighted_sum(run(setup, builder), weights);
  return (above - below) / (2 * step);
}

class Checker {
 public:
  Checker(const OpCase& op_case, const GradientCheck& check, bool open)
      : check_(check), builder_(setup_.graph, catalogue()) {
    builder_.set_expand(
        [](const Node& node) { return node.op->grad == nullptr && node.op->expand != nullptr; });
    std::vector<Val> inputs;
    for (std::size_t i = 0; i < op_case.inputs.size(); ++i) {
      const Value& value = op_case.inputs[i];
      if (value.kind() == Value::Kind::none) {
        inputs.emplace_back();
        continue;
      }
      const bool number = value.is_tensor() && value.tensor().dtype() == DType::float64;
      if (value.is_tensor() && !number && !open) {
        inputs.push_back(builder_.constant(value.tensor()));
        continue;
      }
      inputs.push_back(add_input(setup_, builder_, value, open));
      const bool skipped = std::find(check.skip.begin(), check.skip.end(), i) != check.skip.end();
      if (number && !skipped) xs_.push_back(inputs.back());
    }
    const auto outputs = builder_.nodes(op_case.op, inputs, op_case.attributes, op_case.outputs,
                                        op_case.domain, op_case.version);
    for (const Val y : outputs) {
      if (y.type().is_tensor() && y.dtype() == DType::float64) ys_.push_back(y);
    }
    // An operator that gives floats whatever it gets: compare with wide steps and bounds.
    if (ys_.empty() && outputs[0].type().is_tensor() && outputs[0].dtype() == DType::float32) {
      ys_.push_back(cast(outputs[0], DType::float64));
    }
  }

  void run_orders() {
    REQUIRE(!xs_.empty());
    REQUIRE(!ys_.empty());
    for (int order = 1; order <= check_.order && !ys_.empty(); ++order) {
      INFO("derivative of order " << order);
      check_once(order);
    }
  }

 private:
  void check_once(int order) {
    set_outputs(ys_);
    const auto values = test::run(setup_, builder_);
    std::vector<Tensor> weights;
    std::vector<Val> dys;
    for (std::size_t k = 0; k < ys_.size(); ++k) {
      weights.push_back(random_tensor(values[k].tensor().shape(),
                                      static_cast<std::uint64_t>(order) * 100 + k, 0.5, 1.5));
    }
    const Setup forward = setup_;
    for (const Tensor& weight : weights) dys.push_back(add_input(setup_, builder_, weight, false));
    const Graph before = setup_.graph;
    const auto derivatives = autodiff::backward(builder_, ys_, dys, xs_);
    const auto analytic = evaluate_all(derivatives);
    compare(forward, weights, analytic);
    if (order == 1) check_subsets(before, dys, analytic);
    ys_.clear();
    for (const Val d : derivatives) {
      if (d) ys_.push_back(d);
    }
  }

  void set_outputs(const std::vector<Val>& outputs) {
    setup_.graph.outputs.clear();
    for (const Val output : outputs) {
      if (output) setup_.graph.outputs.push_back(output.id());
    }
  }

  // Zeros where there is no dependence.
  std::vector<Tensor> evaluate_all(const std::vector<Val>& derivatives) {
    set_outputs(derivatives);
    const auto values = test::run(setup_, builder_);
    std::vector<Tensor> result;
    std::size_t next = 0;
    for (std::size_t i = 0; i < derivatives.size(); ++i) {
      const Tensor& x = fed(xs_[i]);
      result.push_back(derivatives[i] ? values[next++].tensor() : Tensor(x.dtype(), x.shape()));
      CHECK(result.back().shape().to_string() == x.shape().to_string());
    }
    return result;
  }

  std::size_t position(Val x) const {
    const auto& inputs = setup_.graph.inputs;
    return static_cast<std::size_t>(std::find(inputs.begin(), inputs.end(), x.id()) -
                                    inputs.begin());
  }
  const Tensor& fed(Val x) const { return setup_.fed[position(x)].tensor(); }

  void compare(const Setup& forward, const std::vector<Tensor>& weights,
               const std::vector<Tensor>& analytic) {
    for (std::size_t i = 0; i < xs_.size(); ++i) {
      const auto got = analytic[i].values<double>();
      const std::size_t stride = std::max<std::size_t>(1, got.size() / check_.elements);
      for (std::size_t e = 0; e < got.size(); e += stride) {
        const double want = numeric(forward, builder_, position(xs_[i]), e, weights, check_.step);
        const double bound =
            check_.closeness.atol + check_.closeness.rtol * std::max(std::abs(want), 1.0);
        INFO("input " << i << " element " << e << " analytic " << got[e] << " numeric " << want);
        REQUIRE(std::abs(got[e] - want) <= bound);
      }
    }
  }

  // Asking for some derivatives only gives the same ones.
  void check_subsets(const Graph& before, const std::vector<Val>& dys,
                     const std::vector<Tensor>& all) {
    const std::vector<Val> xs = xs_;
    const Graph after = setup_.graph;
    for (unsigned subset = 1; xs.size() <= 4 && subset + 1 < 1U << xs.size(); ++subset) {
      setup_.graph = before;
      xs_.clear();
      std::vector<Tensor> want;
      for (std::size_t i = 0; i < xs.size(); ++i) {
        if ((subset >> i & 1U) == 0) continue;
        xs_.push_back(xs[i]);
        want.push_back(all[i]);
      }
      const auto got = evaluate_all(autodiff::backward(builder_, ys_, dys, xs_));
      for (std::size_t i = 0; i < got.size(); ++i) check_close(got[i], want[i], {1e-12, 1e-12});
    }
    xs_ = xs;
    setup_.graph = after;
  }

  GradientCheck check_;
  Setup setup_;
  Builder builder_;
  std::vector<Val> xs_;
  std::vector<Val> ys_;
};

}  // namespace

void check_gradient(const OpCase& op_case, const GradientCheck& check) {
  INFO("gradient of " << op_case.op);
  Checker(op_case, check, false).run_orders();
  if (check.open_dims) {
    INFO("with open extents");
    Checker(op_case, check, true).run_orders();
  }
}

}  // namespace ondine::test
