#include "trainer/data/images/mask_column.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <thread>

#include "core/message.h"
#include "core/parallel.h"
#include "trainer/data/convert_row.h"
#include "trainer/data/images/decode_picture.h"

namespace ondine::data {
namespace {

constexpr std::uint8_t most = 255;

// uint8 [H, W, 3], which is grey.
template <class Take>
void with_mask(const std::string& path, const DecodeBudget& decoding, const Take& take) {
  with_picture("mask", path, decoding, {.upright = true}, [&](const Tensor& image, const auto&) {
    const auto pixels = image.values<std::uint8_t>();
    for (std::size_t i = 0; i < pixels.size(); i += 3) {
      if (pixels[i] == pixels[i + 1] && pixels[i] == pixels[i + 2]) continue;
      fail(ErrorCode::mismatch, "it has colours; the grey value of each pixel must be its class");
    }
    take(image.shape(), pixels);
  });
}

class MaskColumn final : public Column {
 public:
  MaskColumn(std::string name, FileIndex files, const MaskClasses& classes,
             std::vector<ImageSize> sizes, const DatasetOptions& options)
      : Column(std::move(name)),
        files_(std::move(files)),
        classes_(classes),
        sizes_(std::move(sizes)),
        keeps_own_sizes_(options.use != DataUse::training),
        fit_(options.image_fit),
        size_(options.image_size),
        inner_(options.inner_resize),
        decoding_(options.limits) {}

  std::uint64_t rows() const override { return files_.size(); }

  PortInfo port() const override {
    PortInfo port;
    port.name = name();
    port.dtype = DType::int64;
    port.type = describe();
    port.dims = {-1, size_ ? size_->height : -1, size_ ? size_->width : -1};
    return port;
  }

  std::string describe() const override { return cat("masks[", files_.size(), "]"); }

  std::optional<Dims> fit(const PortInfo& input) const override {
    if (find_copy(DType::int64, input.dtype) == nullptr || !input.dims) return {};
    Dims row(input.dims->begin() + 1, input.dims->end());
    if (row.size() == 3 && row[0] == 1) row.erase(row.begin());
    if (row.size() != 2) return {};
    const ImageSize known = size_ ? *size_ : inner_ ? inner_->size : ImageSize{};
    const bool has_own_size = keeps_own_sizes_ && known.height == 0 && row[0] < 0 && row[1] < 0;
    if (has_own_size) return Dims(input.dims->begin() + 1, input.dims->end());
    if (row[0] < 0) row[0] = known.height;
    if (row[1] < 0) row[1] = known.width;
    if (row[0] <= 0 || row[1] <= 0) return {};
    if (input.dims->size() == 4) row.insert(row.begin(), 1);
    return row;
  }

  Dims dims_of(std::uint64_t row, Dims dims) const override {
    const ImageSize& own = sizes_[static_cast<std::size_t>(row)];
    dims[dims.size() - 2] = own.height;
    dims.back() = own.width;
    return dims;
  }

  std::string hint(const PortInfo& input) const override {
    const bool may_fit = input.dims && input.dims->size() >= 3;
    return may_fit ? "; give the size of the masks: --image-size HEIGHTxWIDTH" : "";
  }

  void copy(std::span<const std::uint64_t> rows, const RowType& type,
            std::byte* to) const override {
    const RowCopy convert = find_copy(DType::int64, type.dtype);
    const ImageSize size{type.dims[type.dims.size() - 2], type.dims.back()};
    std::vector<std::int64_t> row;
    for (const std::uint64_t index : rows) {
      with_mask(files_.path(index), decoding_, [&](const Shape& shape, auto pixels) {
        row.clear();
        take_nearest(shape, pixels, size, row);
      });
      convert(row.data(), to, static_cast<std::int64_t>(row.size()));
      to += type.bytes();
    }
  }

  bool is_label() const override { return true; }
  bool is_slow() const override { return true; }
  std::string file(std::uint64_t) const override { return {}; }
  std::optional<std::vector<std::int64_t>> labels() const override { return {}; }

