// Image files as a column: decoded and resized when a batch is taken.

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <mutex>

#include "core/budget.h"
#include "core/files/file.h"
#include "core/message.h"
#include "kernels/image/codecs/image.h"
#include "trainer/data/convert_row.h"
#include "trainer/data/files/file_kind.h"
#include "trainer/data/images/channels.h"
#include "trainer/data/images/decode_picture.h"
#include "trainer/data/images/mask_column.h"
#include "trainer/data/images/resize_image.h"

namespace ondine::data {
namespace {

// Layout of one row.
struct RowLayout {
  bool channels_last = false;
  std::int64_t channels = 3;
  ImageSize size;
};

RowLayout layout_of(std::span<const std::int64_t> row) {
  if (has_channels_last(row)) return {true, row[2], {row[0], row[1]}};
  return {false, row[0], {row[1], row[2]}};
}

// The pixels [H, W, 3] as the row has them.
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

// uint8 or uint16.
template <class Take>
auto with_image(const std::string& path, const DecodeBudget& decoding, const Take& take) {
  return with_picture("image", path, decoding, {.wide = true, .upright = true}, take);
}

// To within a pixel of the mask, which may have another resolution.
void require_form(ImageSize image, ImageSize mask) {
  const auto as_mask = [](std::int64_t side, std::int64_t other, std::int64_t mask_other) {
    return static_cast<double>(side) * static_cast<double>(mask_other) / static_cast<double>(other);
  };
  const double height = as_mask(image.height, image.width, mask.width);
  const double width = as_mask(image.width, image.height, mask.height);
  if (std::abs(height - static_cast<double>(mask.height)) <= 1 ||
      std::abs(width - static_cast<double>(mask.width)) <= 1) {
    return;
  }
  fail(ErrorCode::mismatch, "it has ", image.height, "x", image.width, " pixels, its mask ",
       mask.height, "x", mask.width, ", which is another form");
}

// Pixels of an image [H, W, 3], each 0..white.
struct Pixels {
  std::vector<float> values;
  float white = 255;
};

class ImageColumn final : public Column {
 public:
  ImageColumn(std::string name, FileIndex files, const DatasetOptions& options,
              std::vector<ImageSize> masks = {})
      : Column(std::move(name)),
        files_(std::move(files)),
        masks_(std::move(masks)),
        fit_(options.image_fit),
        size_(options.image_size),
        inner_(options.inner_resize),
        keeps_own_sizes_(options.use != DataUse::training),
        decoding_(options.limits) {}

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
    const bool last = has_channels_last(row);
    std::int64_t& channels = row[last ? 2 : 0];
    if (channels < 0) channels = 3;
    if (!is_channels(channels)) return {};
    std::int64_t& height = row[last ? 0 : 1];
    std::int64_t& width = row[last ? 1 : 2];
    const bool takes_any_size = height < 0 && width < 0 && !size_ && input.dtype == DType::uint8;
    if (takes_any_size && keeps_own_sizes_) return row;
    if (takes_any_size && inner_) {
      height = inner_->size.height;
      width = inner_->size.width;
      resizes_as_model_ = true;
    } else if (takes_any_size) {
      const ImageSize size = first_size();
      height = size.height;
      width = size.width;
      keeps_size_ = true;
    }
    if (height < 0 && size_) height = size_->height;
    if (width < 0 && size_) width = size_->width;
    if (height <= 0 || width <= 0) return {};
    if (size_ && (height != size_->height || width != size_->width)) return {};
    return row;
  }

  Dims dims_of(std::uint64_t row, Dims dims) const override {
    const ImageSize size = size_of_image(row);
    const bool last = !is_channels(dims[0]) && is_channels(dims[2]);
    dims[last ? 0 : 1] = size.height;
    dims[last ? 1 : 2] = size.width;
    return dims;
  }

  std::string hint(const PortInfo& input) const override {
    if (!takes_images(input)) return {};
    if (!size_) return "; give the size of the images: --image-size HEIGHTxWIDTH";
    return cat("; --image-size is ", size_->height, "x", size_->width);
  }

