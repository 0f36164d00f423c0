// The choice of an implementation of a recurrent operator, made once when it is bound.
#pragma once

#include <memory>
#include <span>
#include <utility>

#include "graph/contract/kernel.h"
#include "kernels/common/compute_type.h"
#include "kernels/common/implementation_list.h"
#include "kernels/matmul/product_kernels.h"
#include "kernels/recurrent/recurrence.h"

namespace ondine::kernels {

// A recurrent node and where its implementation finds its operands and requests scratch memory.
struct RecurrentDesc {
  Recurrence recurrence;
  graph::BindContext& context;
};

// Immutable once made; may run on several threads at once.
class RecurrentImplementation {
 public:
  virtual ~RecurrentImplementation() = default;
  virtual void run(graph::KernelContext& call) const = 0;
};

using RecurrentEntry = math::ImplementationEntry<RecurrentDesc, RecurrentImplementation>;

template <class Driver>
class RecurrentDriver final : public RecurrentImplementation {
 public:
  explicit RecurrentDriver(const RecurrentDesc& desc) : driver_(desc.context, desc.recurrence) {}
  void run(graph::KernelContext& call) const override { driver_(call); }

 private:
  Driver driver_;
};

// RecurrentEntry::make of a driver for elements computed in C: Driver<C>, or Driver<Cell<C>>. Not
// for alias templates of unnamed namespaces, whose instances in two files GCC merges.
template <template <class> class Driver>
std::unique_ptr<const RecurrentImplementation> make_recurrent(const RecurrentDesc& desc,
                                                              const math::SimdTables&) {
  using Made = std::unique_ptr<const RecurrentImplementation>;
  return visit_compute(desc.context.dtype(RecurrentInput::x), [&]<class C>() -> Made {
    return std::make_unique<RecurrentDriver<Driver<C>>>(desc);
  });
}
template <template <class> class Driver, template <class> class Cell>
std::unique_ptr<const RecurrentImplementation> make_recurrent(const RecurrentDesc& desc,
                                                              const math::SimdTables&) {
  using Made = std::unique_ptr<const RecurrentImplementation>;
  return visit_compute(desc.context.dtype(RecurrentInput::x), [&]<class C>() -> Made {
    return std::make_unique<RecurrentDriver<Driver<Cell<C>>>>(desc);
  });
}

// Kernel of the first entry that supports the node. The last entry must support all nodes.
inline graph::Kernel bind_recurrent(graph::BindContext& context, const CellTraits& cell,
                                    std::span<const RecurrentEntry> implementations) {
  const math::SimdTables& kernels = product_kernels(context);
  const RecurrentDesc desc{read_recurrence(context, cell, context.shape(RecurrentInput::x),
                                           context.shape(RecurrentInput::r)),
                           context};
  const RecurrentEntry& entry = math::first_supporting(implementations, desc, kernels);
  context.set_implementation(entry.name, math::isa_name(kernels));
  const std::shared_ptr<const RecurrentImplementation> chosen = entry.make(desc, kernels);
  return [chosen](graph::KernelContext& call) { chosen->run(call); };
}

}  // namespace ondine::kernels
