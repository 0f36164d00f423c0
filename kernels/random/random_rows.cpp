#include "kernels/random/random_rows.h"

#include <bit>

namespace ondine::kernels {

std::optional<std::uint64_t> seed_attribute(const graph::NodeView& node) {
  const graph::Attribute* seed = graph::find(node.node().attributes, "seed");
  if (seed == nullptr) return std::nullopt;
  if (const auto* integer = std::get_if<std::int64_t>(&seed->data)) {
    return static_cast<std::uint64_t>(*integer);
  }
  return std::bit_cast<std::uint32_t>(node.attr_float("seed", 0.0F));
}

}  // namespace ondine::kernels
