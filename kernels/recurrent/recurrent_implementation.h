// The choice of an implementation of a recurrent operator, made once when it is bound.
#pragma once

#include <span>
#include <string_view>

#include "graph/contract/kernel.h"
#include "kernels/common/compute_type.h"
#include "kernels/recurrent/recurrence.h"
#include "kernels/simd/isa.h"

namespace ondine::kernels {

struct RecurrentImplementation {
  std::string_view name;
  bool (*supports)(const graph::BindContext&, const Recurrence&);
  graph::Kernel (*make)(graph::BindContext&, const Recurrence&);
};

inline bool supports_any(const graph::BindContext&, const Recurrence&) { return true; }

// RecurrentImplementation::make of a driver for elements computed in C: Driver<C>, or
// Driver<Cell<C>>. Not for alias templates of unnamed namespaces, whose instances in two files GCC
// merges.
template <template <class> class Driver>
graph::Kernel make_recurrent(graph::BindContext& context, const Recurrence& s) {
  return visit_compute(context.dtype(RecurrentInput::x), [&]<class C>() -> graph::Kernel {
    return [driver = Driver<C>(context, s)](graph::KernelContext& call) { driver(call); };
  });
}
template <template <class> class Driver, template <class> class Cell>
graph::Kernel make_recurrent(graph::BindContext& context, const Recurrence& s) {
  return visit_compute(context.dtype(RecurrentInput::x), [&]<class C>() -> graph::Kernel {
    return [driver = Driver<Cell<C>>(context, s)](graph::KernelContext& call) { driver(call); };
  });
}

// Of the first that supports the node. The last one must support all.
inline graph::Kernel bind_recurrent(graph::BindContext& context, const CellTraits& cell,
                                    std::span<const RecurrentImplementation> implementations) {
  const Recurrence s = read_recurrence(context, cell, context.shape(RecurrentInput::x),
                                       context.shape(RecurrentInput::r));
  for (const RecurrentImplementation& each : implementations) {
    if (!each.supports(context, s)) continue;
    context.set_implementation(each.name, math::isa_name(math::kernels()));
    return each.make(context, s);
  }
  fail(ErrorCode::internal, "no implementation of ", context.node().op->name);
}

}  // namespace ondine::kernels
