// Primitives: pooling, normalization, softmax, gradients of convolutions.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "core/parallel.h"
#include "kernels/common/implementation_list.h"
#include "kernels/simd/isa.h"

namespace ondine::math {

// Computation of one implementation for one descriptor. Immutable once made.
template <class Args>
class Implementation {
 public:
  virtual ~Implementation() = default;
  virtual void run(ThreadPool& pool, const Args& args) const = 0;
  // Bytes of the workspace that `args` must have.
  virtual std::size_t workspace() const { return 0; }
  // The instruction set that it uses of these.
  virtual std::string_view isa(const SimdTables& kernels) const { return isa_name(kernels); }
  // The implementation of another primitive that does its work; empty: none.
  virtual std::string_view worker() const { return {}; }
};

// `make` of an Algorithm that is constructed from a descriptor and an instruction set.
template <class Algorithm, class Desc, class Args>
std::unique_ptr<const Implementation<Args>> make_implementation(const Desc& desc,
                                                                const SimdTables& kernels) {
  return std::make_unique<Algorithm>(desc, kernels);
}

// Work on operands of known shapes, whose implementation is chosen once, when an operator is bound.
// Copies share it; const and safe to run from several threads. `run` allocates nothing.
template <class Desc, class Args>
class Primitive {
 public:
  using Entry = ImplementationEntry<Desc, Implementation<Args>>;
  using List = std::span<const Entry>;

  // Uses the first implementation of `list` that supports `desc`.
  Primitive(List list, const Desc& desc, const SimdTables& kernels)
      : Primitive(first_supporting(list, desc, kernels), desc, kernels) {}
  // Uses the implementation named `name`; Error(unsupported) if it does not support `desc`.
  Primitive(List list, std::string_view name, const Desc& desc, const SimdTables& kernels)
      : Primitive(supporting_by_name(list, name, desc, kernels), desc, kernels) {}

  void run(ThreadPool& pool, const Args& args) const { implementation_->run(pool, args); }
  std::size_t workspace() const { return implementation_->workspace(); }
  std::string_view name() const noexcept { return name_; }
  // Plans report this: the implementation of another primitive that does the work, or name().
  std::string_view worker() const {
    return implementation_->worker().empty() ? name_ : implementation_->worker();
  }
  std::string_view isa() const noexcept { return isa_; }

 private:
  Primitive(const Entry& entry, const Desc& desc, const SimdTables& kernels)
      : name_(entry.name),
        implementation_(entry.make(desc, kernels)),
        isa_(implementation_->isa(kernels)) {}

  std::string_view name_;
  std::shared_ptr<const Implementation<Args>> implementation_;
  std::string_view isa_;
};

}  // namespace ondine::math
