// Small standard networks, sized by the data that they will learn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ondine/dataset.h>
#include <ondine/export.h>

namespace ondine {

// docs/finetune.md draws them.
enum class NetworkKind : std::uint8_t {
  mlp,    // tables and other rows of numbers
  cnn,    // images with targets for each image
  unet,   // images with a class or number for each pixel
  text,   // texts as ids
  audio,  // recordings
};
// "mlp", "cnn", "unet", "text" or "audio". Static storage.
ONDINE_API const char* to_string(NetworkKind kind) noexcept;
// The inverse. Error(mismatch) that lists the names for any other text.
ONDINE_API NetworkKind network_kind_from_name(std::string_view name);

// Kind of the targets.
enum class TargetKind : std::uint8_t {
  classes,  // one of C classes for each row or position: integers from 0 to C - 1
  labels,   // 0 or 1 for each of the numbers of a row
  numbers,  // anything else
};
ONDINE_API const char* to_string(TargetKind kind) noexcept;
ONDINE_API TargetKind target_kind_from_name(std::string_view name);

struct NetworkOptions {
  // The column of the targets; empty: that which the data name (Dataset::target), else the only one
  // named label, target, mask or y, possibly in the plural, else the one beside the only other.
  std::string target = {};
  // Nothing: names, fractions and values of the targets decide (docs/finetune.md).
  std::optional<TargetKind> targets = {};
  // Size of images in files; empty: the files decide. The network takes only this size.
  std::optional<ImageSize> image_size = {};
  std::int64_t text_length = 0;  // ids of a row; 0: the longest text, at most 512
  double seconds = 0;            // of a recording; 0: the length that covers most, at most 5
  std::uint64_t seed = 0;        // of the weights
};

struct NewNetwork {
  std::vector<std::byte> model;  // an .onnx file of ai.onnx 17
  std::string description;       // "cnn of 3 convolutions for images 3x28x28, 10 classes"
};

// The kind that fits the data. Error(mismatch) for data without targets and for those that none
// fits.
ONDINE_API NetworkKind choose_network(const Dataset& data, const NetworkOptions& options = {});

// An inference model for the training part of the data: its inputs, classes, sizes and scales. It
// takes rows as they are stored: bytes of pixels, samples, ids, unscaled numbers. Weights are He
// uniform and biases zeros, a pure function of kind, sizes and seed; the last layer is uniform in
// +-1 / sqrt(fan in). Error(mismatch) where the data do not suit the kind, naming what was needed,
// and the errors of reading rows.
ONDINE_API NewNetwork new_network(NetworkKind kind, const Dataset& data,
                                  const NetworkOptions& options = {});
ONDINE_API NewNetwork new_network(const Dataset& data, const NetworkOptions& options = {});

}  // namespace ondine
