// Models from files and bytes, with everything that is wrong with them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include <ondine/model.h>

#include "graph/ir/document.h"

namespace ondine::trainer {

// load_model; where that finds something, one Error with it and with every broken rule of the
// standard in what remains, but for those that name an object that was left out, since they may
// only follow from that.
graph::ModelDef load_checked(const std::filesystem::path& file, const LoadOptions& options);
graph::ModelDef load_checked(std::span<const std::byte> bytes, const LoadOptions& options);

}  // namespace ondine::trainer
