// Checkpoints on disk: two generations, PATH and PATH.prev. Of a symbolic link, PATH is what it
// points to, so that both generations lie in one folder.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "checkpoints/format.h"
#include "core/files/file.h"

namespace ondine {

// When it returns, the checkpoint is durable. Whatever fails, at any moment PATH or PATH.prev is a
// complete generation if one existed before (core/files/atomic_file.h).
void save_checkpoint(FileSystem& files, const std::filesystem::path& path,
                     const Checkpoint& checkpoint);

struct LoadedCheckpoint {
  Checkpoint checkpoint;
  std::filesystem::path file;  // PATH or PATH.prev
  std::string note;            // why PATH was not used; empty if it was
};

// The newest complete generation of `given`. Falls back to PATH.prev when PATH is missing,
// unreadable or damaged, but not when PATH is intact and unsuitable (another model, a newer format,
// a limit): that would lose steps silently. When neither can be loaded, throws the error of PATH
// with both reasons.
LoadedCheckpoint load_checkpoint(FileSystem& files, const std::filesystem::path& given,
                                 const std::optional<ExpectedModel>& expected = {},
                                 const Limits& limits = {});

}  // namespace ondine
