#include "trainer/data/audio/wav_sizes.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/message.h"

namespace ondine::data {
namespace {

constexpr std::uint64_t least_placeholder = 0x7ffff000;  // of SoX
constexpr int most_chunks = 10000;

struct Chunk {
  std::array<unsigned char, 8> bytes{};

  std::string_view name() const { return {reinterpret_cast<const char*>(bytes.data()), 4}; }
  std::uint64_t size() const {
    std::uint64_t size = 0;
    for (std::size_t i = 0; i < 4; ++i) size |= static_cast<std::uint64_t>(bytes[4 + i]) << (8 * i);
    return size;
  }
};

[[noreturn]] void ends_early(std::uint64_t file_bytes, std::uint64_t size) {
  fail(ErrorCode::corrupt, "the file has ", file_bytes, " bytes, its header says ", size);
}

}  // namespace

std::optional<StreamedWav> find_streamed_wav(std::uint64_t file_bytes, const ReadAt& read) {
  std::array<unsigned char, 12> head{};
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  if (read(0, head) != head.size() || !text.starts_with("RIFF") || !text.ends_with("WAVE")) {
    return {};
  }
  Chunk riff;
  std::copy_n(head.begin(), riff.bytes.size(), riff.bytes.begin());
  const std::uint64_t end = riff.size() + 8;
  const bool has_end = riff.size() != 0 && end <= file_bytes;
  const bool is_placeholder = riff.size() == 0 || riff.size() >= least_placeholder;
  if (!has_end && !is_placeholder) ends_early(file_bytes, end);
  std::uint64_t at = 12;
  for (int i = 0; i < most_chunks; ++i) {
    Chunk chunk;
    if (read(at, chunk.bytes) != chunk.bytes.size()) return {};
    const std::uint64_t first = at + chunk.bytes.size();
    if (chunk.name() != "data") {
      at = first + chunk.size() + chunk.size() % 2;
      continue;
    }
    const std::uint64_t left = file_bytes - first;
    // An empty recording, unless the size of the whole was not known either.
    const bool is_open = chunk.size() == 0 && left > 0 && (!has_end || end <= first);
    const bool is_beyond = chunk.size() > left;
    if (is_open || (is_beyond && chunk.size() >= least_placeholder)) return StreamedWav{4, at + 4};
    if (is_beyond) ends_early(file_bytes, first + chunk.size());
    return {};
  }
  return {};
}

}  // namespace ondine::data
