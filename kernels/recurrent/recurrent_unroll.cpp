#include "kernels/recurrent/recurrent_unroll.h"

#include <limits>

#include "graph/contract/node_limit.h"
#include "graph/contract/subgraph_builder.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

Val activate(const CellActivation& f, Val x) {
  using Kind = CellActivation::Kind;
  Builder& b = x.builder();
  if (f.clip > 0) {
    x = b.node("Clip", {x, graph::scalar_like(x, -f.clip), graph::scalar_like(x, f.clip)});
  }
  const auto a = static_cast<float>(f.alpha);
  switch (f.kind) {
    case Kind::sigmoid:
      return unary("Sigmoid", x);
    case Kind::tanh:
      return unary("Tanh", x);
    case Kind::relu:
      return unary("Relu", x);
    case Kind::affine:
      return x * f.alpha + f.beta;
    case Kind::leaky_relu:
      return b.node("LeakyRelu", {x}, {{"alpha", a}});
    case Kind::thresholded_relu:
      return b.node("ThresholdedRelu", {x}, {{"alpha", a}});
    case Kind::scaled_tanh:
      return unary("Tanh", x * f.beta) * f.alpha;
    case Kind::hard_sigmoid:
      return b.node("HardSigmoid", {x}, {{"alpha", a}, {"beta", static_cast<float>(f.beta)}});
    case Kind::elu:
      return b.node("Elu", {x}, {{"alpha", a}});
    case Kind::softsign:
      return unary("Softsign", x);
    case Kind::softplus:
      return unary("Softplus", x);
  }
  return x;
}

Val UnrolledCell::gates(Val v, std::int64_t first, std::int64_t last) const {
  if (!hidden_size) return graph::slice(v, first * s.hidden_size, last * s.hidden_size, -1);
  Builder& b = v.builder();
  return b.node("Slice",
                {v, hidden_size * b.int64(first), hidden_size * b.int64(last), b.int64s({-1})});
}

namespace {

using In = RecurrentInput;

// Element i of the first axis, without that axis.
Val at(Val x, std::int64_t i) { return graph::squeeze(graph::slice(x, i, i + 1, 0), {0}); }

class UnrolledDirection {
 public:
  // `x` has the steps first.
  UnrolledDirection(ExpandContext& context, const Recurrence& s, std::int64_t d, Val x,
                    UnrolledStep step)
      : s_(s),
        cell_{s, d, {}, {}, {}, {}, {}, {}},
        step_(step),
        x_(x),
        lengths_(context.x(In::sequence_lens)) {
    w_ = graph::transpose(at(context.x(In::w), d), {1, 0});
    cell_.r = graph::transpose(at(context.x(In::r), d), {1, 0});
    if (s.hidden_size == 0) cell_.hidden_size = graph::dim_of(context.x(In::r), 2);
    if (context.x(In::b)) {
      const Val bias = at(context.x(In::b), d);
      w_bias_ = cell_.gates(bias, 0, s.cell.gates);
      cell_.r_bias = cell_.gates(bias, s.cell.gates, 2 * s.cell.gates);
    }
    state_.h = initial(context, In::initial_h);
    if (!s.cell.cell_state) return;
    state_.c = initial(context, In::initial_c);
    if (context.x(In::p)) cell_.peepholes = at(context.x(In::p), d);
  }

  // All steps; Y as [sequence_length, batch_size, hidden_size].
  Val run() { return s_.sequence_length > 0 ? write_steps() : loop(); }
  const UnrolledState& state() const { return state_; }

 private:
  Val write_steps() {
    graph::require_room(x_.builder().graph(), static_cast<std::uint64_t>(s_.sequence_length));
    std::vector<Val> ys(static_cast<std::size_t>(s_.sequence_length));
    for (std::int64_t i = 0; i < s_.sequence_length; ++i) {
      const std::int64_t t = s_.step(cell_.d, i);
      const Val now =
          lengths_ ? x_.builder().constant(Tensor::scalar(static_cast<std::int32_t>(t))) : Val();
      const Val y = take(cell_, gates_of(at(x_, t)), now, lengths_, state_);
      ys[static_cast<std::size_t>(t)] = graph::unsqueeze(y, {0});
    }
    return graph::concat(ys, 0);
  }

