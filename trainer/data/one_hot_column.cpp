// Labels as probabilities.
#include <algorithm>

#include "core/message.h"
#include "trainer/data/column.h"
#include "trainer/data/convert_row.h"

namespace ondine::data {
namespace {

class OneHotColumn final : public Column {
 public:
  OneHotColumn(const Column& labels, std::int64_t classes)
      : Column(labels.name()), labels_(*labels.labels()), classes_(classes) {
    for (std::size_t row = 0; row < labels_.size(); ++row) {
      if (labels_[row] >= 0 && labels_[row] < classes) continue;
      fail(ErrorCode::mismatch, "label ", labels_[row], " in row ", row, " of ", quoted(name()),
           " is none of ", classes, " classes");
    }
  }

  std::uint64_t rows() const override { return labels_.size(); }

  PortInfo port() const override {
    PortInfo port;
    port.name = name();
    port.dtype = DType::float32;
    port.type = describe();
    port.dims = {-1, classes_};
    return port;
  }

  std::string describe() const override {
    return cat("labels[", labels_.size(), ", ", classes_, "]");
  }

  std::optional<Dims> fit(const PortInfo&) const override { return Dims{classes_}; }

  void copy(std::span<const std::uint64_t> rows, const RowType& type,
            std::byte* to) const override {
    const RowCopy convert = find_copy(DType::float64, type.dtype);
    std::vector<double> row(static_cast<std::size_t>(classes_));
    for (const std::uint64_t index : rows) {
      std::fill(row.begin(), row.end(), 0.0);
      row[static_cast<std::size_t>(labels_[index])] = 1;
      convert(row.data(), to, classes_);
      to += type.bytes();
    }
  }

  std::optional<std::vector<std::int64_t>> labels() const override { return labels_; }

 private:
  std::vector<std::int64_t> labels_;
  std::int64_t classes_;
};

}  // namespace

std::shared_ptr<const Column> one_hot_column(const Column& labels, std::int64_t classes) {
  return std::make_shared<OneHotColumn>(labels, classes);
}

}  // namespace ondine::data
