// Recordings in files: WAV, FLAC and Ogg, by libsndfile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ondine::data {

struct SoundInfo {
  std::int64_t frames = 0;  // samples of each channel
  std::int64_t rate = 0;    // samples a second
  std::int64_t channels = 0;
};

// The header alone. Throws Error(corrupt) with the file as context where the file is not a
// recording, has no samples or is a WAV file that ends early; Error(unsupported) in builds without
// libsndfile.
SoundInfo sound_info(const std::string& path);

// The first `most_frames` samples, the mean of all channels, in -1..1. Throws what sound_info
// throws, Error(corrupt) where the data end early or are not finite, and Error(limit) for more than
// `most_bytes`.
std::vector<float> read_sound(const std::string& path, std::int64_t most_frames,
                              std::uint64_t most_bytes);

}  // namespace ondine::data
