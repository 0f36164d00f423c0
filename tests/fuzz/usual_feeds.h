// Feeds that a model accepts where it accepts any.
#pragma once

#include <vector>

#include <ondine/model.h>

#include "tests/fuzz/choices.h"

namespace ondine::test {

// Tensors of the declared types; dims that are not known are 2. Floats are in +-1 without ties,
// integers are 0 or 1.
NamedValues usual_feeds(Choices& choices, const std::vector<PortInfo>& ports);

}  // namespace ondine::test
