#include "trainer/data/text/pair_columns.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/message.h"
#include "trainer/data/text/id_column.h"
#include "trainer/data/text/passage.h"

namespace ondine::data {
namespace {

constexpr const char* types_name = "token_type_ids";

struct Typed {
  std::int64_t id;
  std::int64_t type;
};

struct SharedPairs {
  PairRows rows;
  RowLength row_length;
  std::int64_t length;  // 0: that of the longest pair

  std::uint64_t ids_of(std::uint64_t row) const { return ids_of(rows, row); }
  static std::uint64_t ids_of(const PairRows& rows, std::uint64_t row) {
    return special_tokens(rows) + size_of(rows.first()[row]) + size_of(rows.second()[row]);
  }
  static std::uint64_t special_tokens(const PairRows& rows) {
    const PairTemplate& joined = rows.joined();
    return joined.before.ids.size() + joined.between.ids.size() + joined.after.ids.size();
  }

  // How many ids of both texts stay where they are to be at most `room`.
  std::pair<std::uint64_t, std::uint64_t> kept(std::uint64_t row, std::uint64_t room) const {
    const std::uint64_t first = size_of(rows.first()[row]);
    const std::uint64_t second = size_of(rows.second()[row]);
    if (first + second <= room) return {first, second};
    const std::uint64_t half = room / 2;
    const std::uint64_t rest = half + room % 2;
    if (std::min(first, second) <= half) {
      return first < second ? std::pair(first, room - first) : std::pair(room - second, second);
    }
    return first <= second ? std::pair(half, rest) : std::pair(rest, half);
  }

  // At most `length` ids.
  std::vector<Typed> row(std::uint64_t row, std::uint64_t length) const {
    const PairTemplate& joined = rows.joined();
    const std::uint64_t special = special_tokens(rows);
    const auto [first, second] = kept(row, length - std::min(length, special));
    std::vector<Typed> result;
    const auto add_special = [&](const PairTemplate::Part& part) {
      for (std::size_t i = 0; i < part.ids.size(); ++i) {
        result.push_back({part.ids[i], part.types[i]});
      }
    };
    const auto add_text = [&](const StoredIds& ids, std::uint64_t count, std::int64_t type) {
      std::visit(
          [&](auto all) {
            for (const auto id : all.first(count)) {
              result.push_back({static_cast<std::int64_t>(id), type});
            }
          },
          ids);
    };
    add_special(joined.before);
    add_text(rows.first()[row], first, joined.first_type);
    add_special(joined.between);
    add_text(rows.second()[row], second, joined.second_type);
    add_special(joined.after);
    if (result.size() > length) result.resize(length);
    return result;
  }
};

class PairColumn final : public Column {
 public:
  PairColumn(std::string name, std::shared_ptr<const SharedPairs> shared, bool is_types)
      : Column(std::move(name)), shared_(std::move(shared)), is_types_(is_types) {}

  std::uint64_t rows() const override { return shared_->rows.size(); }
  PortInfo port() const override {
    PortInfo port;
    port.name = name();
    port.dtype = DType::int64;
    port.type = describe();
    port.dims = {-1, shared_->row_length.get()};
    return port;
  }
  std::string describe() const override {
    return cat(is_types_ ? "types of pairs[" : "pairs of texts[", rows(), ", ",
               shared_->row_length.get(), "]");
  }
  std::optional<Dims> fit(const PortInfo& input) const override {
    if (!takes_ids(input) || (is_types_ && input.name != name())) return {};
    const bool is_open = !input.dims || input.dims->back() < 0;
    return Dims{is_open ? shared_->row_length.get() : input.dims->back()};
  }
  void copy(std::span<const std::uint64_t> rows, const RowType& type,
            std::byte* to) const override {
    if (type.dtype == DType::int32) return write(rows, type, reinterpret_cast<std::int32_t*>(to));
    write(rows, type, reinterpret_cast<std::int64_t*>(to));
  }
  void check_batch(std::uint64_t rows, const RowType& type) const override {
    shared_->row_length.check_batch(rows, type);
  }
  std::string note() const override {
    return is_types_ ? std::string() : shared_->row_length.note();
  }
  std::optional<std::uint64_t> ids_of(std::uint64_t row) const override {
    if (is_types_) return {};
    return shared_->ids_of(row);
  }
  std::optional<std::vector<std::int64_t>> labels() const override { return {}; }
  const SharedPairs& pairs() const noexcept { return *shared_; }

