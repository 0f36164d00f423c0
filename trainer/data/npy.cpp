// The .npy format of NumPy, versions 1 to 3: magic, version, length, a Python dict as text,
// elements.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <ondine/data.h>

#include "core/byte_order.h"
#include "core/files/atomic_file.h"
#include "core/out_of_memory.h"
#include "trainer/data/open_data.h"

namespace ondine {
namespace {

constexpr std::array<std::pair<std::string_view, DType>, 15> type_codes{{
    {"f4", DType::float32},
    {"f8", DType::float64},
    {"f2", DType::float16},
    {"u1", DType::uint8},
    {"u2", DType::uint16},
    {"u4", DType::uint32},
    {"u8", DType::uint64},
    {"i1", DType::int8},
    {"i2", DType::int16},
    {"i4", DType::int32},
    {"i8", DType::int64},
    {"b1", DType::boolean},
    {"?", DType::boolean},
    {"c8", DType::complex64},
    {"c16", DType::complex128},
}};

// Text that follows 'key': in the dict.
std::string_view field(std::string_view header, std::string_view key) {
  const std::string quoted_key = "'" + std::string(key) + "'";
  const std::size_t at = header.find(quoted_key);
  const std::size_t colon = at == std::string_view::npos ? at : header.find(':', at);
  if (colon == std::string_view::npos) {
    fail(ErrorCode::corrupt, "the .npy header has no ", quoted_key);
  }
  header.remove_prefix(colon + 1);
  header.remove_prefix(std::min(header.find_first_not_of(' '), header.size()));
  return header;
}

// Description of elements that are no numbers.
const char* kind_of_elements(std::string_view code) {
  switch (code.empty() ? '\0' : code.front()) {
    case 'U':
    case 'S':
    case 'a':
      return ", texts";
    case 'O':
      return ", Python objects";
    case 'M':
    case 'm':
      return ", dates or times";
    default:
      return "";
  }
}

Shape parse_shape(std::string_view text, const Limits& limits) {
  if (text.empty() || text.front() != '(') fail(ErrorCode::corrupt, "bad shape in .npy header");
  Shape shape;
  text.remove_prefix(1);
  while (true) {
    text.remove_prefix(std::min(text.find_first_not_of(", "), text.size()));
    if (text.empty()) fail(ErrorCode::corrupt, "bad shape in .npy header");
    if (text.front() == ')') return shape;
    std::int64_t extent = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (error != std::errc()) fail(ErrorCode::corrupt, "bad shape in .npy header");
    if (shape.rank() == limits.rank) {
      fail(ErrorCode::limit, "an array of more than ", limits.rank, " dims");
    }
    shape.push_back(extent);
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    if (text.starts_with('L')) text.remove_prefix(1);  // Python 2 wrote long integers so
  }
}

// Column-major elements of `shape` to row-major ones.
Tensor to_row_major(const Tensor& columns, const Shape& shape) {
  Tensor result(columns.dtype(), shape);
  const std::size_t rank = shape.rank();
  const std::size_t width = size_of(columns.dtype());
  const auto* from = static_cast<const std::byte*>(columns.data());
  auto* to = static_cast<std::byte*>(result.mutable_data());
  Shape index = Shape::filled(rank, 0);
  const std::int64_t count = shape.size();
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t source = 0;
    for (std::size_t axis = rank; axis-- > 0;) source = source * shape[axis] + index[axis];
    std::memcpy(to + static_cast<std::size_t>(i) * width,
                from + static_cast<std::size_t>(source) * width, width);
    for (std::size_t axis = rank; axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
  return result;
}

std::string read_header(Source& source) {
  std::array<std::byte, 8> magic{};
  source.read(magic);
  const int version = std::to_integer<int>(magic[6]);
  if (version < 1 || version > 3) fail(ErrorCode::unsupported, ".npy version ", version);
  std::array<std::byte, 4> length{};
  source.read(std::span(length).first(version == 1 ? 2 : 4));
  std::uint32_t bytes = 0;
  for (std::size_t i = 4; i-- > 0;) bytes = bytes << 8 | std::to_integer<std::uint32_t>(length[i]);
  if (bytes > source.size() - source.position()) fail(ErrorCode::corrupt, "cut off .npy header");
  std::string header(bytes, ' ');
  source.read(std::as_writable_bytes(std::span(header)));
  return header;
}

}  // namespace

Tensor read_npy(SharedSource& source, const Limits& limits) {
  const std::string header = read_header(source);
  std::string_view descr = field(header, "descr");
  if (descr.size() < 3 || descr.front() != '\'') {
    fail(ErrorCode::unsupported, "structured .npy arrays");
  }
  descr = descr.substr(1, descr.find('\'', 1) - 1);
  const bool big_endian = descr.starts_with('>');
  const std::string_view code =
      descr.substr(descr.empty() || descr.find_first_not_of("<>|=") == 0 ? 0 : 1);
  const auto known = std::find_if(type_codes.begin(), type_codes.end(),
                                  [&](const auto& one) { return one.first == code; });
  if (known == type_codes.end()) {
    fail(ErrorCode::unsupported, ".npy element type ", quoted(descr), kind_of_elements(code));
  }
  const Shape shape = parse_shape(field(header, "shape"), limits);
  const bool columns = field(header, "fortran_order").starts_with("True");
  Tensor result = read_tensor(source, known->second, shape, big_endian, limits);
  return columns && shape.rank() > 1 ? to_row_major(result, shape) : result;
}

void write_npy(Sink& sink, const Tensor& tensor) {
  const auto known = std::find_if(type_codes.begin(), type_codes.end(),
                                  [&](const auto& one) { return one.second == tensor.dtype(); });
  if (known == type_codes.end()) {
    fail(ErrorCode::unsupported, "the .npy format has no elements of type ", tensor.dtype());
  }
  std::string shape;
  for (const std::int64_t extent : tensor.shape()) shape += std::to_string(extent) + ",";
  std::string header = "{'descr': '" + std::string(size_of(tensor.dtype()) == 1 ? "|" : "<") +
                       std::string(known->first) + "', 'fortran_order': False, 'shape': (" + shape +
                       "), }";
  // Elements start at a multiple of 64.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header += '\n';
  // At most 32 dims take less than the 65,535 bytes of version 1.
  std::string start("\x93NUMPY\x01\x00", 8);
  start += static_cast<char>(header.size() & 0xff);
  start += static_cast<char>(header.size() >> 8);
  sink.write(std::as_bytes(std::span(start)));
  sink.write(std::as_bytes(std::span(header)));
  const std::span elements(static_cast<const std::byte*>(tensor.data()), tensor.bytes());
  if (!other_byte_order) return sink.write(elements);
  std::vector<std::byte> swapped(elements.begin(), elements.end());
  swap_numbers(swapped, tensor.dtype());
  sink.write(swapped);
}

void save_array(const std::filesystem::path& file, const Tensor& tensor) {
  guard_memory("save the array", [&] {
    PosixFileSystem files;
    atomic_write(files, file.string(), [&](Sink& sink) { write_npy(sink, tensor); });
  });
}

}  // namespace ondine
