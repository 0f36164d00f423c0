#include "trainer/data/table/string_column.h"

#include <algorithm>

#include "core/message.h"

namespace ondine::data {
namespace {

class StringColumn final : public Column {
 public:
  StringColumn(std::string name, std::vector<std::string> texts)
      : Column(std::move(name)), texts_(std::move(texts)) {}

  std::uint64_t rows() const override { return texts_.size(); }

  PortInfo port() const override {
    PortInfo port;
    port.name = name();
    port.dtype = DType::string;
    port.type = describe();
    port.dims = {-1};
    return port;
  }

  std::string describe() const override {
    return cat(DType::string, Shape{static_cast<std::int64_t>(texts_.size())});
  }

  std::optional<Dims> fit(const PortInfo& input) const override {
    if (input.dtype != DType::string) return {};
    if (!input.dims) return Dims{};
    if (input.dims->empty()) return {};
    return fit_dims(std::span(*input.dims).subspan(1), {});
  }

  void copy(std::span<const std::uint64_t> rows, const RowType&, std::byte* to) const override {
    auto* text = reinterpret_cast<std::string*>(to);
    for (const std::uint64_t row : rows) *text++ = texts_.at(static_cast<std::size_t>(row));
  }

  std::optional<std::vector<std::int64_t>> labels() const override { return {}; }
  const std::vector<std::string>* texts() const noexcept override { return &texts_; }

 private:
  std::vector<std::string> texts_;
};

}  // namespace

std::shared_ptr<const Column> string_column(std::string name, std::vector<std::string> texts) {
  return std::make_shared<StringColumn>(std::move(name), std::move(texts));
}

}  // namespace ondine::data
