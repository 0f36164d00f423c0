// arithmetic.cpp — a op b with broadcasting (limited before version 7); integers wrap.
//   Add  da = dy      db = dy          Mul  da = dy b    db = dy a
//   Sub  da = dy      db = -dy         Div  da = dy / b  db = -da y
// Div of integers cuts towards zero; by zero it is an error. Each derivative is summed over the
// broadcast axes. Version 14 adds the 8- and 16-bit integers, 13 bfloat16.
#include <limits>

#include "kernels/common/constant_integers.h"
#include "kernels/common/wrapping_arithmetic.h"
#include "kernels/elementwise/binary.h"

namespace ondine::kernels::ops {
namespace {

constexpr auto sum_of = [](auto a, auto b) { return wrapping_add(a, b); };
constexpr auto difference_of = [](auto a, auto b) { return wrapping_sub(a, b); };
constexpr auto product_of = [](auto a, auto b) { return wrapping_mul(a, b); };
constexpr auto quotient_of = [](auto a, auto b) {
  using T = decltype(a);
  if constexpr (std::integral<T>) {
    if (b == 0) fail(ErrorCode::mismatch, "integer division by zero");
    if constexpr (std::signed_integral<T>) {
      if (b == -1) return wrapping_sub<T>(0, a);  // the lowest value has no positive counterpart
    }
    return static_cast<T>(a / b);
  } else {
    return a / b;
  }
};

constexpr auto add_rows = [](const auto& rows) { return rows.add; };
constexpr auto sub_rows = [](const auto& rows) { return rows.sub; };
constexpr auto mul_rows = [](const auto& rows) { return rows.mul; };
constexpr auto div_rows = [](const auto& rows) { return rows.div; };

using MaybeDim = std::optional<Dim>;

// Known elements need not be dims: a result that overflows is unknown.
MaybeDim known_sum(Dim a, Dim b) {
  std::int64_t unused = 0;
  if (a.known() && b.known() && __builtin_add_overflow(a.size(), b.size(), &unused)) return {};
  return graph::add(a, b);
}
MaybeDim known_product(Dim a, Dim b) {
  std::int64_t unused = 0;
  if (a.known() && b.known() && __builtin_mul_overflow(a.size(), b.size(), &unused)) return {};
  return graph::multiply(a, b);
}
MaybeDim known_difference(Dim a, Dim b) {
  if (b.same(0)) return a;
  if (a.same(b)) return Dim(0);
  if (!a.known() || !b.known() || a.size() < b.size()) return {};
  return Dim(a.size() - b.size());
}
MaybeDim known_quotient(Dim a, Dim b) {
  if (b.same(1)) return a;
  if (!b.known() || b.size() == 0) return {};
  return a.known() ? Dim(a.size() / b.size()) : Dim();
}

template <MaybeDim (*Combine)(Dim, Dim)>
void infer(InferContext& context) {
  infer_binary(context);
  combine_known_elements(context, Combine);
}

std::vector<Val> add_grad(GradContext& g) {
  return reduce_to_inputs(g, g.wants(0) ? g.dy(0) : Val(), g.wants(1) ? g.dy(0) : Val());
}

std::vector<Val> sub_grad(GradContext& g) {
  return reduce_to_inputs(g, g.wants(0) ? g.dy(0) : Val(), g.wants(1) ? -g.dy(0) : Val());
}

std::vector<Val> mul_grad(GradContext& g) {
  const Val dy = g.dy(0);
  return reduce_to_inputs(g, g.wants(0) ? dy * aligned(g) : Val(),
                          g.wants(1) ? dy * g.x(0) : Val());
}

std::vector<Val> div_grad(GradContext& g) {
  const Val da = g.dy(0) / aligned(g);
  return reduce_to_inputs(g, g.wants(0) ? da : Val(), g.wants(1) ? -(da * g.y(0)) : Val());
}

constexpr OpDef arithmetic(std::string_view name, void (*infer_rule)(InferContext&),
                           Kernel (*bind)(BindContext&), std::vector<Val> (*grad)(GradContext&),
                           bool commutative) {
  return {.name = name,
          .infer = infer_rule,
          .bind = bind,
          .grad = grad,
          .traits = {.inplace = 3,
                     .per_sample = 3,
                     .cheap = true,
                     .commutative = commutative,
                     .cannot_fail = true},
          .rounded = {.reads = 0b11, .writes = true, .follows = true}};
}

}  // namespace

extern const OpDef add_op =
    arithmetic("Add", infer<known_sum>, bind_vector_binary_op<add_rows, sum_of>, add_grad, true);
extern const OpDef sub_op =
    arithmetic("Sub", infer<known_difference>, bind_vector_binary_op<sub_rows, difference_of>,
               sub_grad, false);
extern const OpDef mul_op = arithmetic("Mul", infer<known_product>,
                                       bind_vector_binary_op<mul_rows, product_of>, mul_grad, true);
extern const OpDef div_op = arithmetic(
    "Div", infer<known_quotient>, bind_vector_binary_op<div_rows, quotient_of>, div_grad, false);

}  // namespace ondine::kernels::ops
