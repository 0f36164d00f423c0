// The scale of a channel whose elements become bytes: its largest magnitude / 127.
#pragma once

#include <cmath>
#include <limits>

namespace ondine::kernels {

// `most` becomes the magnitude of x if that is larger; NaN stays.
inline void enlarge(float& most, float x) {
  if (std::abs(x) > most || std::isnan(x)) most = std::abs(x);
}

// NaN where the magnitude is not finite, 0 where the scale would have no finite reciprocal.
inline float byte_scale(float most) {
  if (!std::isfinite(most)) return std::numeric_limits<float>::quiet_NaN();
  const float scale = most / 127;
  return scale < std::numeric_limits<float>::min() ? 0 : scale;
}

// The factor of elements. Without a scale all bytes are 0.
inline float byte_factor(float scale) { return scale > 0 ? 1 / scale : 0; }

}  // namespace ondine::kernels
