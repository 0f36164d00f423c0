#include "trainer/data/open_data.h"

#include <zlib.h>

#include <algorithm>
#include <cstddef>

#include "core/byte_order.h"
#include "core/stop.h"
#include "proto/mapped_file.h"

namespace ondine {
namespace {

constexpr std::size_t piece = std::size_t{4} << 20;

// Elements of type bool must be 0 or 1, so they are copied.
bool can_share(const SharedSource& source, DType dtype, bool big_endian) {
  const std::size_t width = size_of(dtype);
  const std::size_t alignment = std::min(width, alignof(std::max_align_t));
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(source.rest().data()) % alignment == 0;
  return is_aligned && dtype != DType::boolean && (width == 1 || big_endian == other_byte_order);
}

bool is_gzip(std::span<const std::byte> bytes) {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b};
}

// One stream of zlib over compressed bytes of any number.
class Inflater {
 public:
  Inflater(std::span<const std::byte> packed, int window) : packed_(packed), unfed_(packed.size()) {
    if (inflateInit2(&stream_, window) != Z_OK) fail(ErrorCode::limit, "no memory to uncompress");
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Appends up to `room` bytes. False at the end of the compressed data.
  bool read(std::vector<std::byte>& to, std::size_t room) {
    check_stop();
    const std::size_t done = to.size();
    to.resize(done + room);
    stream_.next_out = reinterpret_cast<Bytef*>(to.data() + done);
    stream_.avail_out = static_cast<uInt>(room);
    int status = Z_OK;
    while (status == Z_OK && stream_.avail_out != 0) {
      feed();
      status = ::inflate(&stream_, Z_NO_FLUSH);
    }
    to.resize(done + room - stream_.avail_out);
    if (status == Z_MEM_ERROR) fail(ErrorCode::limit, "no memory to uncompress");
    if (status != Z_OK && status != Z_STREAM_END) {
      fail(ErrorCode::corrupt, "compressed data is damaged or cut off");
    }
    return status == Z_OK;
  }
  // What follows the end of the compressed data.
  std::span<const std::byte> rest() const { return packed_.last(unfed_ + stream_.avail_in); }
  void restart() { inflateReset(&stream_); }

 private:
  // zlib counts in 32 bits.
  void feed() {
    if (stream_.avail_in != 0) return;
    const auto next = packed_.last(unfed_).first(std::min(unfed_, std::size_t{1} << 30));
    // zlib does not write to its input, its type is older than const.
    stream_.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(next.data()));
    stream_.avail_in = static_cast<uInt>(next.size());
    unfed_ -= next.size();
  }

  z_stream stream_{};
  std::span<const std::byte> packed_;
  std::size_t unfed_;  // bytes that zlib has not been given
};

// What the buffer has room for; it grows where there is none.
std::size_t room_in(std::vector<std::byte>& buffer) {
  if (buffer.capacity() == buffer.size()) buffer.reserve(2 * buffer.size() + piece);
  return std::min(piece, buffer.capacity() - buffer.size());
}

void require_within(const std::vector<std::byte>& unpacked, std::uint64_t bytes) {
  if (unpacked.size() > bytes) {
    fail(ErrorCode::limit, "uncompressed data exceeds ", bytes, " bytes");
  }
}

}  // namespace

void SharedSource::read(std::span<std::byte> bytes) {
  if (rest().size() < bytes.size()) fail(ErrorCode::corrupt, "ends at byte ", bytes_.size());
  while (!bytes.empty()) {
    check_stop();
    const auto from = rest().first(std::min(bytes.size(), piece));
    std::copy(from.begin(), from.end(), bytes.begin());
    release(from);
    bytes = bytes.subspan(from.size());
    skip(from.size());
  }
}

void SharedSource::release(std::span<const std::byte> bytes) const {
  if (release_ && bytes.size() == piece) release_(bytes);
}

std::uint32_t crc32_of(std::span<const std::byte> bytes, const SharedSource& source) {
  uLong crc = 0;
  while (!bytes.empty()) {
    check_stop();
    const auto part = bytes.first(std::min(bytes.size(), piece));
    crc = crc32_z(crc, reinterpret_cast<const Bytef*>(part.data()), part.size());
    source.release(part);
    bytes = bytes.subspan(part.size());
  }
  return static_cast<std::uint32_t>(crc);
}

