// Encoded images to pixels: JPEG, PNG, WebP, TIFF, JPEG 2000, BMP and PNM.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <ondine/tensor.h>

#include "core/budget.h"

namespace ondine::kernels {

struct DecodeOptions {
  // A file whose samples have more than 8 bits becomes uint16, 0 to 65535, instead of uint8.
  bool wide = false;
  // Turns the image as its EXIF or XMP says. TIFF images are always turned: orientation is one of
  // the format's own tags.
  bool upright = false;
};

// [height, width, 3], red, green, blue. Alpha is dropped, grey repeated, depths other than that of
// the result are scaled. The size that the header names is charged to the budget before anything of
// that size is allocated, as are the tables that a library makes of other numbers in a header.
// Error(corrupt) for bytes that are not an image or end early, Error(unsupported) for a format that
// this build has no library for, Error(limit) from the budget and from check_stop().
Tensor decode_image(std::span<const std::uint8_t> bytes,
                    const std::shared_ptr<MemoryBudget>& budget, const DecodeOptions& options = {});

}  // namespace ondine::kernels
