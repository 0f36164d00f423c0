// How inputs are scaled: means and deviations over training rows, spectrograms.
#pragma once

#include <optional>

#include <ondine/preprocess.h>

#include "trainer/finetune/facts.h"

namespace ondine::tune {

// Number of evenly spaced rows over which each function below computes means and deviations, at
// most. Their `input` takes floating point numbers, as a network reads them.
inline constexpr std::uint64_t most_scaled_rows = 1000;

// For images [N, C, H, W] or [N, H, W, C]: one of each channel. Bytes of pixels are first divided
// by 255.
Preprocess image_scaling(const Dataset& data, const Facts& facts, const PortInfo& input);
// For rows of numbers [N, F]: one of each column.
Preprocess column_scaling(const Dataset& data, const Facts& facts, const PortInfo& input);
// For spectrograms [N, 1, bands, frames] or the like, of the data's recordings: windows of 32 ms
// (a power of two), half of it from one to the next. One mean and deviation for all.
Preprocess mel_scaling(const Dataset& data, const Facts& facts, const PortInfo& input,
                       std::int64_t bands);
// The windows alone.
LogMel mel_of(std::int64_t rate, std::int64_t bands);

}  // namespace ondine::tune