std::shared_ptr<std::vector<std::byte>> inflate_deflated(std::span<const std::byte> packed,
                                                         std::uint64_t bytes) {
  Inflater inflater(packed, -15);
  const auto unpacked = std::make_shared<std::vector<std::byte>>();
  // Room for a byte more shows the end without another piece.
  unpacked->reserve(static_cast<std::size_t>(
      std::min<std::uint64_t>(bytes + 1, std::uint64_t{1024} * packed.size() + 64)));
  while (unpacked->size() <= bytes && inflater.read(*unpacked, room_in(*unpacked))) {
  }
  if (unpacked->size() != bytes) {
    fail(ErrorCode::corrupt, "compressed data has ", unpacked->size() > bytes ? "more" : "fewer",
         " than the ", bytes, " bytes that the archive says");
  }
  if (!inflater.rest().empty()) {
    fail(ErrorCode::corrupt, inflater.rest().size(), " bytes follow the compressed data");
  }
  return unpacked;
}

std::shared_ptr<std::vector<std::byte>> inflate_gzip(std::span<const std::byte> packed,
                                                     std::uint64_t bytes) {
  Inflater inflater(packed, 31);
  const auto unpacked = std::make_shared<std::vector<std::byte>>();
  while (true) {
    while (inflater.read(*unpacked, room_in(*unpacked))) require_within(*unpacked, bytes);
    require_within(*unpacked, bytes);
    const auto rest = inflater.rest();
    if (is_gzip(rest)) {
      inflater.restart();
      continue;
    }
    // Padding, as tapes have it.
    const bool is_padding =
        std::all_of(rest.begin(), rest.end(), [](std::byte byte) { return byte == std::byte{0}; });
    if (is_padding) return unpacked;
    fail(ErrorCode::corrupt, rest.size(), " bytes follow the compressed data");
  }
}

void with_data(const std::filesystem::path& file, const Limits& limits,
               const std::function<void(SharedSource&)>& body) {
  with_context(
      [&] {
        const auto mapped = std::make_shared<MappedFile>(
            open_file(file), file.string(), MapOptions{.watched = false, .writable = true});
        const auto bytes = mapped->bytes();
        if (bytes.size() < 2) fail(ErrorCode::corrupt, "the file has ", bytes.size(), " bytes");
        if (bytes.size() > limits.tensor_bytes) {
          fail(ErrorCode::limit, "the file has ", bytes.size(), " bytes");
        }
        if (is_gzip(bytes)) {
          const auto unpacked = inflate_gzip(bytes, limits.tensor_bytes);
          SharedSource source(*unpacked, unpacked);
          body(source);
          return;
        }
        SharedSource source(bytes, mapped, [&](auto part) { mapped->release(part); });
        body(source);
      },
      [&] { return "file " + quoted(file.string()); });
}

Tensor read_tensor(SharedSource& source, DType dtype, const Shape& shape, bool big_endian,
                   const Limits& limits) {
  const auto elements = static_cast<std::uint64_t>(shape.size());
  const std::uint64_t width = size_of(dtype);
  if (elements > limits.tensor_bytes / width) {
    fail(ErrorCode::limit, "an array ", shape, " of ", dtype);
  }
  const std::uint64_t left = source.size() - source.position();
  if (left < elements * width) {
    fail(ErrorCode::corrupt, "an array ", shape, " of ", dtype, " takes ", elements * width,
         " bytes, the file has ", left);
  }
  if (can_share(source, dtype, big_endian)) {
    auto* there = const_cast<std::byte*>(source.rest().data());
    source.skip(static_cast<std::size_t>(elements * width));
    return Tensor::share(dtype, shape, there, source.owner());
  }
  Tensor result(dtype, shape);
  auto* data = static_cast<std::byte*>(result.mutable_data());
  source.read({data, static_cast<std::size_t>(elements * width)});
  if (big_endian != other_byte_order) swap_numbers({data, result.bytes()}, dtype);
  if (dtype == DType::boolean) {
    for (std::uint64_t i = 0; i < elements; ++i) data[i] = std::byte{data[i] != std::byte{0}};
  }
  return result;
}

}  // namespace ondine
