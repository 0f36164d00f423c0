#include "trainer/data/text/json_weights.h"

namespace ondine::data {

void add_json_weight(Weights& weights, bool is_first, std::span<const JsonMember> members,
                     const DatasetOptions& options, std::uint64_t line) {
  if (options.weights.empty() || options.use == DataUse::inference) return;
  const JsonMember* weight = find_member(members, options.weights);
  if (is_first && (weight != nullptr || !options.weights_are_optional)) {
    weights.column = options.weights;
  }
  if (weights.column.empty()) return;
  const bool is_value = weight != nullptr && weight->kind != JsonMember::Kind::nested;
  weights.add(is_value ? weight->value : std::string(), line);
}

}  // namespace ondine::data
