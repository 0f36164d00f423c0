#include "trainer/fit/accumulation.h"

#include <charconv>

#include <ondine/metadata.h>

#include "core/message.h"
#include "graph/record/training_entries.h"

namespace ondine::fit {
namespace {

constexpr std::size_t adding = 0;
constexpr std::size_t updating = 1;

// Number of batches that the model's metadata gives; 0 if it gives none.
std::uint64_t prepared_batches(const Model& model) {
  std::uint64_t batches = 0;
  const std::string text = metadata_of(model, graph::entry::accumulate);
  std::from_chars(text.data(), text.data() + text.size(), batches);
  return model.algorithm_count() == 2 ? batches : 0;
}

}  // namespace

std::optional<Accumulation> find_accumulation(const Model& model, const TrainerOptions& options) {
  const std::uint64_t prepared = prepared_batches(model);
  if (prepared != 0 && options.algorithm == adding) {
    return Accumulation{updating, options.accumulate.value_or(prepared)};
  }
  if (options.accumulate) {
    fail(ErrorCode::mismatch,
         "the training algorithm does not accumulate gradients; prepare the model with "
         "--accumulate");
  }
  return {};
}

std::size_t update_algorithm(const Model& model, const TrainerOptions& options) {
  const auto accumulation = find_accumulation(model, options);
  return accumulation ? accumulation->update : options.algorithm;
}

}  // namespace ondine::fit
