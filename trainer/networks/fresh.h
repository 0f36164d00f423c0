// Mark that tells a network drawn at random from one that was trained.
#pragma once

#include <string>

#include "graph/ir/document.h"
#include "graph/record/record.h"

namespace ondine::networks {

// The entry of the metadata with the description of a new network.
inline constexpr const char* new_network_key = "ondine.network";

inline void mark_fresh(graph::Metadata& metadata, std::string description) {
  metadata.emplace_back(new_network_key, std::move(description));
}

// Description of a new network that has seen no data; otherwise empty. Training records its data.
inline std::string fresh_network(const graph::Metadata& metadata) {
  for (const auto& [key, text] : metadata) {
    if (key == new_network_key && graph::read_record(metadata).data.rows == 0) return text;
  }
  return {};
}

}  // namespace ondine::networks
