// Recordings as bytes of .wav files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ondine::test {

// 16 bits a sample, those of several channels next to each other.
std::string wave(std::uint32_t rate, const std::vector<int>& samples, std::uint32_t channels = 1);

// 32-bit floating point samples of one channel.
std::string float_wave(std::uint32_t rate, const std::vector<float>& samples);

}  // namespace ondine::test
