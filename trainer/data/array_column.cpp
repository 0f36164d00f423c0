#include <algorithm>

#include "core/element_bytes.h"
#include "core/message.h"
#include "core/text/letters.h"
#include "trainer/data/column.h"
#include "trainer/data/convert_row.h"
#include "trainer/data/file_names.h"

namespace ondine::data {
namespace {

// [H, W, C] to [C, H, W].
void transpose(const std::byte* from, std::byte* to, const Shape& array, std::size_t width) {
  const auto pixels = static_cast<std::size_t>(array[1] * array[2]);
  const auto channels = static_cast<std::size_t>(array[3]);
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t p = 0; p < pixels; ++p) {
      std::copy_n(from + (p * channels + c) * width, width, to + (c * pixels + p) * width);
    }
  }
}

class ArrayColumn final : public Column {
 public:
  ArrayColumn(std::string name, Tensor array, Layout layout, bool is_target)
      : Column(std::move(name)),
        array_(std::move(array)),
        is_target_(is_target),
        layout_(layout),
        transposed_(layout == Layout::nhwc && array_.shape().rank() == 4) {}

  std::uint64_t rows() const override {
    return array_.shape().empty() ? 0 : static_cast<std::uint64_t>(array_.shape()[0]);
  }

  PortInfo port() const override {
    PortInfo port;
    port.name = name();
    port.dtype = array_.dtype();
    port.type = describe();
    port.dims = stored_dims();
    if (!array_.shape().empty()) port.dims->insert(port.dims->begin(), -1);
    return port;
  }

  std::string describe() const override { return cat(array_.dtype(), array_.shape()); }

  std::optional<Dims> fit(const PortInfo& input) const override {
    const DType dtype = array_.dtype();
    if (array_.shape().empty()) return {};
    if (input.dtype == DType::string || dtype == DType::string) return {};
    if (dtype != input.dtype && find_copy(dtype, input.dtype) == nullptr) return {};
    if (!input.dims) return stored_dims();
    if (input.dims->empty()) return {};
    return fit_dims(std::span(*input.dims).subspan(1), stored_dims());
  }

  std::string hint(const PortInfo& input) const override {
    if (!input.dims || input.dims->size() != 4 || array_.shape().rank() != 4) return {};
    if (!fit_dims(std::span(*input.dims).subspan(1), swapped_dims())) return {};
    return cat("; rows ", Shape(stored_dims()), " would fit as ", Shape(swapped_dims()),
               transposed_
                   ? ": leave out --layout nhwc"
                   : ": if channels come last in the data, transpose it with --layout nhwc");
  }

  void copy(std::span<const std::uint64_t> rows, const RowType& type,
            std::byte* to) const override {
    const std::int64_t count = array_.shape().size(1, array_.shape().rank());
    const std::size_t width = size_of(array_.dtype());
    const std::size_t from_bytes = static_cast<std::size_t>(count) * width;
    const std::size_t to_bytes = static_cast<std::size_t>(count) * size_of(type.dtype);
    const auto* from = static_cast<const std::byte*>(array_.data());
    const RowCopy convert =
        type.is_scaled ? find_pixel_copy(type.dtype) : find_copy(array_.dtype(), type.dtype);
    std::vector<std::byte> transposed(transposed_ ? from_bytes : 0);
    for (const std::uint64_t row : rows) {
      const std::byte* start = from + static_cast<std::size_t>(row) * from_bytes;
      if (transposed_) {
        transpose(start, transposed.data(), array_.shape(), width);
        start = transposed.data();
      }
      if (array_.dtype() == type.dtype) {
        std::copy_n(start, from_bytes, to);
      } else if (const std::int64_t done = convert(start, to, count); done != count) {
        refuse(row, start + static_cast<std::size_t>(done) * width, type.dtype);
      }
      to += to_bytes;
    }
  }

  bool is_label() const override { return is_target_; }

