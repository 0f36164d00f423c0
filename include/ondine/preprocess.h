// Operations of a model on raw pixels or numbers before its first layer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <ondine/dataset.h>
#include <ondine/dtype.h>

namespace ondine {

// The log-mel spectrogram of raw samples [N, T] for an input [N, 1, bands, frames], [N, frames, 1,
// bands] or the like: log(power in each band + offset) of frames with a Hann window, by STFT,
// MelWeightMatrix and Log of ai.onnx 17 or newer. The model's axis of bands is the one of that
// size, the one before last if both are. T is that of its frames, dynamic where their number is.
struct LogMel {
  std::int64_t bands = 64;
  std::int64_t rate = 16000;    // samples a second
  std::int64_t window = 400;    // samples of a frame
  std::int64_t hop = 160;       // samples from a frame to the next
  double low = 0;               // lowest frequency, in Hz
  double high = 0;              // highest; 0: half the rate
  double offset = 1e-6;         // keeps the logarithm finite
  DType type = DType::float32;  // of the samples: floating point or int16
};

// Standard operators in front of an input of the main graph, so that the model takes what cameras
// and files give, in training and after export alike. The input keeps its name and gets this type
// and layout; its pixels x become
//   (scale resize(x) - mean) / deviation, or (log-mel(scale x) - mean) / deviation of recordings,
// in the type and layout that the input had. An image keeps its size where `resize` is empty.
struct Preprocess {
  // Empty: the only floating point input of rank 4, else the only floating point input.
  std::string input = {};
  DType type = DType::uint8;     // integers or floating point numbers
  Layout layout = Layout::nhwc;  // of inputs of rank 4
  // The size that the model works with; images of any size are resized to it, by bilinear
  // resampling, with a filter that widens when they shrink from ai.onnx 18 on.
  std::optional<ImageSize> resize = {};
  double scale = 1;                // written as a division where 1 / scale is an integer
  std::optional<LogMel> mel = {};  // then type, layout and resize have no meaning
  // One number, or one for each channel (in inputs of other ranks: for each entry of the last
  // axis); empty: 0 and 1.
  std::vector<float> mean = {};
  std::vector<float> deviation = {};
};

}  // namespace ondine
