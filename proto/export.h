// Exports a ModelDef to a model file. Importing the file gives an equal ModelDef.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/files/file.h"
#include "graph/ir/document.h"
#include "proto/leftovers.h"

namespace ondine {

// `leftovers` are put back where they were. Throws Error(limit) when the model has 2 GiB or more.
std::vector<std::byte> export_model(const graph::ModelDef& model, const Leftovers& leftovers = {});

// Writes NAME atomically: a crash at any moment leaves the old or the new model. Tensors of at
// least `external_from` bytes go to NAME.HASH.data in the same folder, where HASH is a hash of its
// content; data files of previous models of that name are removed at the end. Only one writer per
// name at a time. Throws Error(io), and Error(limit) when the model file itself would have 2 GiB or
// more.
void save_model(const graph::ModelDef& model, const std::filesystem::path& file,
                std::optional<std::uint64_t> external_from = {}, const Leftovers& leftovers = {});
void save_model(FileSystem& files, const graph::ModelDef& model, const std::filesystem::path& file,
                std::optional<std::uint64_t> external_from, const Leftovers& leftovers = {});

}  // namespace ondine
