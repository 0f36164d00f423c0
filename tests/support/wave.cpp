#include "tests/support/wave.h"

#include <bit>

namespace ondine::test {
namespace {

std::string number(std::uint32_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i & 255U);
  return text;
}

std::string file(std::uint32_t rate, std::uint32_t channels, std::uint32_t format,
                 std::uint32_t bytes, const std::string& data) {
  const auto size = static_cast<std::uint32_t>(data.size());
  return "RIFF" + number(36 + size, 4) + "WAVEfmt " + number(16, 4) + number(format, 2) +
         number(channels, 2) + number(rate, 4) + number(rate * channels * bytes, 4) +
         number(channels * bytes, 2) + number(8 * bytes, 2) + "data" + number(size, 4) + data;
}

}  // namespace

std::string wave(std::uint32_t rate, const std::vector<int>& samples, std::uint32_t channels) {
  std::string data;
  for (const int sample : samples) data += number(static_cast<std::uint32_t>(sample), 2);
  return file(rate, channels, 1, 2, data);
}

std::string float_wave(std::uint32_t rate, const std::vector<float>& samples) {
  std::string data;
  for (const float sample : samples) data += number(std::bit_cast<std::uint32_t>(sample), 4);
  return file(rate, 1, 3, 4, data);
}

}  // namespace ondine::test
