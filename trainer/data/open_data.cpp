#include "trainer/data/open_data.h"

#include <zlib.h>

#include <algorithm>
#include <cstddef>
#include <limits>

#include "core/byte_order.h"
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

}  // namespace

void SharedSource::read(std::span<std::byte> bytes) {
  if (rest().size() < bytes.size()) fail(ErrorCode::corrupt, "ends at byte ", bytes_.size());
  while (!bytes.empty()) {
    const auto from = rest().first(std::min(bytes.size(), piece));
    std::copy(from.begin(), from.end(), bytes.begin());
    if (release_ && from.size() == piece) release_(from);
    bytes = bytes.subspan(from.size());
    skip(from.size());
  }
}

std::shared_ptr<std::vector<std::byte>> inflate(std::span<const std::byte> packed, int window,
                                                std::uint64_t bytes, std::uint64_t expected) {
  if (packed.size() > std::numeric_limits<uInt>::max()) {
    fail(ErrorCode::limit, "compressed data of ", packed.size(), " bytes");
  }
  z_stream stream{};
  if (inflateInit2(&stream, window) != Z_OK) fail(ErrorCode::limit, "no memory to uncompress");
  struct End {
    z_stream* stream;
    ~End() { inflateEnd(stream); }
  } end{&stream};
  // zlib does not write to its input, its type is older than const.
  stream.next_in = const_cast<Bytef*>(reinterpret_cast<const Bytef*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());

  const auto unpacked = std::make_shared<std::vector<std::byte>>();
  std::vector<std::byte>& result = *unpacked;
  // Room for more than is expected shows the end without another piece.
  result.reserve(static_cast<std::size_t>(std::min({expected + 64, bytes, 1024 * packed.size()})));
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    const std::size_t done = result.size();
    if (done > bytes) fail(ErrorCode::limit, "uncompressed data exceeds ", bytes, " bytes");
    if (result.capacity() == done) result.reserve(2 * done + piece);
    const std::size_t room = std::min(piece, result.capacity() - done);
    result.resize(done + room);
    stream.next_out = reinterpret_cast<Bytef*>(result.data() + done);
    stream.avail_out = static_cast<uInt>(room);
    status = ::inflate(&stream, Z_NO_FLUSH);
    result.resize(done + room - stream.avail_out);
    if (status == Z_MEM_ERROR) fail(ErrorCode::limit, "no memory to uncompress");
    if (status != Z_OK && status != Z_STREAM_END) {
      fail(ErrorCode::corrupt, "compressed data is damaged or cut off");
    }
  }
  return unpacked;
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
        if (bytes[0] == std::byte{0x1f} && bytes[1] == std::byte{0x8b}) {
          const auto unpacked = inflate(bytes, 31, limits.tensor_bytes);
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
