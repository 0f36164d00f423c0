#include "ondine/train/data_options.h"

#include <charconv>
#include <map>

#include "ondine/common.h"

namespace ondine::cli {
namespace {

// "HEIGHTxWIDTH", both positive.
ImageSize parse_size(const std::string& text) {
  ImageSize size;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, size.height);
  const bool separated = error == std::errc() && at != end && *at == 'x';
  const auto [last, second] = separated ? std::from_chars(at + 1, end, size.width)
                                        : std::from_chars_result{at, std::errc::invalid_argument};
  if (second != std::errc() || last != end || size.height <= 0 || size.width <= 0) {
    throw Error(ErrorCode::mismatch, "--image-size needs HEIGHTxWIDTH, found '" + text + "'");
  }
  return size;
}

}  // namespace

Option add_data_options(Command command, DataOptions& options) {
  Option data =
      command.option("--data", &options.data,
                     "Folder or files: IDX, .npy, .npz, .csv, or a folder of images per class");
  const std::map<std::string, Layout> layouts{{"nchw", Layout::nchw}, {"nhwc", Layout::nhwc}};
  command.choice("--layout", &options.layout, layouts,
                 "Axes of image arrays; nhwc is transposed to nchw");
  const std::map<std::string, ImageFit> fits{{"crop", ImageFit::crop},
                                             {"stretch", ImageFit::stretch}};
  command.choice("--image-fit", &options.image_fit, fits,
                 "Images with another aspect ratio: crop to the centre or stretch");
  command.option("--image-size", &options.image_size,
                 "HEIGHTxWIDTH, for models with dynamic height and width");
  command.option("--target", &options.target, "Column of a .csv to predict; the last if absent");
  command.option("--fill", &options.fill, "Number to use for missing numbers of a .csv");
  return data;
}

DatasetOptions dataset_options(const DataOptions& options) {
  DatasetOptions result;
  result.layout = options.layout;
  result.image_fit = options.image_fit;
  if (!options.image_size.empty()) result.image_size = parse_size(options.image_size);
  result.target = options.target;
  if (options.fill) result.fill = static_cast<double>(*options.fill);
  return result;
}

Dataset open_dataset(const std::vector<std::string>& places, const DataOptions& options) {
  return Dataset::open(to_paths(places), dataset_options(options));
}

}  // namespace ondine::cli
