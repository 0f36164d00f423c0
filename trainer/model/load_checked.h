// Loads models from files and bytes and reports all their defects.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <ondine/model.h>

#include "graph/check/findings.h"
#include "graph/ir/document.h"
#include "proto/leftovers.h"
#include "proto/mapped_file.h"

namespace ondine::trainer {

struct CheckedModel {
  graph::ModelDef def;
  Leftovers leftovers;  // of its file
  std::vector<std::string> warnings = {};
  std::vector<std::shared_ptr<const MappedFile>> files = {};  // that tensors of `def` may lie in
};

graph::Rigor rigor_of(const LoadOptions& options) noexcept;

// As load_model, but the Error also reports violations of the standard in the rest of the model,
// and what leaves the model usable is a warning unless LoadOptions::strict. Omits violations that
// refer to an invalid object, since they may only follow from that.
CheckedModel load_checked(const std::filesystem::path& file, const LoadOptions& options);
CheckedModel load_checked(std::span<const std::byte> bytes, const LoadOptions& options);

}  // namespace ondine::trainer
