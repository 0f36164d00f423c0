// Checkpoints on disk: two generations, PATH and PATH.prev.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "checkpoints/format.h"
#include "core/file.h"

namespace ondine {

// When it returns, the checkpoint is durable. At every moment, whatever fails, PATH or PATH.prev is
// a whole generation if one was before (core/atomic_file.h).
void save_checkpoint(FileSystem& files, const std::filesystem::path& path,
                     const Checkpoint& checkpoint);

struct LoadedCheckpoint {
  Checkpoint checkpoint;
  std::filesystem::path file;  // PATH or PATH.prev
  std::string note;            // why PATH was passed over; empty when it was not
};

// The newest whole generation. PATH.prev is tried when PATH is missing, cannot be read or is
// damaged. It is not tried when PATH is whole but not for this caller, of another model, of a newer
// format or above a limit: going back would lose steps without need. When neither can be loaded,
// the error is that of PATH and its message gives both reasons.
LoadedCheckpoint load_checkpoint(FileSystem& files, const std::filesystem::path& path,
                                 const std::optional<ExpectedModel>& expected = {},
                                 const Limits& limits = {});

}  // namespace ondine