 private:
  template <class Id>
  void write(std::span<const std::uint64_t> rows, const RowType& type, Id* to) const {
    const auto length = static_cast<std::size_t>(type.dims[0]);
    const std::int64_t padding = is_types_ ? 0 : shared_->rows.first().encoding().padding_id();
    for (const std::uint64_t row : rows) {
      Id* const end = to + length;
      for (const Typed& one : shared_->row(row, length)) {
        *to++ = static_cast<Id>(is_types_ ? one.type : one.id);
      }
      std::fill(to, end, static_cast<Id>(padding));
      to = end;
    }
  }

  std::shared_ptr<const SharedPairs> shared_;
  bool is_types_;
};

PairTemplate template_of(const TextEncoding& encoding) {
  std::optional<PairTemplate> joined = encoding.pair_template();
  if (joined) return *std::move(joined);
  fail(ErrorCode::unsupported,
       "pairs of texts need a tokenizer that says how they are joined, the "
       "post_processor of a tokenizer.json (--tokenizer); ",
       encoding.name(), " does not");
}

TextRows with_special_tokens(const TextRows& bare) {
  const TextEncoding& encoding = bare.encoding();
  TextRows rows(encoding);
  std::vector<std::int64_t> ids;
  for (std::uint64_t row = 0; row < bare.size(); ++row) {
    ids.assign(encoding.beginning().begin(), encoding.beginning().end());
    std::visit([&](auto all) { ids.insert(ids.end(), all.begin(), all.end()); }, bare[row]);
    ids.insert(ids.end(), encoding.ending().begin(), encoding.ending().end());
    rows.add(ids);
  }
  return rows;
}

}  // namespace

PairRows::PairRows(const TextEncoding& encoding)
    : joined_(template_of(encoding)), first_(encoding), second_(encoding) {}

void PairRows::add(const std::string& first, const std::string& second) {
  first_.add(encode_bare(first, first_.encoding()));
  second_.add(encode_bare(second, second_.encoding()));
}

PairColumns pair_columns(const std::string& name, PairRows rows, std::int64_t length) {
  const RowLength of_row(length, rows.size(),
                         [&](std::uint64_t row) { return SharedPairs::ids_of(rows, row); });
  const auto shared =
      std::make_shared<const SharedPairs>(SharedPairs{std::move(rows), of_row, length});
  return {std::make_shared<PairColumn>(name, shared, false),
          std::make_shared<PairColumn>(types_name, shared, true)};
}

bool has_pairs(const Column& column) { return dynamic_cast<const PairColumn*>(&column) != nullptr; }

std::optional<TextsApart> texts_apart(std::span<const std::shared_ptr<const Column>> columns) {
  const auto at =
      std::ranges::find_if(columns, [](const auto& column) { return has_pairs(*column); });
  if (at == columns.end()) return {};
  const SharedPairs& pairs = static_cast<const PairColumn&>(**at).pairs();
  TextRows first = with_special_tokens(pairs.rows.first());
  TextRows second = with_special_tokens(pairs.rows.second());
  std::int64_t length = pairs.length;
  if (length == 0) {
    for (std::uint64_t row = 0; row < first.size(); ++row) {
      const std::size_t longer = std::max(size_of(first[row]), size_of(second[row]));
      length = std::max(length, static_cast<std::int64_t>(longer));
    }
  }
  const std::string name = (*at)->name();
  return TextsApart{text_column(name, std::move(first), length),
                    text_column(name + "_pair", std::move(second), length)};
}

}  // namespace ondine::data
