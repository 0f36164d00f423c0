#include "trainer/data/fingerprint.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/digest.h"
#include "trainer/data/column.h"

namespace ondine::data {
namespace {

// How much of a column counts.
struct Extent {
  std::uint64_t rows;
  std::size_t bytes;
};
constexpr Extent sampled{64, std::size_t{1} << 24};
constexpr Extent thorough{std::uint64_t{1} << 20, std::size_t{1} << 28};

// Texts are hashed with their length, so that different data hash different bytes.
class Hasher {
 public:
  void add(std::uint64_t number) { add(std::to_string(number)); }
  void add(std::string_view text) {
    const std::string length = std::to_string(text.size()) + ":";
    hash_.update(bytes_of(length));
    hash_.update(bytes_of(text));
  }
  std::string finish() { return to_hex(hash_.finish()).substr(0, 16); }

 private:
  Sha256 hash_;
};

bool holds_numbers(const PortInfo& port) {
  const bool has_dims = port.dims && std::all_of(port.dims->begin() + 1, port.dims->end(),
                                                 [](std::int64_t dim) { return dim >= 0; });
  return has_dims && port.dtype != DType::undefined && port.dtype != DType::string;
}

// The type of rows whose elements are read; nothing for other columns.
std::optional<RowType> read_type(const Column& column) {
  const PortInfo port = column.port();
  if (!holds_numbers(port) || column.is_slow()) return {};
  return RowType{port.dtype, Dims(port.dims->begin() + 1, port.dims->end())};
}

void add_row(Hasher& hasher, const Column& column, const std::optional<RowType>& type,
             std::uint64_t row, std::vector<std::byte>& elements) {
  const std::string file = column.file(row);
  if (!file.empty()) return hasher.add(std::filesystem::path(file).filename().string());
  if (column.texts() != nullptr) return hasher.add((*column.texts())[row]);
  if (!type) return;
  elements.resize(type->bytes());
  column.copy(std::span(&row, 1), *type, elements.data());
  hasher.add({reinterpret_cast<const char*>(elements.data()), elements.size()});
}

// Rows of the part at even distances.
void add_column(Hasher& hasher, const Column& column, const Dataset::Part& part, Extent extent) {
  hasher.add(column.name());
  hasher.add(to_string(column.port().dtype));
  const std::uint64_t rows = part.size();
  std::uint64_t samples = std::min(rows, extent.rows);
  std::optional<RowType> type = read_type(column);
  const std::size_t bytes = type ? type->bytes() : 0;
  if (bytes > extent.bytes / sampled.rows) {
    type.reset();
  } else if (bytes != 0 && extent.rows != sampled.rows) {
    samples = std::min<std::uint64_t>(samples, extent.bytes / bytes);
  }
  std::vector<std::byte> elements;
  for (std::uint64_t i = 0; i < samples; ++i) {
    const std::uint64_t row = part.stored(i * rows / samples);
    // Other columns may have fewer rows than those that are learned from.
    if (row < column.rows()) add_row(hasher, column, type, row, elements);
  }
}

std::string hash_of(const Dataset& data, Extent extent) {
  const Dataset::Part& part = PartAccess::of(data);
  Hasher hasher;
  hasher.add(part.size());
  for (const std::string& name : part.classes) hasher.add(name);
  for (const auto& column : part.columns) add_column(hasher, *column, part, extent);
  return hasher.finish();
}

}  // namespace

std::string fingerprint(const Dataset& data) { return hash_of(data, sampled); }

std::string thorough_fingerprint(const Dataset& data) { return hash_of(data, thorough); }

}  // namespace ondine::data
