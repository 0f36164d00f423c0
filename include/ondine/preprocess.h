// What a model does to raw pixels or numbers before its first layer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ondine/dataset.h>
#include <ondine/dtype.h>

namespace ondine {

// Standard operators in front of an input of the main graph, so that the model takes what cameras
// and files give, in training and after export alike. The input keeps its name and gets this type
// and layout; its pixels x become
//   (scale resize(x) - mean) / deviation
// in the type and layout that the input had. An image keeps its size where `resize` is empty.
struct Preprocess {
  // Empty: the only floating point input of rank 4, else the only floating point input.
  std::string input = {};
  DType type = DType::uint8;     // integers or floating point numbers
  Layout layout = Layout::nhwc;  // of inputs of rank 4
  // The size that the model works with; images of any size are resized to it, by bilinear
  // resampling, with a filter that widens when they shrink from ai.onnx 18 on.
  std::optional<ImageSize> resize = {};
  double scale = 1;  // written as a division where 1 / scale is an integer
  // One number, or one for each channel (in inputs of other ranks: for each entry of the last
  // axis); empty: 0 and 1.
  std::vector<float> mean = {};
  std::vector<float> deviation = {};
};

}  // namespace ondine
