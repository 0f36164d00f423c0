// Recordings at another rate, by libsamplerate.
#pragma once

#include <cstdint>
#include <vector>

namespace ondine::data {

// How many of the first samples at `rate` decide the first `count` at the rate `to`.
// Error(unsupported) for rates more than a factor of 256 apart.
std::int64_t samples_before(std::int64_t count, std::int64_t rate, std::int64_t to);

// The first `count` samples at the rate `to`, or as many as there are, by band-limited
// interpolation. Equal rates change nothing. Error(unsupported) for rates more than a factor of 256
// apart and in builds without libsamplerate.
std::vector<float> resample(std::vector<float> samples, std::int64_t rate, std::int64_t to,
                            std::int64_t count);

}  // namespace ondine::data
