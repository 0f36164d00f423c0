// Facts about a column of targets.
#pragma once

#include "trainer/finetune/facts.h"

namespace ondine::tune {

// Reads all of the column. Error(mismatch) where the values are not of the kind that is asked for.
TargetFacts look_at_target(const Dataset& data, const PortInfo& column,
                           std::optional<TargetKind> asked);

}  // namespace ondine::tune
