// Entries of a model's metadata.
#pragma once

#include <string>
#include <string_view>

#include <ondine/model.h>

namespace ondine::trainer {

// Empty where there is no such entry.
inline std::string property(const Model& model, std::string_view name) {
  for (const auto& [key, text] : model.metadata()) {
    if (key == name) return text;
  }
  return {};
}

}  // namespace ondine::trainer