  // The state is carried, Y collected; the products with W are those of all steps at once.
  Val loop() {
    const Val all_gates = gates_of(x_);
    const Val length = graph::dim_of(x_, 0);
    SubgraphBuilder body(x_.builder());
    const Val i = body.add_formal("i", Type::tensor(DType::int64, Dims{}));
    const Val go_on = body.add_formal("go_on", Type::tensor(DType::boolean, Dims{}));
    UnrolledState state{body.add_formal("h", state_.h.type()), {}};
    if (state_.c) state.c = body.add_formal("c", state_.c.type());
    const auto inside = [&](Val outer) { return outer ? body.capture(outer) : outer; };
    const UnrolledCell cell{s_,
                            cell_.d,
                            inside(cell_.r),
                            inside(cell_.r_bias),
                            inside(cell_.peepholes),
                            inside(cell_.hidden_size),
                            {},
                            {}};
    Val t = i;
    if (s_.runs_backwards(cell_.d)) {
      t = graph::squeeze(inside(length), {0}) - body.builder().int64(1) - i;
    }
    const Val gates = graph::gather(inside(all_gates), t, 0);
    const Val now = lengths_ ? graph::cast(t, DType::int32) : Val();
    const Val y = take(cell, gates, now, inside(lengths_), state);
    std::vector<Val> results{unary("Identity", go_on), state.h};
    std::vector<Val> inputs{length, Val(), state_.h};
    if (state.c) {
      results.push_back(state.c);
      inputs.push_back(state_.c);
    }
    results.push_back(unary("Identity", y));  // which may be the state
    const auto values = control_node(x_.builder(), "Loop", inputs, {body.finish("body", results)},
                                     results.size() - 1);
    state_.h = values[0];
    if (state_.c) state_.c = values[1];
    if (!s_.runs_backwards(cell_.d)) return values.back();
    return graph::slice(values.back(), -1, std::numeric_limits<std::int64_t>::min(), 0, -1);
  }

  Val gates_of(Val x) const {
    const Val gates = graph::matmul(x, w_);
    return w_bias_ ? gates + w_bias_ : gates;
  }

  // One step: replaces the state and returns Y. `now` is the step's number where there are lengths.
  Val take(const UnrolledCell& cell, Val gates, Val now, Val lengths, UnrolledState& state) const {
    const UnrolledState previous = state;
    UnrolledCell one = cell;
    one.now = now;
    one.lengths = lengths;
    step_(one, gates, state);
    if (!lengths) return state.h;
    const Val valid = graph::unsqueeze(graph::less(now, lengths), {1});
    const Val y = graph::where(valid, state.h, graph::scalar_like(state.h, 0));
    state.h = graph::where(valid, state.h, previous.h);
    if (state.c) state.c = graph::where(valid, state.c, previous.c);
    return y;
  }

  Val initial(ExpandContext& context, std::size_t i) {
    const Val hidden =
        cell_.hidden_size ? cell_.hidden_size : context.builder().int64s({s_.hidden_size});
    const Val parts[] = {graph::slice(graph::shape_of(x_), 1, 2, 0), hidden};
    const Val shape = graph::concat(parts, 0);
    const Val given = context.x(i);
    if (!given) return graph::expand(graph::scalar_like(x_, 0), shape);
    const Val state = at(s_.batch_first ? graph::transpose(given, {1, 0, 2}) : given, cell_.d);
    return state.ranked() ? state : graph::reshape(state, shape);
  }

  const Recurrence& s_;
  UnrolledCell cell_;
  UnrolledStep step_;
  UnrolledState state_;
  Val x_, w_, w_bias_, lengths_;
};

// The attributes, and the sizes that the types of X and R tell: others are 0.
Recurrence known_recurrence(const ExpandContext& context, const CellTraits& cell) {
  const auto known = [&](std::size_t i) {
    Shape shape{0, 0, 0};
    const Type& type = context.x(i).type();
    for (std::size_t axis = 0; type.ranked() && axis < 3; ++axis) {
      const Dim dim = type.dims->at(axis);
      if (dim.known()) shape[axis] = dim.size();
    }
    return shape;
  };
  Recurrence s = read_recurrence(context, cell, known(In::x), known(In::r));
  if (s.input_size == 0) s.input_size = known(In::w)[2];
  if (s.hidden_size == 0) s.hidden_size = context.attr_int("hidden_size", 0);
  return s;
}

}  // namespace

std::vector<Val> unroll(ExpandContext& context, const CellTraits& cell, UnrolledStep step) {
  Val x = context.x(In::x);
  const Recurrence s = known_recurrence(context, cell);
  // Derivatives need the rank.
  if (!x.ranked()) x = graph::reshape(x, {0, 0, s.input_size > 0 ? s.input_size : -1});
  if (s.batch_first) x = graph::transpose(x, {1, 0, 2});
  std::vector<Val> y, h, c;
  for (std::int64_t d = 0; d < s.directions; ++d) {
    UnrolledDirection direction(context, s, d, x, step);
    y.push_back(graph::unsqueeze(direction.run(), {1}));
    h.push_back(graph::unsqueeze(direction.state().h, {0}));
    if (cell.cell_state) c.push_back(graph::unsqueeze(direction.state().c, {0}));
  }
  const auto joined = [&](const std::vector<Val>& parts, std::int64_t axis) {
    return parts.size() == 1 ? parts[0] : graph::concat(parts, axis);
  };
  std::vector<Val> result{joined(y, 1), joined(h, 0)};
  if (!c.empty()) result.push_back(joined(c, 0));
  if (s.batch_first) {
    result[0] = graph::transpose(result[0], {2, 0, 1, 3});
    for (std::size_t i = 1; i < result.size(); ++i) {
      result[i] = graph::transpose(result[i], {1, 0, 2});
    }
  }
  return result;
}

}  // namespace ondine::kernels
