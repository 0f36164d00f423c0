#include "tests/support/bitmap.h"

namespace ondine::test {

std::string bitmap(std::uint32_t width, std::uint32_t height,
                   const std::vector<std::array<unsigned, 3>>& rgb) {
  const auto number = [](std::uint32_t value, int bytes) {
    std::string text;
    for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i & 255U);
    return text;
  };
  std::string pixels;
  for (std::uint32_t y = height; y-- > 0;) {
    for (std::uint32_t x = 0; x < width; ++x) {
      const auto& p = rgb[y * width + x];
      for (const unsigned c : {p[2], p[1], p[0]}) pixels += static_cast<char>(c);
    }
    pixels.append((4 - width * 3 % 4) % 4, '\0');
  }
  return "BM" + number(static_cast<std::uint32_t>(54 + pixels.size()), 4) + number(0, 4) +
         number(54, 4) + number(40, 4) + number(width, 4) + number(height, 4) + number(1, 2) +
         number(24, 2) + std::string(24, '\0') + pixels;
}

}  // namespace ondine::test
