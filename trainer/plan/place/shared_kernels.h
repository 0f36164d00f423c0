// The kernels of a plan's nodes.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "trainer/plan/place/static_bind.h"
#include "trainer/plan/plan.h"

namespace ondine::trainer {

// Binds nodes, but only one of those that binding cannot tell apart: they have the same operator,
// attributes, types and constants. Deep networks repeat their layers.
class SharedKernels {
 public:
  // The index in kernels() of the kernel of a node whose shapes are all known. nullopt as for
  // bind_static, whose errors it throws. All calls are for one graph, or for graphs that were made
  // of it without changing the values there were.
  std::optional<std::uint32_t> kernel_of(const std::shared_ptr<const graph::Node>& node,
                                         const graph::Graph& graph, const BindOptions& options);

  const std::vector<PlannedKernel>& kernels() const noexcept { return kernels_; }

 private:
  std::vector<PlannedKernel> kernels_;
  std::unordered_multimap<std::size_t, std::uint32_t> by_hash_;
};

}  // namespace ondine::trainer
