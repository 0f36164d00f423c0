// Requirements on the options of generation.
#pragma once

#include <ondine/generate.h>
#include <ondine/options.h>

namespace ondine::text {

// Error(invalid_option) for a number out of its range and an empty stop text.
void require_ranges(const GenerateOptions& options);
// Error(invalid_option) for an option that has no effect at the temperature.
void require_effects(const GenerateOptions& options, OptionSpelling spelling);

}  // namespace ondine::text
