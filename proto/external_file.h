// The external data file of an exported model.
#pragma once

#include <filesystem>
#include <string>

#include "core/files/file.h"
#include "proto/export/parts.h"

namespace ondine {

// Writes the exporter's external tensors to NAME.HASH.data beside the model NAME, each at a
// multiple of 4096 bytes, and completes their messages. Returns the file's name, or ""
// without writing a file when there are no external tensors.
std::string write_external_file(FileSystem& files, const std::filesystem::path& model,
                                Exporter& exporter);

// Removes left-overs of exports to the same name: data files other than `keep`, and temporary files
// of dead writers. Ignores files that cannot be removed.
void remove_external_files(FileSystem& files, const std::filesystem::path& model,
                           const std::string& keep);

}  // namespace ondine
