// Loads models from files and bytes and reports all their defects.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include <ondine/model.h>

#include "graph/ir/document.h"

namespace ondine::trainer {

// As load_model, but the Error also reports violations of the standard in the rest of the model.
// Omits those that refer to an invalid object, since they may only follow from that.
graph::ModelDef load_checked(const std::filesystem::path& file, const LoadOptions& options);
graph::ModelDef load_checked(std::span<const std::byte> bytes, const LoadOptions& options);

}  // namespace ondine::trainer