 private:
  std::int64_t class_of(std::uint8_t value) const {
    if (classes_.is_black_and_white) return value == most ? 1 : 0;
    return value;
  }

  // Samples the part of the picture that resize_image() takes, by the nearest pixel.
  void take_nearest(const Shape& shape, std::span<const std::uint8_t> pixels, ImageSize size,
                    std::vector<std::int64_t>& row) const {
    const auto height = static_cast<double>(shape[0]);
    const auto width = static_cast<double>(shape[1]);
    double by_row = height / static_cast<double>(size.height);
    double by_column = width / static_cast<double>(size.width);
    if (fit_ == ImageFit::crop && !resizes_as_model())
      by_row = by_column = std::min(by_row, by_column);
    const double top = (height - by_row * static_cast<double>(size.height)) / 2;
    const double left = (width - by_column * static_cast<double>(size.width)) / 2;
    const auto position = [](double start, double scale, std::int64_t i, std::int64_t count) {
      const double center = start + (static_cast<double>(i) + 0.5) * scale;
      return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::floor(center)), 0, count - 1);
    };
    for (std::int64_t y = 0; y < size.height; ++y) {
      const std::int64_t from_y = position(top, by_row, y, shape[0]);
      for (std::int64_t x = 0; x < size.width; ++x) {
        const std::int64_t from_x = position(left, by_column, x, shape[1]);
        row.push_back(class_of(pixels[static_cast<std::size_t>(3 * (from_y * shape[1] + from_x))]));
      }
    }
  }

  bool resizes_as_model() const { return inner_ && !size_; }

  FileIndex files_;
  MaskClasses classes_;
  std::vector<ImageSize> sizes_;
  bool keeps_own_sizes_;
  ImageFit fit_;
  std::optional<ImageSize> size_;
  std::optional<InnerResize> inner_;
  DecodeBudget decoding_;
};

}  // namespace

MaskSurvey survey_masks(const FileIndex& files, const DatasetOptions& options) {
  const auto cores = std::max(1U, std::thread::hardware_concurrency());
  ThreadPool pool(options.threads > 0 ? options.threads : static_cast<int>(cores));
  std::array<bool, 256> occurs{};
  std::mutex mutex;
  const DecodeBudget budget(options.limits);
  const Stop stop = Reading(options).stop();
  MaskSurvey survey;
  survey.sizes.resize(static_cast<std::size_t>(files.size()));
  pool.for_chunks(static_cast<std::int64_t>(files.size()), 16, [&](auto first, auto last) {
    const StopScope scope(stop);
    for (auto i = first; i < last; ++i) {
      check_stop();
      const auto file = static_cast<std::uint64_t>(i);
      with_mask(files.path(file), budget, [&](const Shape& shape, auto pixels) {
        survey.sizes[static_cast<std::size_t>(i)] = {shape[0], shape[1]};
        std::array<bool, 256> found{};
        for (std::size_t at = 0; at < pixels.size(); at += 3) found[pixels[at]] = true;
        const std::scoped_lock lock(mutex);
        for (std::size_t v = 0; v < found.size(); ++v) occurs[v] = occurs[v] || found[v];
      });
    }
  });
  MaskClasses& classes = survey.classes;
  for (std::size_t value = 0; value < most; ++value) {
    if (occurs[value]) classes.count = static_cast<std::int64_t>(value) + 1;
  }
  if (!occurs[most]) return survey;
  classes.is_black_and_white = classes.count <= 1;
  classes.ignores_white = !classes.is_black_and_white;
  if (classes.is_black_and_white) classes.count = 2;
  return survey;
}

std::shared_ptr<const Column> mask_column(std::string name, FileIndex files,
                                          const MaskClasses& classes, std::vector<ImageSize> sizes,
                                          const DatasetOptions& options) {
  return std::make_shared<MaskColumn>(std::move(name), std::move(files), classes, std::move(sizes),
                                      options);
}

}  // namespace ondine::data
