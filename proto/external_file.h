// The data file that an exported model may have.
#pragma once

#include <filesystem>
#include <string>

#include "core/file.h"
#include "proto/export_parts.h"

namespace ondine {

// Writes the exporter's external tensors to NAME.HASH.data beside the model NAME, each at a
// multiple of 4096 bytes, and completes their messages. Returns the file's name; "" and no file
// when there are none.
std::string write_external_file(FileSystem& files, const std::filesystem::path& model,
                                Exporter& exporter);

// Removes what exports to the same model left: data files other than `keep` and temporary files of
// writers that died. What cannot be removed stays.
void remove_external_files(FileSystem& files, const std::filesystem::path& model,
                           const std::string& keep);

}  // namespace ondine
