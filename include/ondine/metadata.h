// Entries of a model's metadata.
#pragma once

#include <string>
#include <string_view>

#include <ondine/model.h>

namespace ondine {

// The text of an entry of Model::metadata(); empty where there is no such entry.
inline std::string metadata_of(const Model& model, std::string_view name) {
  for (const auto& [key, text] : model.metadata()) {
    if (key == name) return text;
  }
  return {};
}

}  // namespace ondine
