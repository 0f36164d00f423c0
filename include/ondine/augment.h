// Random changes of training images and recordings.
#pragma once

#include <cstdint>

namespace ondine {

// Changes that a training run makes to the rows of images and recordings that it takes. They are
// pure functions of the run's seed, the epoch and the row, so a resumed run sees the same rows as
// an uninterrupted one, with any number of threads. Images go through, in this order: shift,
// rotation, scaling and flips (of every input and label with the height and width of the images;
// integer labels take the nearest position); then, for model inputs only, colours and the cut-out
// square; then mixing. Pixels from outside an image are 0.
struct Augmentation {
  bool flip = false;           // left to right, half of the images
  bool flip_vertical = false;  // top to bottom, half of the images
  std::int64_t crop = 0;       // shifts by up to this many pixels along each axis
  double rotate = 0;           // degrees, up to this many either way
  double scale_min = 1;        // enlarges by a factor between the two, around the centre
  double scale_max = 1;
  // Factors in [1 - color, 1 + color] of brightness, contrast and saturation, each its own; in
  // [0, 1).
  double color = 0;
  std::int64_t cutout = 0;  // side of a square of zeros around a random pixel
  // Mixes a row with another of the data, with shares from the distribution Beta(mixup, mixup). All
  // inputs of the algorithm must be floating point numbers: labels are probabilities (soft_labels).
  double mixup = 0;
  // Changes to recordings, in this order: `time_shift` moves a recording by up to so many seconds
  // either way, zeros come in; `noise` adds white noise whose standard deviation is between 0 and
  // `noise` times the recording's root mean square.
  double time_shift = 0;
  double noise = 0;
};

}  // namespace ondine
