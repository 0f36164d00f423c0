// Masks in image files: the class of each pixel.
#pragma once

#include <memory>
#include <string>

#include "trainer/data/column.h"
#include "trainer/data/files/file_index.h"

namespace ondine::data {

// Meaning of grey values.
struct MaskClasses {
  std::int64_t count = 0;           // grey values are classes from 0 to count - 1
  bool is_black_and_white = false;  // 255 is class 1
  bool ignores_white = false;       // 255 does not count
};

// All masks together.
struct MaskSurvey {
  MaskClasses classes;
  std::vector<ImageSize> sizes;  // of each mask
};

// Decodes all masks on options.threads threads. Error(mismatch) naming a mask with colours, and for
// values that leave open what is a class.
MaskSurvey survey_masks(const FileIndex& files, const DatasetOptions& options);

// Integers [N, H, W], resized as images are, each pixel to the nearest one of the mask. Sizes that
// an input leaves open are those of each mask itself, but in training.
std::shared_ptr<const Column> mask_column(std::string name, FileIndex files,
                                          const MaskClasses& classes, std::vector<ImageSize> sizes,
                                          const DatasetOptions& options);
// Images, each of which must have the form of its mask, of any resolution: a mask is resized as its
// image is. An image of another form is Error(mismatch) that names it when it is taken.
std::shared_ptr<const Column> images_with_masks(std::string name, FileIndex files,
                                                std::vector<ImageSize> masks,
                                                const DatasetOptions& options);

}  // namespace ondine::data
