// Checkpoint bytes with repaired checksums -> decode -> encode gives the same bytes.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "checkpoints/format.h"
#include "checkpoints/header.h"
#include "checkpoints/manifest.h"
#include "core/digest.h"
#include "tests/fuzz/try_model.h"

namespace {

using namespace ondine;
using Bytes = std::vector<std::byte>;

std::uint64_t number_at(const Bytes& bytes, std::size_t at) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < 8; ++i)
    value |= std::to_integer<std::uint64_t>(bytes[at + i]) << 8 * i;
  return value;
}

// The tensors' checksums in a manifest that can be read at all.
void repair_tensors(Manifest& manifest, std::span<const std::byte> rest, std::size_t position) {
  for (TensorEntry& entry : manifest.tensors) {
    const std::size_t gap = (64 - position % 64) % 64;
    if (gap > rest.size() || entry.bytes > rest.size() - gap) return;
    entry.crc = crc32c(rest.subspan(gap, entry.bytes));
    rest = rest.subspan(gap + entry.bytes);
    position += gap + entry.bytes;
  }
}

// Everything that only tells damage from intent is made right; what it says stays.
Bytes repaired(std::span<const std::byte> input) {
  Bytes bytes(input.begin(), input.end());
  if (bytes.size() < header_size) return bytes;
  Header header;
  header.version = static_cast<std::uint32_t>(number_at(bytes, 8));
  header.manifest_bytes = std::min<std::uint64_t>(number_at(bytes, 24), bytes.size() - header_size);
  for (std::size_t i = 0; i < header.fingerprint.size(); ++i) {
    header.fingerprint[i] = std::to_integer<std::uint8_t>(bytes[32 + i]);
  }
  const auto first = bytes.begin() + header_size;
  const auto last = first + static_cast<std::ptrdiff_t>(header.manifest_bytes);
  Bytes text(first, last);
  Bytes rest(last, bytes.end());
  test::refuses([&] {
    Manifest manifest = decode_manifest_v1(text);
    repair_tensors(manifest, rest, header_size + text.size());
    const std::string again = encode_manifest(manifest);
    const auto view = std::as_bytes(std::span(again));
    // The text must keep its length for the tensors to stay aligned.
    if (view.size() == text.size()) text.assign(view.begin(), view.end());
  });
  header.manifest_digest = sha256(text);
  header.file_bytes = header_size + text.size() + rest.size();
  const auto head = encode_header(header);
  Bytes result(head.begin(), head.end());
  result.insert(result.end(), text.begin(), text.end());
  result.insert(result.end(), rest.begin(), rest.end());
  return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Bytes bytes = repaired(std::as_bytes(std::span(data, size)));
  MemorySource source(bytes);
  Checkpoint checkpoint;
  Limits limits;
  limits.tensor_bytes = limits.weight_bytes = std::uint64_t{1} << 20;
  if (test::refuses([&] { checkpoint = decode_checkpoint(source, {}, limits); })) return 0;
  MemorySink sink;
  encode_checkpoint(checkpoint, sink);
  if (sink.bytes() != bytes) throw test::Fault("read and written again, the bytes differ");
  return 0;
}
