// The external data file of an exported model.
#pragma once

#include <filesystem>
#include <string>

#include "core/files/file.h"
#include "proto/export/parts.h"

namespace ondine {

// Writes the exporter's external tensors to NAME.HASH.data beside the model NAME, each at a
// multiple of 4096 bytes, and completes their messages. Writes no file when there are none.
void write_external_file(FileSystem& files, const std::filesystem::path& model, Exporter& exporter);

// Removes temporary files of dead writers of the model's data files. Data files stay: a copy of an
// earlier export under another name reads them. Ignores files that cannot be removed.
void remove_temporary_data(FileSystem& files, const std::filesystem::path& model);

}  // namespace ondine
