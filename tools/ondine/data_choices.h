// Options of data for commands that look at the data themselves.
#pragma once

#include <optional>
#include <string>

#include <ondine/dataset.h>
#include <ondine/networks.h>

#include "ondine/train/data_options.h"

namespace ondine::cli {

// What the options say; nothing of any model.
DatasetOptions plain_dataset_options(const DataOptions& options);

// Adds --targets.
void add_target_kind(Command command, std::optional<TargetKind>& kind);

}  // namespace ondine::cli
