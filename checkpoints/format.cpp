#include "checkpoints/format.h"

#include <algorithm>
#include <array>
#include <vector>

#include "checkpoints/elements.h"
#include "checkpoints/header.h"
#include "checkpoints/manifest.h"
#include "core/checked.h"

namespace ondine {
namespace {

constexpr std::uint64_t alignment = 64;

// The number of padding bytes from `position` to the next multiple of the alignment.
std::size_t padding(std::uint64_t position) {
  return static_cast<std::size_t>((alignment - position % alignment) % alignment);
}

// The end of the last tensor. Throws Error(limit) when it exceeds 2^63.
std::uint64_t end_of_tensors(std::uint64_t position, const std::vector<TensorEntry>& tensors) {
  auto end = static_cast<std::int64_t>(position);
  for (const TensorEntry& tensor : tensors) {
    if (tensor.bytes > INT64_MAX) fail(ErrorCode::limit, "size ", tensor.bytes, " overflows");
    const auto gap = static_cast<std::int64_t>(padding(static_cast<std::uint64_t>(end)));
    end = checked_add(checked_add(end, gap), static_cast<std::int64_t>(tensor.bytes));
  }
  return static_cast<std::uint64_t>(end);
}

void skip_padding(Source& source) {
  const std::uint64_t start = source.position();
  std::array<std::byte, alignment> zeros{};
  const auto gap = std::span(zeros).first(padding(start));
  source.read(gap);
  if (std::ranges::any_of(gap, [](std::byte b) { return b != std::byte{0}; })) {
    fail(ErrorCode::corrupt, "the padding at byte ", start, " is not 0");
  }
}

Shape shape_of(const TensorEntry& entry) {
  const bool negative = std::ranges::any_of(entry.dims, [](auto dim) { return dim < 0; });
  if (negative || entry.dims.size() > Shape::max_rank) {
    fail(ErrorCode::corrupt, "its shape has a negative dim or more than ", Shape::max_rank,
         " dims");
  }
  return Shape(std::span<const std::int64_t>(entry.dims));
}

Tensor read_tensor(Source& source, const TensorEntry& entry, const Limits& limits) {
  skip_padding(source);
  const std::uint64_t start = source.position();
  const auto read = [&] {
    if (entry.bytes > limits.tensor_bytes) {
      fail(ErrorCode::limit, entry.bytes, " bytes, the limit is ", limits.tensor_bytes);
    }
    if (entry.dtype == 0 || entry.dtype >= dtype_count) {
      fail(ErrorCode::corrupt, "unknown element type ", entry.dtype);
    }
    if (entry.crc > UINT32_MAX) fail(ErrorCode::corrupt, entry.crc, " is not a CRC-32C");
    return read_elements(source, static_cast<DType>(entry.dtype), shape_of(entry), entry.bytes,
                         static_cast<std::uint32_t>(entry.crc));
  };
  return with_context(read, [&] {
    return cat("state variable ", quoted(entry.name), ", bytes ", start, " to ",
               start + entry.bytes);
  });
}

std::string describe(const ModelIdentity& model, const Sha256Digest& fingerprint) {
  return cat(quoted(model.name), " (producer ", quoted(model.producer), ", version ",
             model.model_version, ", fingerprint ", to_hex(std::span(fingerprint).first(8)),
             "...)");
}

void check_model(const ExpectedModel& expected, const Checkpoint& found) {
  if (found.fingerprint == expected.fingerprint) return;
  fail(ErrorCode::mismatch, "is a checkpoint of model ", describe(found.model, found.fingerprint),
       ", not of ", describe(expected.identity, expected.fingerprint));
}

Checkpoint decode_v1(Source& source, const Header& header,
                     const std::optional<ExpectedModel>& expected, const Limits& limits) {
  if (header.manifest_bytes > header.file_bytes - header_size) {
    fail(ErrorCode::corrupt, "manifest of ", header.manifest_bytes, " bytes in a file of ",
         header.file_bytes);
  }
  if (header.manifest_bytes > limits.manifest_bytes) {
    fail(ErrorCode::limit, "manifest of ", header.manifest_bytes, " bytes, the limit is ",
         limits.manifest_bytes);
  }
  std::vector<std::byte> bytes(size_in_memory(header.manifest_bytes, "a manifest"));
  source.read(bytes);
  if (sha256(bytes) != header.manifest_digest) {
    fail(ErrorCode::corrupt, "manifest (bytes ", header_size, " to ", source.position(),
         ") does not have the SHA-256 that the header gives");
  }
  const Manifest manifest = decode_manifest_v1(bytes);
  Checkpoint checkpoint = checkpoint_of(manifest);
  checkpoint.format_version = header.version;
  checkpoint.fingerprint = header.fingerprint;
  if (expected) check_model(*expected, checkpoint);

  const std::uint64_t end = end_of_tensors(source.position(), manifest.tensors);
  if (end != source.size()) {
    fail(ErrorCode::corrupt, "has ", source.size(), " bytes, its tensors end at ", end);
  }
  if (end > limits.weight_bytes) {
    fail(ErrorCode::limit, "has ", end, " bytes, the limit is ", limits.weight_bytes);
  }
  for (std::size_t i = 0; i < manifest.tensors.size(); ++i) {
    checkpoint.state[i].value = read_tensor(source, manifest.tensors[i], limits);
  }
  return checkpoint;
}

}  // namespace

void encode_checkpoint(const Checkpoint& checkpoint, Sink& sink) {
  const Manifest manifest = describe(checkpoint);
  const std::string text = encode_manifest(manifest);
  Header header;
  header.file_bytes = end_of_tensors(header_size + text.size(), manifest.tensors);
  header.manifest_bytes = text.size();
  header.fingerprint = checkpoint.fingerprint;
  header.manifest_digest = sha256(bytes_of(text));
  sink.write(encode_header(header));
  sink.write(bytes_of(text));
  std::uint64_t position = header_size + text.size();
  constexpr std::array<std::byte, alignment> zeros{};
  for (std::size_t i = 0; i < manifest.tensors.size(); ++i) {
    sink.write(std::span(zeros).first(padding(position)));
    position += padding(position) + manifest.tensors[i].bytes;
    write_elements(sink, checkpoint.state[i].value);
  }
}

Checkpoint decode_checkpoint(Source& source, const std::optional<ExpectedModel>& expected,
                             const Limits& limits) {
  const Header header = decode_header(source);
  switch (header.version) {
    case 1:
      return decode_v1(source, header, expected, limits);
    default:
      fail(ErrorCode::corrupt, "states format version ", header.version, ", which never was");
  }
}

}  // namespace ondine
