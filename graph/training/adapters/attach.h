// Adapters beside the layers of a network.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ondine/prepare.h>

#include "graph/ir/document.h"
#include "graph/training/prepare/parameters/fresh.h"
#include "graph/training/prepare/values.h"

namespace ondine::graph {

struct AttachedAdapters {
  std::vector<std::string> trained;
  Fresh rules;  // of each of these
  std::string note;
};

// Inputs of a layer, by their numbers, whose part of its weight trains.
struct TrainedChannels {
  std::string weight;
  std::vector<std::int64_t> channels;  // in rising order
};

// Writes the adapters that the options ask for, or those of the channels, into the main graph, by
// standard operators, and the record. Layers that lead to none of the values `read` by the loss
// have none. Error(mismatch) for settings out of range, a pattern that matches no layer and a
// weight that several nodes read.
AttachedAdapters attach_adapters(ModelDef& model, const PrepareOptions& options,
                                 const std::vector<TrainedChannels>& channels,
                                 const ValueTypes& types, std::span<const std::string> read);

// Whether the options ask for any.
inline bool has_adapters(const PrepareOptions& options) noexcept {
  return options.lora || options.ia3 || options.prompt;
}

// Says why parameters train or not where patterns that are not the caller's select the adapters.
void explain_adapters(PrepareReport& report, const PrepareOptions& asked, const Fresh& added);

}  // namespace ondine::graph
