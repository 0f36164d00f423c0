#include "ondine/mask_folder.h"

#include <algorithm>

#include <ondine/masks.h>
#include <ondine/printable.h>

#include "ondine/common.h"

namespace ondine::cli {
namespace {

// Unsigned bytes of any size, which pictures are in their own.
PortInfo any_size() {
  PortInfo port;
  port.name = "image";
  port.dtype = DType::uint8;
  port.type = "tensor(uint8)[-1, -1, -1, 3]";
  port.dims = std::vector<std::int64_t>{-1, -1, -1, 3};
  return port;
}

// The class of each position of the output, of integers or scores along an axis.
struct Classes {
  std::vector<std::uint8_t> values;
  ImageSize size;
};

[[noreturn]] void refuse(const Tensor& output, const std::string& name) {
  throw Error(ErrorCode::mismatch,
              "--masks needs a class for each position of a picture; output '" + name + "' is " +
                  output.shape().to_string());
}

std::uint8_t class_byte(double value, const std::string& name) {
  if (!(value >= 0 && value < static_cast<double>(no_mask_class))) {
    throw Error(ErrorCode::mismatch,
                "output '" + name + "' has the class " + number(value) + "; a mask holds 0 to 254");
  }
  return static_cast<std::uint8_t>(value);
}

Classes decided(const Tensor& output, std::uint64_t row, const std::string& name) {
  const Shape& shape = output.shape();
  const bool has_channel = shape.rank() == 4 && shape[1] == 1;
  if (shape.rank() != 3 && !has_channel) refuse(output, name);
  Classes result;
  result.size = {shape[shape.rank() - 2], shape[shape.rank() - 1]};
  const std::int64_t count = result.size.height * result.size.width;
  for (std::int64_t i = 0; i < count; ++i) {
    result.values.push_back(
        class_byte(element_of(output, static_cast<std::int64_t>(row) * count + i), name));
  }
  return result;
}

Classes largest(const Tensor& output, std::uint64_t row, const DataRecord::Prediction& prediction) {
  const Shape& shape = output.shape();
  const std::int64_t axis = prediction.class_axis.value_or(1);
  if (shape.rank() != 4 || (axis != 1 && axis != 3)) refuse(output, prediction.output);
  const std::int64_t classes = shape[static_cast<std::size_t>(axis)];
  Classes result;
  result.size = axis == 1 ? ImageSize{shape[2], shape[3]} : ImageSize{shape[1], shape[2]};
  const std::int64_t area = result.size.height * result.size.width;
  const std::int64_t first = static_cast<std::int64_t>(row) * classes * area;
  for (std::int64_t p = 0; p < area; ++p) {
    const auto score = [&](std::int64_t c) {
      return element_of(output, first + (axis == 1 ? c * area + p : p * classes + c));
    };
    std::int64_t best = 0;
    for (std::int64_t c = 1; c < classes; ++c) {
      if (score(c) > score(best)) best = c;
    }
    result.values.push_back(class_byte(static_cast<double>(best), prediction.output));
  }
  return result;
}

}  // namespace

MaskFolder::MaskFolder(const std::filesystem::path& folder, const Model& model,
                       const DataOptions& data, const DataRecord::Prediction& prediction)
    : folder_(folder), prediction_(prediction) {
  DatasetOptions how = dataset_options(data, model, DataUse::inference);
  fit_ = how.inner_resize && !how.image_size ? ImageFit::stretch : how.image_fit;
  how.image_size.reset();
  how.inner_resize.reset();
  how.cache_bytes = 0;
  pictures_ = Dataset::open(to_paths(data.data), how);
  if (pictures_.rows() == 0 && pictures_.has_validation()) pictures_ = pictures_.validation();
  const bool are_pictures =
      pictures_.rows() > 0 && pictures_.sample_rate() == 0 && !pictures_.file(0).empty();
  if (!are_pictures) {
    throw Error(ErrorCode::mismatch, "--masks needs pictures, which the data are not");
  }
  own_sizes_.emplace(std::vector{any_size()}, pictures_);
  std::filesystem::create_directories(folder_);
}

ImageSize MaskFolder::size_of(std::uint64_t row) {
  const auto feeds = own_sizes_->take(std::span(&row, 1));
  const Shape& shape = feeds[0].second.tensor().shape();
  return {shape[1], shape[2]};
}

void MaskFolder::write(const Tensor& output, std::uint64_t output_row, const std::string& picture,
                       std::uint64_t row) {
  const std::string stem = std::filesystem::path(picture).stem().string();
  if (!names_.insert(stem).second) {
    throw Error(ErrorCode::mismatch, "two pictures are named '" + printable(stem) +
                                         "', whose masks would be one file of --masks");
  }
  const bool is_decided = is_integer(output.dtype()) || output.dtype() == DType::boolean;
  const Classes classes = is_decided ? decided(output, output_row, prediction_.output)
                                     : largest(output, output_row, prediction_);
  const ImageSize own = size_of(row);
  write_mask(folder_ / (stem + ".png"), picture_mask(classes.values, classes.size, own, fit_), own);
}

}  // namespace ondine::cli
