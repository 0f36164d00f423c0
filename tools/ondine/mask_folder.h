// `infer --masks`: a mask for each picture, in the picture's own size.
#pragma once

#include <filesystem>
#include <optional>
#include <set>
#include <string>

#include <ondine/data.h>
#include <ondine/data_record.h>

#include "ondine/train/data_options.h"

namespace ondine::cli {

class MaskFolder {
 public:
  // `data` are the places of the pictures, read as the model takes them. Throws Error(mismatch) for
  // a model whose output has no class for each position, and data without pictures.
  MaskFolder(const std::filesystem::path& folder, const Model& model, const DataOptions& data,
             const DataRecord::Prediction& prediction);

  // Writes that of a row of the output; `picture` is its file.
  void write(const Tensor& output, std::uint64_t output_row, const std::string& picture,
             std::uint64_t row);

 private:
  ImageSize size_of(std::uint64_t row);

  std::filesystem::path folder_;
  DataRecord::Prediction prediction_;
  ImageFit fit_;
  Dataset pictures_;
  std::optional<Feeder> own_sizes_;
  std::set<std::string> names_;
};

}  // namespace ondine::cli
