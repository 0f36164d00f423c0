#include "trainer/data/open_data.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "core/byte_order.h"
#include "core/files/file.h"

namespace ondine {
namespace {

std::vector<std::byte> read_all(Source& source) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(source.size() - source.position()));
  source.read(bytes);
  return bytes;
}

}  // namespace

std::vector<std::byte> inflate(std::span<const std::byte> packed, int window, std::uint64_t bytes) {
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

  std::vector<std::byte> result;
  constexpr std::size_t piece = std::size_t{1} << 20;
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    const std::size_t done = result.size();
    if (done > bytes) fail(ErrorCode::limit, "uncompressed data exceeds ", bytes, " bytes");
    if (result.capacity() < done + piece) result.reserve(2 * done + piece);
    result.resize(done + piece);
    stream.next_out = reinterpret_cast<Bytef*>(result.data() + done);
    stream.avail_out = static_cast<uInt>(piece);
    status = ::inflate(&stream, Z_NO_FLUSH);
    result.resize(done + piece - stream.avail_out);
    if (status == Z_MEM_ERROR) fail(ErrorCode::limit, "no memory to uncompress");
    if (status != Z_OK && status != Z_STREAM_END) {
      fail(ErrorCode::corrupt, "compressed data is damaged or cut off");
    }
  }
  return result;
}

void with_data(const std::filesystem::path& file, const Limits& limits,
               const std::function<void(Source&)>& body) {
  with_context(
      [&] {
        PosixFileSystem files;
        FileSource plain(files, file.string());
        if (plain.size() < 2 || plain.size() > limits.tensor_bytes) {
          if (plain.size() < 2) fail(ErrorCode::corrupt, "the file has ", plain.size(), " bytes");
          fail(ErrorCode::limit, "the file has ", plain.size(), " bytes");
        }
        std::array<std::byte, 2> magic{};
        plain.read(magic);
        FileSource again(files, file.string());
        if (magic != std::array{std::byte{0x1f}, std::byte{0x8b}}) {
          body(again);
          return;
        }
        const std::vector<std::byte> bytes = inflate(read_all(again), 31, limits.tensor_bytes);
        MemorySource unpacked(bytes);
        body(unpacked);
      },
      [&] { return "file " + quoted(file.string()); });
}

Tensor read_tensor(Source& source, DType dtype, const Shape& shape, bool big_endian,
                   const Limits& limits) {
  const auto elements = static_cast<std::uint64_t>(shape.size());
  const std::uint64_t width = size_of(dtype);
  if (elements > limits.tensor_bytes / width) {
    fail(ErrorCode::limit, "an array ", shape, " of ", dtype);
  }
  const std::uint64_t there = source.size() - source.position();
  if (there < elements * width) {
    fail(ErrorCode::corrupt, "an array ", shape, " of ", dtype, " takes ", elements * width,
         " bytes, the file has ", there);
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
