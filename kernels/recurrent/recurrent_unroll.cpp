#include "kernels/common/infer_checks.h"
#include "kernels/recurrent/recurrent_attributes.h"

namespace ondine::kernels {

using namespace graph;  // NOLINT

namespace {

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

// Element i of the first axis, without that axis.
Val at(Val x, std::int64_t i) { return graph::squeeze(graph::slice(x, i, i + 1, 0), {0}); }

class Direction {
 public:
  Direction(ExpandContext& context, const Recurrence& s, std::int64_t d, Val x)
      : s_(s), d_(d), x_(x) {
    w_ = graph::transpose(at(context.x(1), d), {1, 0});
    r_ = graph::transpose(at(context.x(2), d), {1, 0});
    if (context.x(3)) {
      const Val bias = at(context.x(3), d);
      w_bias_ = graph::slice(bias, 0, s.width(), 0);
      r_bias_ = graph::slice(bias, s.width(), 2 * s.width(), 0);
    }
    h_ = initial(context, 5);
    if (s.gates == 4) {
      c_ = initial(context, 6);
      if (context.x(7)) peephole_ = at(context.x(7), d);
    }
    lengths_ = context.x(4);
  }

  // All steps; Y as [steps, batch, hidden].
  Val run() {
    std::vector<Val> ys(static_cast<std::size_t>(s_.steps));
    for (std::int64_t i = 0; i < s_.steps; ++i) {
      const std::int64_t t = s_.step(d_, i);
      const Val h = h_;
      const Val c = c_;
      step(at(x_, t));
      Val y = h_;
      if (lengths_) {
        const Val now = x_.builder().constant(Tensor::scalar(static_cast<std::int32_t>(t)));
        const Val valid = graph::unsqueeze(graph::less(now, lengths_), {1});
        y = graph::where(valid, h_, graph::scalar_like(h_, 0));
        h_ = graph::where(valid, h_, h);
        if (c_) c_ = graph::where(valid, c_, c);
      }
      ys[static_cast<std::size_t>(t)] = graph::unsqueeze(y, {0});
    }
    return graph::concat(ys, 0);
  }
  Val h() const { return h_; }
  Val c() const { return c_; }

 private:
  Val initial(ExpandContext& context, std::size_t i) {
    const Val given = context.x(i);
    if (!given) {
      Builder& b = context.builder();
      return graph::expand(graph::scalar_like(x_, 0), b.int64s({s_.batch, s_.hidden}));
    }
    return at(s_.batch_first ? graph::transpose(given, {1, 0, 2}) : given, d_);
  }
  // Columns of gate k.
  Val gate(Val v, std::int64_t k) const {
    return graph::slice(v, k * s_.hidden, (k + 1) * s_.hidden, -1);
  }
  Val f(std::size_t i, Val x) const { return activate(s_.activation(d_, i), x); }

  void step(Val x) {
    Val in = graph::matmul(x, w_);
    if (w_bias_) in = in + w_bias_;
    if (s_.gates == 3) return step_gru(in);
    Val z = in + graph::matmul(h_, r_);
    if (r_bias_) z = z + r_bias_;
    if (s_.gates == 1) {
      h_ = f(0, z);
      return;
    }
    step_lstm(z);
  }

  void step_lstm(Val z) {
    Val zi = gate(z, 0);
    Val zo = gate(z, 1);
    Val zf = gate(z, 2);
    if (peephole_) {
      zi = zi + gate(peephole_, 0) * c_;
      zf = zf + gate(peephole_, 2) * c_;
    }
    const Val i = f(0, zi);
    const Val forget = s_.input_forget ? 1.0 - i : f(0, zf);
    c_ = forget * c_ + i * f(1, gate(z, 3));
    if (peephole_) zo = zo + gate(peephole_, 1) * c_;
    CellActivation last = s_.activation(d_, 2);
    last.clip = 0;
    h_ = f(0, zo) * activate(last, c_);
  }

  void step_gru(Val in) {
    const auto recurrent = [&](Val h, std::int64_t k) {
      const Val part = graph::matmul(h, gate(r_, k));
      return r_bias_ ? part + gate(r_bias_, k) : part;
    };
    const Val z = f(0, gate(in, 0) + recurrent(h_, 0));
    const Val r = f(0, gate(in, 1) + recurrent(h_, 1));
    const Val inner = s_.linear_before_reset ? r * recurrent(h_, 2) : recurrent(r * h_, 2);
    h_ = (1.0 - z) * f(1, gate(in, 2) + inner) + z * h_;
  }

  const Recurrence& s_;
  std::int64_t d_;
  Val x_, w_, r_, w_bias_, r_bias_, peephole_, lengths_, h_, c_;
};

}  // namespace

std::vector<Val> unroll(ExpandContext& context) {
  Val x = context.x(0);
  const auto x_shape = x.type().shape();
  const auto r_shape = context.x(2).type().shape();
  if (!x_shape || !r_shape || x_shape->size() == 0) {
    fail(ErrorCode::unsupported,
         "steps are laid out one by one only for extents that are known "
         "and not 0");
  }
  const Recurrence s = read_recurrence(context, *x_shape, *r_shape);
  if (s.batch_first) x = graph::transpose(x, {1, 0, 2});
  std::vector<Val> y, h, c;
  for (std::int64_t d = 0; d < s.directions; ++d) {
    Direction direction(context, s, d, x);
    y.push_back(graph::unsqueeze(direction.run(), {1}));
    h.push_back(graph::unsqueeze(direction.h(), {0}));
    if (direction.c()) c.push_back(graph::unsqueeze(direction.c(), {0}));
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
