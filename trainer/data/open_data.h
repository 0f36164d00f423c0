// Data files as sequences of bytes.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ondine/limits.h>
#include <ondine/tensor.h>

#include "core/stream.h"

namespace ondine {

// Bytes whose memory tensors may share.
class SharedSource final : public Source {
 public:
  // Gives back what was read of a mapped file.
  using Release = std::function<void(std::span<const std::byte>)>;

  SharedSource(std::span<const std::byte> bytes, std::shared_ptr<void> owner, Release release = {})
      : bytes_(bytes), owner_(std::move(owner)), release_(std::move(release)) {}

  std::uint64_t size() const override { return bytes_.size(); }
  std::uint64_t position() const override { return position_; }
  void read(std::span<std::byte> bytes) override;

  std::span<const std::byte> rest() const { return bytes_.subspan(position_); }
  void skip(std::size_t bytes) { position_ += bytes; }  // of rest()
  // A part of rest() as a source of its own.
  SharedSource part(std::span<const std::byte> bytes) const { return {bytes, owner_, release_}; }
  // Says that the bytes, a whole piece of them, are not needed soon.
  void release(std::span<const std::byte> bytes) const;
  const std::shared_ptr<void>& owner() const noexcept { return owner_; }

 private:
  std::span<const std::byte> bytes_;
  std::shared_ptr<void> owner_;
  Release release_;
  std::size_t position_ = 0;
};

// Calls `body` with the content of the file: mapped, and uncompressed when it is gzip. Errors get
// the file as context.
void with_data(const std::filesystem::path& file, const Limits& limits,
               const std::function<void(SharedSource&)>& body);

// Uncompresses gzip data, all of its members one after the other; their checksums and sizes are
// compared. Throws Error(corrupt) and, when it grows beyond `bytes`, Error(limit).
std::shared_ptr<std::vector<std::byte>> inflate_gzip(std::span<const std::byte> packed,
                                                     std::uint64_t bytes);
// Uncompresses raw deflated data of exactly `bytes` bytes; anything else is Error(corrupt).
std::shared_ptr<std::vector<std::byte>> inflate_deflated(std::span<const std::byte> packed,
                                                         std::uint64_t bytes);
// `bytes` lie in `source`, which gives back what was read.
std::uint32_t crc32_of(std::span<const std::byte> bytes, const SharedSource& source);

// A tensor of that type and shape whose elements follow in `source`, most significant byte first or
// not: where they lie, if order and alignment allow it, else a copy. Nothing is allocated unless
// the bytes are there.
Tensor read_tensor(SharedSource& source, DType dtype, const Shape& shape, bool big_endian,
                   const Limits& limits);

Tensor read_idx(SharedSource& source, const Limits& limits);
// Error(unsupported) for elements that are no numbers.
Tensor read_npy(SharedSource& source, const Limits& limits);
// Error(unsupported) for types that the format lacks, before anything is written.
void write_npy(Sink& sink, const Tensor& tensor);

// An array that is no column of data, and why.
struct LeftOutArray {
  std::string name;
  std::string why;
};
struct Archive {
  std::vector<std::pair<std::string, Tensor>> arrays;  // by the member's name without ".npy"
  std::vector<LeftOutArray> left_out;
};
Archive read_npz(SharedSource& file, const Limits& limits);

}  // namespace ondine
