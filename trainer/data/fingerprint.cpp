#include "trainer/data/fingerprint.h"

#include <algorithm>
#include <filesystem>

#include "core/digest.h"
#include "trainer/data/column.h"

namespace ondine::data {
namespace {

constexpr std::uint64_t most_rows = 64;
constexpr std::size_t most_bytes = std::size_t{1} << 24;  // of a column

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

void add_row(Hasher& hasher, const Column& column, std::uint64_t row) {
  const std::string file = column.file(row);
  if (!file.empty()) return hasher.add(std::filesystem::path(file).filename().string());
  if (column.texts() != nullptr) return hasher.add((*column.texts())[row]);
  const PortInfo port = column.port();
  if (!holds_numbers(port) || column.is_slow()) return;
  const RowType type{port.dtype, Dims(port.dims->begin() + 1, port.dims->end())};
  const std::size_t bytes = type.bytes();
  if (bytes > most_bytes / most_rows) return;
  std::vector<std::byte> elements(bytes);
  column.copy(std::span(&row, 1), type, elements.data());
  hasher.add({reinterpret_cast<const char*>(elements.data()), elements.size()});
}

}  // namespace

std::string fingerprint(const Dataset& data) {
  const Dataset::Part& part = PartAccess::of(data);
  const std::uint64_t rows = part.size();
  Hasher hasher;
  hasher.add(rows);
  for (const std::string& name : part.classes) hasher.add(name);
  for (const auto& column : part.columns) {
    hasher.add(column->name());
    hasher.add(to_string(column->port().dtype));
    const std::uint64_t samples = std::min(rows, most_rows);
    for (std::uint64_t i = 0; i < samples; ++i) {
      const std::uint64_t row = part.stored(i * rows / samples);
      // Other columns may have fewer rows than those that are learned from.
      if (row < column->rows()) add_row(hasher, *column, row);
    }
  }
  return hasher.finish();
}

}  // namespace ondine::data
