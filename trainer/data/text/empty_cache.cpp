#include "trainer/data/text/empty_cache.h"

#include "trainer/data/text/beside_ids.h"
#include "trainer/text/cache_inputs.h"

namespace ondine::data {
namespace {

class EmptyCache final : public Column {
 public:
  EmptyCache(std::string name, std::shared_ptr<const Column> ids)
      : Column(std::move(name)), ids_(std::move(ids)) {}

  std::uint64_t rows() const override { return ids_->rows(); }
  PortInfo port() const override {
    PortInfo port;
    port.name = name();
    port.type = describe();
    return port;
  }
  std::string describe() const override { return "of no tokens before " + ids_->describe(); }
  std::optional<Dims> fit(const PortInfo& input) const override {
    const auto axis = text::token_axis_of_cache(input);
    if (!axis) return {};
    Dims dims(input.dims->begin() + 1, input.dims->end());
    dims[*axis - 1] = 0;
    return dims;
  }
  // A row has no elements.
  void copy(std::span<const std::uint64_t>, const RowType&, std::byte*) const override {}
  std::optional<std::vector<std::int64_t>> labels() const override { return {}; }

 private:
  std::shared_ptr<const Column> ids_;
};

}  // namespace

std::shared_ptr<const Column> empty_cache(std::span<const std::shared_ptr<const Column>> columns,
                                          const PortInfo& input) {
  if (!text::token_axis_of_cache(input)) return nullptr;
  std::shared_ptr<const Column> ids = only_ids(columns);
  return ids == nullptr ? nullptr : std::make_shared<EmptyCache>(input.name, std::move(ids));
}

}  // namespace ondine::data
