// Encoded images to pixels: JPEG, PNG, WebP, TIFF, JPEG 2000, BMP and PNM.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <ondine/tensor.h>

#include "core/budget.h"

namespace ondine::kernels {

// uint8 [height, width, 3], red, green, blue. Alpha is dropped, grey repeated, depths other than 8
// bits are scaled. The size that the header names is charged to the budget before anything of that
// size is allocated. Error(corrupt) for bytes that are not an image or end early,
// Error(unsupported) for a format that this build has no library for, Error(limit) from the budget.
Tensor decode_image(std::span<const std::uint8_t> bytes,
                    const std::shared_ptr<MemoryBudget>& budget);

}  // namespace ondine::kernels
