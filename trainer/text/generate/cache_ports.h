// Pairs of the inputs and outputs that hold keys and values of tokens.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "trainer/text/generate/decoder_ports.h"

namespace ondine::text {

// An output that was made for an input, with the new tokens of its cache alone, has its name behind
// this.
inline constexpr std::string_view fresh_prefix = "ondine.fresh.";

// For each input the output of the same type and the same dims but for that of the tokens, which
// is the only open one besides that of the samples. Where several fit, the one whose name has the
// same words and numbers but for those of an input or output (past_key_values.0.key and
// present.0.key). Takes the outputs from `outputs`. Error(mismatch) naming the first input without
// exactly one. Takes outputs of new tokens too.
std::vector<CachePorts> pair_caches(const PortInfo& ids, std::span<const PortInfo> inputs,
                                    std::vector<PortInfo>& outputs);

}  // namespace ondine::text
