// Masks: the class of each pixel of a picture.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include <ondine/dataset.h>
#include <ondine/export.h>

namespace ondine {

// Class of a pixel that the model did not see.
inline constexpr std::uint8_t no_mask_class = 255;

// For each pixel of a picture the class at the nearest position of an output, in rows from the top.
// The output was computed from the picture in the size of the model's input, as `fit` says: what
// `crop` cut off has no_mask_class. Error(mismatch) unless there are height * width classes.
ONDINE_API std::vector<std::uint8_t> picture_mask(std::span<const std::uint8_t> classes,
                                                  ImageSize output, ImageSize picture,
                                                  ImageFit fit);

// Replaces the file, a PNG of 8 bits of grey, in one step. Error(mismatch) unless there are height
// * width classes.
ONDINE_API void write_mask(const std::filesystem::path& file, std::span<const std::uint8_t> classes,
                           ImageSize size);

}  // namespace ondine
