// The option --shape: shapes of inputs with dynamic dims.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <ondine/model.h>

#include "ondine/command.h"

namespace ondine::cli {

using NamedShapes = std::vector<std::pair<std::string, Shape>>;

// Parses values of --shape, "input=1x3x224x224"; names may contain '=' if they are those of
// `inputs`. Throws Error(mismatch) for any other text.
NamedShapes parse_shapes(const std::vector<std::string>& texts,
                         const std::vector<PortInfo>& inputs);

// The shapes of all inputs without a default whose rank is known: as given, else as declared, with
// dynamic dims of the size that the same symbolic dim has in a given shape, else of size `dim`.
// Throws Error(mismatch) for a given name that is no input, and for a given shape that contradicts
// the declared one.
NamedShapes complete_shapes(const std::vector<PortInfo>& inputs, const NamedShapes& given,
                            std::int64_t dim);

}  // namespace ondine::cli