  void copy(std::span<const std::uint64_t> rows, const RowType& type,
            std::byte* to) const override {
    const RowLayout layout = layout_of(type.dims);
    const RowCopy convert = find_copy(DType::float32, type.dtype);
    const auto count = static_cast<std::size_t>(Shape(type.dims).size());
    std::vector<float> row(count);
    for (const std::uint64_t index : rows) {
      const Pixels pixels = read(index, layout.size);
      arrange(pixels.values, layout, row.data());
      if (type.dtype == DType::uint8) {
        const float step = pixels.white / 255;
        std::transform(
            row.begin(), row.end(), reinterpret_cast<std::uint8_t*>(to),
            [&](float value) { return static_cast<std::uint8_t>(std::lround(value / step)); });
      } else {
        for (float& value : row) value /= pixels.white;
        convert(row.data(), to, static_cast<std::int64_t>(count));
      }
      to += type.bytes();
    }
  }

  bool is_slow() const override { return true; }
  std::optional<double> white(const RowType& type) const override {
    return type.dtype == DType::uint8 ? 255 : 1;
  }
  std::string file(std::uint64_t row) const override { return files_.path(row); }

  std::optional<std::vector<std::int64_t>> labels() const override { return {}; }

 private:
  static bool takes_images(const PortInfo& input) {
    return (is_float(input.dtype) ? find_copy(DType::float32, input.dtype) != nullptr
                                  : input.dtype == DType::uint8) &&
           input.dims && input.dims->size() == 4;
  }

  Pixels read(std::uint64_t index, ImageSize size) const {
    const auto take = [&](const Tensor& image, const std::shared_ptr<MemoryBudget>& budget) {
      if (!masks_.empty()) {
        require_form({image.shape()[0], image.shape()[1]}, masks_[static_cast<std::size_t>(index)]);
      }
      if (keeps_size_ && (image.shape()[0] != size.height || image.shape()[1] != size.width)) {
        fail(ErrorCode::mismatch, "it has ", image.shape()[0], "x", image.shape()[1],
             " pixels, the first one ", size.height, "x", size.width,
             "; give one size for all: --image-size HEIGHTxWIDTH");
      }
      BudgetShare share(budget);
      share.add(static_cast<std::uint64_t>(resize_bytes(image)));
      const Resampling to = resizes_as_model_
                                ? Resampling{size, ImageFit::stretch, inner_->antialias}
                                : Resampling{size, fit_};
      return Pixels{resize_image(image, to), image.dtype() == DType::uint16 ? 65535.0F : 255.0F};
    };
    return with_image(files_.path(index), decoding_, take);
  }

  ImageSize first_size() const {
    std::call_once(first_read_, [&] { first_size_ = size_of_image(0); });
    return first_size_;
  }

  ImageSize size_of_image(std::uint64_t row) const {
    return with_image(files_.path(row), decoding_, [](const Tensor& image, const auto&) {
      return ImageSize{image.shape()[0], image.shape()[1]};
    });
  }

  FileIndex files_;
  std::vector<ImageSize> masks_;  // that belong to the images; empty: none
  ImageFit fit_;
  std::optional<ImageSize> size_;
  std::optional<InnerResize> inner_;
  bool keeps_own_sizes_;  // of a model that takes pictures of any size
  DecodeBudget decoding_;
  // Size of the first image, used if a model takes raw pixels of any size and no size is given.
  mutable std::once_flag first_read_;
  mutable ImageSize first_size_;
  mutable std::atomic<bool> keeps_size_ = false;
  mutable std::atomic<bool> resizes_as_model_ = false;
};

constexpr std::array<std::string_view, 7> extensions{".png",  ".jpg", ".jpeg", ".bmp",
                                                     ".webp", ".tif", ".tiff"};

std::shared_ptr<const Column> open(std::string name, FileIndex files,
                                   const DatasetOptions& options) {
  return std::make_shared<ImageColumn>(std::move(name), std::move(files), options);
}

void check(const std::string& path, const DecodeBudget& decoding) {
  with_image(path, decoding, [](const Tensor&, const auto&) {});
}

}  // namespace

std::shared_ptr<const Column> images_with_masks(std::string name, FileIndex files,
                                                std::vector<ImageSize> masks,
                                                const DatasetOptions& options) {
  return std::make_shared<ImageColumn>(std::move(name), std::move(files), options,
                                       std::move(masks));
}

constinit const FileKind image_files{"image", "image", "images", extensions, open, check};

}  // namespace ondine::data
