// Recordings in files: WAV, FLAC and Ogg, by libsndfile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/budget.h"

namespace ondine::data {

struct SoundInfo {
  std::int64_t frames = 0;  // samples of each channel
  std::int64_t rate = 0;    // samples a second
  std::int64_t channels = 0;
};

// Largest sample rate of options and files; more is an error.
inline constexpr std::int64_t most_sample_rate = 10'000'000;

// The header alone, unless a FLAC file was streamed. A WAV or FLAC file that was streamed, so that
// its sizes are placeholders, has samples up to the end of the file. Throws Error(corrupt) with the
// file as context where the file is not a recording, has no samples, more than most_sample_rate of
// them a second or is a WAV file that ends early; Error(unsupported) in builds without libsndfile.
SoundInfo sound_info(const std::string& path);

// The first `most_frames` samples, the mean of all channels, in -1..1, charged to `share` as they
// are read. Throws what sound_info throws, Error(corrupt) where the data end early or are not
// finite, and Error(limit) from the budget and from check_stop().
std::vector<float> read_sound(const std::string& path, std::int64_t most_frames,
                              BudgetShare& share);

}  // namespace ondine::data
