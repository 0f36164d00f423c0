// Sizes in the header of a WAV file, which programs that write to a pipe cannot know.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace ondine::data {

// Reads bytes from a position of a file; fewer where it ends.
using ReadAt = std::function<std::size_t(std::uint64_t position, std::span<unsigned char> to)>;

// The chunk "data" of a WAV file whose size is a placeholder: the positions of both sizes.
struct StreamedWav {
  std::uint64_t riff_size_at = 4;
  std::uint64_t data_size_at = 0;
};

// Nothing for files of other formats and WAV files whose sizes are right. A size of 0 in front of
// data and one of 2^31 - 4096 or more that the file does not have are placeholders. Error(corrupt)
// where another size is more than the file has.
std::optional<StreamedWav> find_streamed_wav(std::uint64_t file_bytes, const ReadAt& read);

}  // namespace ondine::data