  std::shared_ptr<const Column> exact(const PortInfo& input) const override {
    const Shape& shape = array_.shape();
    const RowCopy convert = find_exact_copy(array_.dtype(), input.dtype);
    if (shape.empty() || convert == nullptr || array_.dtype() == input.dtype) return nullptr;
    if (find_copy(array_.dtype(), input.dtype) != nullptr) return nullptr;
    if (input.dims &&
        (input.dims->empty() || !fit_dims(std::span(*input.dims).subspan(1), stored_dims()))) {
      return nullptr;
    }
    Tensor whole(input.dtype, shape);
    const std::int64_t count = shape.size(1, shape.rank());
    const auto* from = static_cast<const std::byte*>(array_.data());
    auto* to = static_cast<std::byte*>(whole.mutable_data());
    for (std::int64_t row = 0; row < shape[0]; ++row) {
      if (convert(from, to, count) != count) return nullptr;
      from += static_cast<std::size_t>(count) * size_of(array_.dtype());
      to += static_cast<std::size_t>(count) * size_of(input.dtype);
    }
    return std::make_shared<ArrayColumn>(name(), std::move(whole), layout_, is_target_);
  }

  bool has_large_bytes() const override {
    if (array_.dtype() != DType::uint8) return false;
    const auto bytes = array_.values<std::uint8_t>();
    return std::any_of(bytes.begin(), bytes.end(), [](std::uint8_t value) { return value > 1; });
  }

  std::optional<double> white(const RowType& type) const override {
    if (type.is_scaled) return 1;
    if (array_.dtype() == DType::uint8 && type.dtype == DType::uint8) return 255;
    return {};
  }

  std::optional<std::vector<std::int64_t>> labels() const override {
    const Shape& shape = array_.shape();
    if (shape.empty() || shape.size(1, shape.rank()) != 1 || !is_integer(array_.dtype())) return {};
    const RowCopy convert = find_copy(array_.dtype(), DType::int64);
    std::vector<std::int64_t> labels(rows());
    if (array_.dtype() == DType::int64) {
      std::copy_n(static_cast<const std::int64_t*>(array_.data()), labels.size(), labels.data());
    } else if (convert == nullptr || convert(array_.data(), labels.data(), shape[0]) != shape[0]) {
      return {};
    }
    return labels;
  }

 private:
  Dims stored_dims() const {
    if (array_.shape().empty()) return {};
    return transposed_ ? last_first() : Dims(array_.shape().begin() + 1, array_.shape().end());
  }
  Dims last_first() const { return {array_.shape()[3], array_.shape()[1], array_.shape()[2]}; }
  // The rows of an array of rank 4 in the other layout.
  Dims swapped_dims() const {
    return transposed_ ? Dims(array_.shape().begin() + 1, array_.shape().end()) : last_first();
  }

  [[noreturn]] void refuse(std::uint64_t row, const std::byte* element, DType dtype) const {
    double value = 0;
    find_copy(array_.dtype(), DType::float64)(element, &value, 1);
    fail(ErrorCode::mismatch, "row ", row, " of array ", quoted(name()), ": ", value,
         " is too large for an input of type ", dtype);
  }

  Tensor array_;
  bool is_target_;
  Layout layout_;
  bool transposed_;
};

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// The names that labels, masks and targets have where nothing else says what they are.
bool is_target_name(const std::string& name) {
  return contains({"label", "labels", "target", "targets", "mask", "masks"}, lower_case(name));
}

bool is_image(std::span<const std::int64_t> row) {
  return std::count_if(row.begin(), row.end(), [](auto dim) { return dim != 1; }) >= 2;
}

}  // namespace

std::size_t RowType::bytes() const { return element_bytes(Shape(dims).size(), dtype); }

Dims Column::dims_of(std::uint64_t, Dims dims) const { return dims; }

std::string Column::hint(const PortInfo&) const { return {}; }

bool are_pixels(const Column& column, const PortInfo& input, const Dims& row,
                const FeedRoles& roles) {
  const PortInfo port = column.port();
  if (port.dtype != DType::uint8 || find_pixel_copy(input.dtype) == nullptr) return false;
  if (roles.scaled) return contains(*roles.scaled, input.name);
  const bool is_target = contains(roles.targets, input.name) || is_target_name(input.name) ||
                         is_target_name(column.name());
  const std::span stored(*port.dims);
  return !is_target && (is_image(row) || is_image(stored.subspan(1))) && column.has_large_bytes();
}

std::shared_ptr<const Column> array_column(std::string name, Tensor array, Layout layout) {
  return std::make_shared<ArrayColumn>(std::move(name), std::move(array), layout, false);
}

std::shared_ptr<const Column> target_column(std::string name, Tensor array) {
  return std::make_shared<ArrayColumn>(std::move(name), std::move(array), Layout::nchw, true);
}

}  // namespace ondine::data
