// Small data sets that a network learns in seconds.
#pragma once

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <random>
#include <string>

#include <ondine/build.h>
#include <ondine/data.h>
#include <ondine/dataset.h>

#include "tests/support/bitmap.h"
#include "tests/support/wave.h"

namespace ondine::test {

inline void write_file(const std::filesystem::path& file, const std::string& bytes) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << bytes;
}

inline unsigned below(std::mt19937& random, unsigned end) {
  return static_cast<unsigned>(random() % end);
}

// Columns a and b of different scales; the target is their weighted sum.
inline void write_regression(const std::filesystem::path& file, int rows) {
  std::mt19937 random(1);
  std::string text = "a,b,price\n";
  for (int i = 0; i < rows; ++i) {
    const double a = 1000.0 + below(random, 100);
    const double b = (below(random, 1000)) / 1e6;
    text += std::to_string(a) + "," + std::to_string(b) + "," +
            std::to_string(5000 + 3 * a - 100000 * b) + "\n";
  }
  write_file(file, text);
}

// Species by two columns.
inline void write_classes(const std::filesystem::path& file, int rows,
                          const std::vector<std::string>& names) {
  std::mt19937 random(2);
  std::string text = "width,length,species\n";
  for (int i = 0; i < rows; ++i) {
    const std::size_t c = static_cast<std::size_t>(i) % names.size();
    const double noise = (below(random, 100)) / 100.0;
    text += std::to_string(20 + 10 * static_cast<double>(c) + noise) + "," +
            std::to_string(5 - static_cast<double>(c) + noise) + "," + names[c] + "\n";
  }
  write_file(file, text);
}

// Squares of 8 x 8 pixels, dark and light.
inline void write_photos(const std::filesystem::path& folder, unsigned each) {
  for (unsigned i = 0; i < 2 * each; ++i) {
    const unsigned level = i % 2 == 0 ? 40 + i % 17 : 200 + i % 17;
    write_file(folder / (i % 2 == 0 ? "dark" : "light") / (std::to_string(i) + ".bmp"),
               bitmap(8, 8, std::vector(64, std::array<unsigned, 3>{level, level / 2, level})));
  }
}

// A bright block on a dark image, and the mask that is 1 there; grey values `white` in masks.
inline void write_masks(const std::filesystem::path& folder, unsigned count, unsigned white) {
  std::mt19937 random(3);
  for (unsigned n = 0; n < count; ++n) {
    const unsigned left = below(random, 5);
    std::vector<std::array<unsigned, 3>> image;
    std::vector<std::array<unsigned, 3>> mask;
    for (unsigned i = 0; i < 64; ++i) {
      const bool is_inside = i % 8 >= left && i % 8 < left + 3;
      const unsigned level = is_inside ? 180 + below(random, 40) : below(random, 40);
      image.push_back({level, level, level});
      mask.push_back(is_inside ? std::array<unsigned, 3>{white, white, white}
                               : std::array<unsigned, 3>{0, 0, 0});
    }
    write_file(folder / "images" / (std::to_string(n) + ".bmp"), bitmap(8, 8, image));
    write_file(folder / "masks" / (std::to_string(n) + ".bmp"), bitmap(8, 8, mask));
  }
}

// Tones of two heights, a quarter of a second at 4000 Hz.
inline void write_tones(const std::filesystem::path& folder, unsigned each) {
  for (unsigned n = 0; n < 2 * each; ++n) {
    std::vector<int> samples;
    const double step = (n % 2 == 0 ? 300.0 + n : 1200.0 + n) * 6.2831853 / 4000;
    for (int i = 0; i < 1000; ++i) samples.push_back(static_cast<int>(9000 * std::sin(step * i)));
    write_file(folder / (n % 2 == 0 ? "low" : "high") / (std::to_string(n) + ".wav"),
               wave(4000, samples));
  }
}

inline void write_texts(const std::filesystem::path& file, unsigned each) {
  std::string text;
  for (unsigned n = 0; n < 2 * each; ++n) {
    text += n % 2 == 0 ? R"({"text": "aaa bab aba )" : R"({"text": "xyz zyx xxy )";
    text += std::to_string(n) + (n % 2 == 0 ? R"(", "label": "ab"})" : R"(", "label": "xyz"})");
    text += "\n";
  }
  write_file(file, text);
}

}  // namespace ondine::test
