#include <algorithm>

#include "core/message.h"
#include "trainer/data/column.h"
#include "trainer/data/convert_row.h"

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
    const RowCopy convert = find_copy(array_.dtype(), type.dtype);
    std::vector<std::byte> transposed(transposed_ ? from_bytes : 0);
    for (const std::uint64_t row : rows) {
      const std::byte* start = from + static_cast<std::size_t>(row) * from_bytes;
      if (transposed_) {
        transpose(start, transposed.data(), array_.shape(), width);
        start = transposed.data();
      }
      if (array_.dtype() == type.dtype) {
        std::copy_n(start, from_bytes, to);
      } else {
        convert(start, to, count);
      }
      to += to_bytes;
    }
  }

  bool is_label() const override { return is_target_; }

  std::optional<double> white(DType dtype) const override {
    if (array_.dtype() != DType::uint8) return {};
    return dtype == DType::uint8 ? 255 : 1;
  }

  std::optional<std::vector<std::int64_t>> labels() const override {
    const Shape& shape = array_.shape();
    if (shape.empty() || shape.size(1, shape.rank()) != 1 || !is_integer(array_.dtype())) return {};
    const RowCopy convert = find_copy(array_.dtype(), DType::int64);
    std::vector<std::int64_t> labels(rows());
    if (array_.dtype() == DType::int64) {
      std::copy_n(static_cast<const std::int64_t*>(array_.data()), labels.size(), labels.data());
    } else if (convert != nullptr) {
      convert(array_.data(), labels.data(), shape[0]);
    } else {
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

  Tensor array_;
  bool is_target_;
  bool transposed_;
};

}  // namespace

std::size_t RowType::bytes() const {
  return static_cast<std::size_t>(Shape(dims).size()) * size_of(dtype);
}

Dims Column::dims_of(std::uint64_t, Dims dims) const { return dims; }

std::string Column::hint(const PortInfo&) const { return {}; }

std::shared_ptr<const Column> array_column(std::string name, Tensor array, Layout layout) {
  return std::make_shared<ArrayColumn>(std::move(name), std::move(array), layout, false);
}

std::shared_ptr<const Column> target_column(std::string name, Tensor array) {
  return std::make_shared<ArrayColumn>(std::move(name), std::move(array), Layout::nchw, true);
}

}  // namespace ondine::data
