#include <ondine/masks.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <ostream>

#include <ondine/replace_file.h>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "trainer/records/png.h"

namespace ondine {
namespace {

void require_classes(std::span<const std::uint8_t> classes, ImageSize size) {
  const bool is_size = size.height > 0 && size.width > 0;
  if (is_size && static_cast<std::int64_t>(classes.size()) == size.height * size.width) return;
  fail(ErrorCode::mismatch, "a mask of ", size.height, "x", size.width, " pixels has ",
       classes.size(), " classes");
}

// The position along an axis of the output; nothing where the model did not see the pixel.
std::optional<std::int64_t> position(std::int64_t pixel, double start, double scale,
                                     std::int64_t count) {
  const double at = std::floor((static_cast<double>(pixel) + 0.5 - start) / scale);
  if (at < 0 || at >= static_cast<double>(count)) return {};
  return static_cast<std::int64_t>(at);
}

}  // namespace

std::vector<std::uint8_t> picture_mask(std::span<const std::uint8_t> classes, ImageSize output,
                                       ImageSize picture, ImageFit fit) {
  return guard_memory("make a mask", [&] {
    require_classes(classes, output);
    // Pixels of the picture for each position.
    double by_row = static_cast<double>(picture.height) / static_cast<double>(output.height);
    double by_column = static_cast<double>(picture.width) / static_cast<double>(output.width);
    if (fit == ImageFit::crop) by_row = by_column = std::min(by_row, by_column);
    const double top =
        (static_cast<double>(picture.height) - by_row * static_cast<double>(output.height)) / 2;
    const double left =
        (static_cast<double>(picture.width) - by_column * static_cast<double>(output.width)) / 2;
    std::vector<std::uint8_t> mask;
    mask.reserve(static_cast<std::size_t>(picture.height * picture.width));
    for (std::int64_t y = 0; y < picture.height; ++y) {
      const auto row = position(y, top, by_row, output.height);
      for (std::int64_t x = 0; x < picture.width; ++x) {
        const auto column = position(x, left, by_column, output.width);
        mask.push_back(row && column
                           ? classes[static_cast<std::size_t>(*row * output.width + *column)]
                           : no_mask_class);
      }
    }
    return mask;
  });
}

void write_mask(const std::filesystem::path& file, std::span<const std::uint8_t> classes,
                ImageSize size) {
  guard_memory("write a mask", [&] {
    require_classes(classes, size);
    const std::string png = records::png_file(classes, static_cast<std::size_t>(size.width),
                                              static_cast<std::size_t>(size.height), 1);
    replace_file(file, [&](std::ostream& out) { out << png; });
  });
}

}  // namespace ondine
