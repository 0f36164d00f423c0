// Inputs of language models that hold what they computed of earlier tokens.
#pragma once

#include <cstddef>
#include <optional>

#include <ondine/model.h>

namespace ondine::text {

// The axis of the tokens of an input of keys or values of earlier tokens: a floating point tensor
// of rank 3 or more whose name has "past" or "cache" in it and whose dims are known but for the
// first, of samples, and that axis. nullopt for any other input.
std::optional<std::size_t> token_axis_of_cache(const PortInfo& input);

}  // namespace ondine::text
