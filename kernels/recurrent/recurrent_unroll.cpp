#include "kernels/recurrent/recurrent_unroll.h"

#include "graph/contract/node_limit.h"

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

namespace {

using In = RecurrentInput;

// Element i of the first axis, without that axis.
Val at(Val x, std::int64_t i) { return graph::squeeze(graph::slice(x, i, i + 1, 0), {0}); }

class UnrolledDirection {
 public:
  UnrolledDirection(ExpandContext& context, const Recurrence& s, std::int64_t d, Val x,
                    UnrolledStep step)
      : s_(s), cell_{s, d, {}, {}, {}}, step_(step), x_(x), lengths_(context.x(In::sequence_lens)) {
    w_ = graph::transpose(at(context.x(In::w), d), {1, 0});
    cell_.r = graph::transpose(at(context.x(In::r), d), {1, 0});
    if (context.x(In::b)) {
      const Val bias = at(context.x(In::b), d);
      w_bias_ = graph::slice(bias, 0, s.width(), 0);
      cell_.r_bias = graph::slice(bias, s.width(), 2 * s.width(), 0);
    }
    state_.h = initial(context, In::initial_h);
    if (!s.cell.cell_state) return;
    state_.c = initial(context, In::initial_c);
    if (context.x(In::p)) cell_.peepholes = at(context.x(In::p), d);
  }

  // All steps; Y as [sequence_length, batch_size, hidden_size].
  Val run() {
    graph::require_room(x_.builder().graph(), static_cast<std::uint64_t>(s_.sequence_length));
    std::vector<Val> ys(static_cast<std::size_t>(s_.sequence_length));
    for (std::int64_t i = 0; i < s_.sequence_length; ++i) {
      const std::int64_t t = s_.step(cell_.d, i);
      const UnrolledState previous = state_;
      Val gates = graph::matmul(at(x_, t), w_);
      if (w_bias_) gates = gates + w_bias_;
      step_(cell_, gates, state_);
      Val y = state_.h;
      if (lengths_) {
        const Val now = x_.builder().constant(Tensor::scalar(static_cast<std::int32_t>(t)));
        const Val valid = graph::unsqueeze(graph::less(now, lengths_), {1});
        y = graph::where(valid, state_.h, graph::scalar_like(state_.h, 0));
        state_.h = graph::where(valid, state_.h, previous.h);
        if (state_.c) state_.c = graph::where(valid, state_.c, previous.c);
      }
      ys[static_cast<std::size_t>(t)] = graph::unsqueeze(y, {0});
    }
    return graph::concat(ys, 0);
  }
  const UnrolledState& state() const { return state_; }

 private:
  Val initial(ExpandContext& context, std::size_t i) {
    const Val given = context.x(i);
    if (!given) {
      const Val parts[] = {graph::slice(graph::shape_of(x_), 1, 2, 0),
                           context.builder().int64s({s_.hidden_size})};
      return graph::expand(graph::scalar_like(x_, 0), graph::concat(parts, 0));
    }
    return at(s_.batch_first ? graph::transpose(given, {1, 0, 2}) : given, cell_.d);
  }

  const Recurrence& s_;
  UnrolledCell cell_;
  UnrolledStep step_;
  UnrolledState state_;
  Val x_, w_, w_bias_, lengths_;
};

}  // namespace

namespace {

// The shape of X; a batch that is not known counts as 1.
std::optional<Shape> shape_with_any_batch(const NodeView& node, const Type& x) {
  if (!x.ranked() || x.rank() != 3) return std::nullopt;
  Dims dims = *x.dims;
  Dim& batch = dims[node.attr_int("layout", 0) != 0 ? 0 : 1];
  if (!batch.known()) batch = 1;
  return to_shape(dims);
}

}  // namespace

std::vector<Val> unroll(ExpandContext& context, const CellTraits& cell, UnrolledStep step) {
  Val x = context.x(In::x);
  const auto x_shape = shape_with_any_batch(context, x.type());
  const auto r_shape = context.x(In::r).type().shape();
  if (!x_shape || !r_shape || x_shape->size() == 0) {
    fail(ErrorCode::unsupported,
         "recurrent operators are unrolled only over dims that are known and not 0");
  }
  const Recurrence s = read_recurrence(context, cell, *x_shape, *r_shape);
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
