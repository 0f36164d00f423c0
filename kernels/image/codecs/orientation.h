// Orientation of an image: a number from 1 (as stored) to 8, as EXIF and TIFF define it.
#pragma once

#include "kernels/image/codecs/codec.h"

namespace ondine::kernels::image {

// Orientation that EXIF gives in a JPEG, PNG or WebP file, else that XMP gives; 1 for other files
// and values.
int exif_orientation(Bytes file);

// The upright image of one that is stored with that orientation. 5 to 8 exchange height and width.
Tensor turned(Tensor image, int orientation, const Budget& budget);

}  // namespace ondine::kernels::image
