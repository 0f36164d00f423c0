#include "trainer/import_ort/flat_table.h"

#include <cstring>

namespace ondine::trainer {
namespace {

// Strings and directories may be shared by well-formed files.
constexpr std::uint64_t most_reads_per_byte = 4;

[[noreturn]] void fail_outside(std::uint64_t at, std::uint64_t count, std::uint64_t size) {
  fail(ErrorCode::corrupt, "refers to ", count, " bytes at ", at, " in a file of ", size);
}

std::uint64_t follow(const FlatBuffer& file, std::uint64_t at) {
  const auto distance = file.read<std::uint32_t>(at);
  if (distance == 0) fail(ErrorCode::corrupt, "refers to nothing at byte ", at);
  return at + distance;
}

}  // namespace

FlatBuffer::FlatBuffer(std::span<const std::byte> bytes)
    : bytes_(bytes), left_(bytes.size() * most_reads_per_byte) {}

std::span<const std::byte> FlatBuffer::range(std::uint64_t at, std::uint64_t count) const {
  if (at > bytes_.size() || count > bytes_.size() - at) fail_outside(at, count, bytes_.size());
  return bytes_.subspan(at, count);
}

void FlatBuffer::charge(std::uint64_t bytes) {
  if (bytes > left_) {
    fail(ErrorCode::corrupt, "refers to the same bytes too often for a file of ", bytes_.size(),
         " bytes");
  }
  left_ -= bytes;
}

FlatTable FlatTable::root(FlatBuffer& file, std::string_view identifier) {
  const auto found = file.range(4, identifier.size());
  if (std::memcmp(found.data(), identifier.data(), identifier.size()) != 0) {
    fail(ErrorCode::corrupt, "has no identifier ", quoted(identifier), " at byte 4");
  }
  return {file, follow(file, 0)};
}

FlatTable::FlatTable(FlatBuffer& file, std::uint64_t at) : file_(&file), at_(at) {
  // The directory may lie before the table or after it.
  const std::int64_t distance = file.read<std::int32_t>(at);
  const std::int64_t directory = static_cast<std::int64_t>(at) - distance;
  if (directory < 0) fail_outside(at, sizeof(std::int32_t), file.size());
  directory_ = static_cast<std::uint64_t>(directory);
  directory_size_ = file.read<std::uint16_t>(directory_);
  size_ = file.read<std::uint16_t>(directory_ + 2);
  if (directory_size_ < 4 || directory_size_ % 2 != 0 || size_ < 4) {
    fail(ErrorCode::corrupt, "table at byte ", at, " has a damaged directory");
  }
  file.range(directory_, directory_size_);
  file.range(at, size_);
  file.charge(size_);
}

std::optional<std::uint64_t> FlatTable::place(std::size_t field, std::size_t count) const {
  const std::size_t entry = 4 + 2 * field;
  if (entry + 2 > directory_size_) return {};
  const auto offset = file_->read<std::uint16_t>(directory_ + entry);
  if (offset == 0) return {};
  if (offset < 4 || offset + count > size_) {
    fail(ErrorCode::corrupt, "field ", field, " of the table at byte ", at_, " lies outside of it");
  }
  return at_ + offset;
}

std::optional<std::uint64_t> FlatTable::target(std::size_t field) const {
  const auto at = place(field, sizeof(std::uint32_t));
  if (!at) return {};
  return follow(*file_, *at);
}

FlatTable::Elements FlatTable::elements(std::size_t field, std::size_t element_size) const {
  const auto at = target(field);
  if (!at) return {};
  const auto count = file_->read<std::uint32_t>(*at);
  const std::uint64_t first = *at + sizeof(count);
  const std::uint64_t bytes = std::uint64_t{count} * element_size;
  file_->range(first, bytes);
  file_->charge(bytes);
  return {first, count};
}

std::string FlatTable::text(std::size_t field) const {
  const auto found = bytes(field);
  return {reinterpret_cast<const char*>(found.data()), found.size()};
}

std::span<const std::byte> FlatTable::bytes(std::size_t field) const {
  const Elements found = elements(field, 1);
  return file_->range(found.at, found.count);
}

std::optional<FlatTable> FlatTable::table(std::size_t field) const {
  const auto at = target(field);
  if (!at) return {};
  return FlatTable(*file_, *at);
}

std::vector<FlatTable> FlatTable::tables(std::size_t field) const {
  const Elements found = elements(field, sizeof(std::uint32_t));
  std::vector<FlatTable> result;
  for (std::uint32_t i = 0; i < found.count; ++i) {
    const std::uint64_t at = found.at + std::uint64_t{i} * sizeof(std::uint32_t);
    result.push_back(FlatTable(*file_, follow(*file_, at)));
  }
  return result;
}

std::vector<std::int64_t> FlatTable::int64s(std::size_t field) const {
  const Elements found = elements(field, sizeof(std::int64_t));
  std::vector<std::int64_t> result;
  for (std::uint32_t i = 0; i < found.count; ++i) {
    result.push_back(file_->read<std::int64_t>(found.at + std::uint64_t{i} * sizeof(std::int64_t)));
  }
  return result;
}

}  // namespace ondine::trainer
