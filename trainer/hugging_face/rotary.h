// Frequencies of rotary positions, with what config.json scales them by.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "trainer/hugging_face/config.h"

namespace ondine::hugging_face {

struct RotaryConfig {
  Config scaling;  // its members, "rope_type" or "type" among them
  double base = 10'000;
};

// rope_parameters of the config, or what earlier versions wrote instead: rope_theta and
// rope_scaling. `base` is that of the family, where the config has none.
RotaryConfig rotary_config(const Config& config, double base);
// Configuration of the layers of `kind`, if those of "full_attention" and "sliding_attention" have
// their own.
RotaryConfig rotary_config_of(const Config& config, const std::string& kind);

// One for each pair of `dims` elements, in float32 as PyTorch computes them. Error(unsupported)
// naming a type other than default, linear and llama3.
std::vector<float> rotary_frequencies(const RotaryConfig& rotary, std::int64_t dims);

}  // namespace ondine::hugging_face
