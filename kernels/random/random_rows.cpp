#include "kernels/random/random_rows.h"

#include <bit>

#include "core/random/row_scope.h"

namespace ondine::kernels {

std::optional<std::uint64_t> seed_attribute(const graph::NodeView& node) {
  const graph::Attribute* seed = graph::find(node.node().attributes, "seed");
  if (seed == nullptr) return std::nullopt;
  if (const auto* integer = std::get_if<std::int64_t>(&seed->data)) {
    return static_cast<std::uint64_t>(*integer);
  }
  return std::bit_cast<std::uint32_t>(node.attr_float("seed", 0.0F));
}

RandomRun random_run(const graph::KernelContext& call, const std::optional<std::uint64_t>& seed,
                     std::int64_t n) {
  RandomRun run{own_key(call.random(), seed)};
  const RowScope* const scope = RowScope::current();
  if (scope == nullptr || scope->rows().count == 0) return run;
  const auto elements = static_cast<std::uint64_t>(n);
  if (elements % scope->rows().count != 0) return run;
  run.key.step = scope->step();
  run.first = scope->rows().first * (elements / scope->rows().count);
  return run;
}

}  // namespace ondine::kernels
