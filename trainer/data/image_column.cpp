// Image files as a column: decoded and resized when a batch is taken.
#include <algorithm>
#include <cmath>

#include "core/budget.h"
#include "core/files/file.h"
#include "core/message.h"
#include "kernels/image/codecs/image.h"
#include "trainer/data/convert_row.h"
#include "trainer/data/image_folder.h"
#include "trainer/data/resize_image.h"

namespace ondine::data {
namespace {

bool is_channels(std::int64_t dim) { return dim == 1 || dim == 3; }

// Of one row.
struct RowLayout {
  bool channels_last = false;
  std::int64_t channels = 3;
  ImageSize size;
};

RowLayout layout_of(std::span<const std::int64_t> row) {
  if (!is_channels(row[0]) && is_channels(row[2])) return {true, row[2], {row[0], row[1]}};
  return {false, row[0], {row[1], row[2]}};
}

// The pixels [H, W, 3] in 0..255 as the row has them.
void arrange(const std::vector<float>& pixels, const RowLayout& layout, float* to) {
  const auto area = static_cast<std::size_t>(layout.size.height * layout.size.width);
  const auto channels = static_cast<std::size_t>(layout.channels);
  for (std::size_t p = 0; p < area; ++p) {
    const float* rgb = pixels.data() + 3 * p;
    for (std::size_t c = 0; c < channels; ++c) {
      // Grey is the luma of ITU-R BT.601.
      const float value =
          channels == 3 ? rgb[c] : 0.299F * rgb[0] + 0.587F * rgb[1] + 0.114F * rgb[2];
      to[layout.channels_last ? p * channels + c : c * area + p] = value;
    }
  }
}

class ImageColumn final : public Column {
 public:
  ImageColumn(std::string name, FileIndex files, const DatasetOptions& options)
      : Column(std::move(name)),
        files_(std::move(files)),
        fit_(options.image_fit),
        size_(options.image_size),
        image_bytes_(options.limits.tensor_bytes) {}

  std::uint64_t rows() const override { return files_.size(); }

  PortInfo port() const override {
    PortInfo port;
    port.name = name();
    port.dtype = DType::float32;
    port.type = describe();
    port.dims = {-1, 3, size_ ? size_->height : -1, size_ ? size_->width : -1};
    return port;
  }

  std::string describe() const override { return cat("images[", files_.size(), "]"); }

  std::optional<Dims> fit(const PortInfo& input) const override {
    if (!takes_images(input)) return {};
    Dims row(input.dims->begin() + 1, input.dims->end());
    const bool last = !is_channels(row[0]) && is_channels(row[2]);
    std::int64_t& channels = row[last ? 2 : 0];
    if (channels < 0) channels = 3;
    if (!is_channels(channels)) return {};
    const std::size_t height = last ? 0 : 1;
    if (row[height] < 0 && size_) row[height] = size_->height;
    if (row[height + 1] < 0 && size_) row[height + 1] = size_->width;
    if (row[height] <= 0 || row[height + 1] <= 0) return {};
    if (size_ && (row[height] != size_->height || row[height + 1] != size_->width)) return {};
    return row;
  }

  std::string hint(const PortInfo& input) const override {
    if (!takes_images(input)) return {};
    if (!size_) return "; give the size of the images: --image-size HEIGHTxWIDTH";
    return cat("; --image-size is ", size_->height, "x", size_->width);
  }

  void copy(std::span<const std::uint64_t> rows, Tensor& target) const override {
    const Shape& shape = target.shape();
    const RowLayout layout = layout_of(std::span(shape.begin() + 1, shape.end()));
    const std::int64_t count = shape.size(1, shape.rank());
    const std::size_t bytes = static_cast<std::size_t>(count) * size_of(target.dtype());
    auto* to = static_cast<std::byte*>(target.mutable_data());
    const RowCopy convert = find_copy(DType::float32, target.dtype());
    std::vector<float> row(static_cast<std::size_t>(count));
    for (const std::uint64_t index : rows) {
      arrange(read(index, layout.size), layout, row.data());
      if (target.dtype() == DType::uint8) {
        std::transform(row.begin(), row.end(), reinterpret_cast<std::uint8_t*>(to),
                       [](float value) { return static_cast<std::uint8_t>(std::lround(value)); });
      } else {
        for (float& value : row) value /= 255;
        convert(row.data(), to, count);
      }
      to += bytes;
    }
  }

  std::optional<std::vector<std::int64_t>> labels() const override { return {}; }

 private:
  static bool takes_images(const PortInfo& input) {
    return (is_float(input.dtype) ? find_copy(DType::float32, input.dtype) != nullptr
                                  : input.dtype == DType::uint8) &&
           input.dims && input.dims->size() == 4;
  }

  std::vector<float> read(std::uint64_t index, ImageSize size) const {
    const std::string path = files_.path(index);
    return with_context(
        [&] {
          PosixFileSystem system;
          FileSource source(system, path);
          if (source.size() > image_bytes_) {
            fail(ErrorCode::limit, "the file has ", source.size(), " bytes");
          }
          std::vector<std::uint8_t> bytes(static_cast<std::size_t>(source.size()));
          source.read(std::as_writable_bytes(std::span(bytes)));
          const auto budget = std::make_shared<MemoryBudget>(image_bytes_);
          return resize_image(kernels::decode_image(bytes, budget), size, fit_);
        },
        [&] { return "image " + quoted(path); });
  }

  FileIndex files_;
  ImageFit fit_;
  std::optional<ImageSize> size_;
  std::uint64_t image_bytes_;
};

}  // namespace

std::shared_ptr<const Column> image_column(std::string name, FileIndex files,
                                           const DatasetOptions& options) {
  return std::make_shared<ImageColumn>(std::move(name), std::move(files), options);
}

}  // namespace ondine::data
