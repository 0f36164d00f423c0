// loop_gradient.cpp — back-propagation through time. The loop runs again and records the inputs of
// each iteration in sequences; a second loop runs backwards, recomputes the body with the same
// random numbers and differentiates it.
//   carried:   d(carried before i) = J_i' (d(carried after i), d(scanned i))
//   captured:  the sum over all iterations
#include "kernels/control/loop.h"

#include <algorithm>

#include "kernels/common/op.h"
#include "kernels/control/loop_body.h"

namespace ondine::kernels::ops {
namespace {

class LoopGradient {
 public:
  explicit LoopGradient(GradContext& g)
      : g_(g),
        body_(g.node().subgraphs[0]),
        carried_(g.input_count() < 2 ? 0 : g.input_count() - 2),
        first_capture_(g.first_capture(0)) {}

  std::vector<Val> run() {
    record();
    return walk_back();
  }

 private:
  Builder& b() { return g_.builder(); }

  static bool differentiable(const Type& type) {
    if (type.is_tensor()) return is_differentiable(type.dtype);
    return type.element && differentiable(*type.element);
  }

  // The part of a recorded or scanned value that belongs to one iteration.
  static Val part(Val all, Val at) {
    if (all.type().kind != TypeKind::sequence) return gather(all, at, 0);
    return all.builder().node("SequenceAt", {all, at});
  }

  std::vector<Val> loop(std::span<const Val> inputs, Subgraph body, std::size_t outputs,
                        std::size_t collect_from, bool countdown) {
    const auto results = control_node(b(), "Loop", inputs, {std::move(body)}, outputs,
                                      {{"collect_from", static_cast<std::int64_t>(collect_from)},
                                       {"countdown", std::int64_t{countdown}}});
    b().graph().nodes.back().stream = g_.node().stream;
    return results;
  }

  bool countdown() const { return g_.attr_int("countdown", 0) != 0; }

  // The loop again, with the iteration number as a scan output and every carried value before each
  // iteration collected.
  void record() {
    SubgraphBuilder body(b(), body_);
    auto outputs = body.outputs();
    outputs.resize(1 + carried_);
    for (std::size_t i = 0; i < carried_ + 1; ++i) {
      const Val formal = body.formal(i == 0 ? 0 : i + 1);
      outputs.push_back(body.builder().node("Identity", {formal}));
    }
    std::vector<Val> inputs;
    for (std::size_t i = 0; i < g_.input_count(); ++i) inputs.push_back(g_.x(i));
    const auto results =
        loop(inputs, body.finish("body", outputs), 2 * carried_ + 1, carried_ + 1, countdown());
    iterations_ = results[carried_];
    recorded_.assign(results.begin() + static_cast<std::ptrdiff_t>(carried_) + 1, results.end());
  }

  std::vector<Val> walk_back() {
    LoopBody back(b(), body_);
    Builder& inner = back.builder();
    const auto ys = back.outputs();
    // The body's inputs are the recorded ones of iteration T - 1 - i.
    const Val last = back.capture(size_of(iterations_)) - inner.int64(1);
    const Val at = last - back.iteration;
    inner.alias(at, back.inputs[0]);
    inner.graph()[back.inputs[1]].constant = Tensor::scalar(true);
    for (std::size_t i = 0; i < carried_; ++i) {
      inner.alias(part(back.capture(recorded_[i]), at), back.inputs[i + 2]);
    }
    back.append_nodes();

    Terms terms;
    add_carried(terms, back, ys);
    for (std::size_t k = carried_; k < g_.output_count(); ++k) {
      if (!g_.dy(k)) continue;
      terms.ys.push_back(ys[k + 1]);
      terms.dys.push_back(part(back.capture(g_.dy(k)), at));
    }
    const std::size_t states = terms.xs.size();
    add_captured(terms, back);
    const auto derivatives = g_.differentiate()(inner, terms.ys, terms.dys, terms.xs);
    std::vector<Val> outputs{inner.node("Identity", {back.condition})};
    for (std::size_t i = 0; i < terms.xs.size(); ++i) {
      if (i < states) {
        outputs.push_back(derivatives[i] ? derivatives[i] : zeros_like(terms.xs[i]));
      } else {
        outputs.push_back(derivatives[i] ? terms.sums[i] + derivatives[i]
                                         : inner.node("Identity", {terms.sums[i]}));
      }
    }
    std::vector<Val> inputs{size_of(iterations_), Val()};
    inputs.insert(inputs.end(), terms.starts.begin(), terms.starts.end());
    const auto results = loop(inputs, back.finish("body", outputs), terms.starts.size(),
                              terms.starts.size(), !countdown());
    std::vector<Val> dx(g_.node().all_inputs().size());
    for (std::size_t i = 0; i < results.size(); ++i) dx[terms.positions[i]] = results[i];
    return dx;
  }

  // Values that the backward loop carries, and those of which they are the derivatives.
  struct Terms {
    std::vector<Val> xs;                 // the values by which the body is differentiated
    std::vector<Val> starts;             // the initial values of their derivatives
    std::vector<Val> sums;               // the formal inputs that carry their derivatives
    std::vector<std::size_t> positions;  // the inputs of the node that they belong to
    std::vector<Val> ys, dys;            // outputs of the body and their derivatives
  };

  void add_carried(Terms& terms, LoopBody& back, std::span<const Val> ys) {
    for (std::size_t i = 0; i < carried_; ++i) {
      const Val x = back.builder().value(back.inputs[i + 2]);
      if (!differentiable(x.type())) continue;
      if (x.type().kind != ys[i + 1].type().kind) {
        fail(ErrorCode::unsupported,
             "operator Loop has no derivative when its body fills an optional");
      }
      const Val start = g_.dy(i) ? g_.dy(i) : zeros_like(g_.y(i));
      // The shape may change between iterations.
      const auto type = join(start.type(), x.type());
      terms.starts.push_back(start);
      terms.sums.push_back(back.add_formal("d", type ? *type : start.type()));
      terms.ys.push_back(ys[i + 1]);
      terms.dys.push_back(terms.sums.back());
      terms.xs.push_back(x);
      terms.positions.push_back(i + 2);
    }
  }

  void add_captured(Terms& terms, LoopBody& back) {
    for (std::size_t i = 0; i < body_.captures.size(); ++i) {
      if (!g_.wants(first_capture_ + i)) continue;
      const Val outer = b().value(body_.captures[i]);
      terms.xs.push_back(back.capture(outer));
      terms.starts.push_back(zeros_like(outer));
      terms.sums.push_back(back.add_formal("sum", outer.type()));
      terms.positions.push_back(first_capture_ + i);
    }
  }

  GradContext& g_;
  const Subgraph& body_;
  std::size_t carried_;
  std::size_t first_capture_;
  Val iterations_;
  std::vector<Val> recorded_;
};

}  // namespace

std::vector<Val> loop_gradient(GradContext& g) { return LoopGradient(g).run(); }

}  // namespace ondine::kernels::ops
