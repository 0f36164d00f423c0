#include "trainer/data/audio/sound_file.h"

#include <algorithm>
#include <cmath>

#include "core/message.h"

#ifdef ONDINE_SNDFILE
#include <sndfile.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#endif

namespace ondine::data {

#ifdef ONDINE_SNDFILE

namespace {

// libsndfile takes what there is of a WAV file for all of it.
void require_whole(const std::string& path, std::uint64_t bytes) {
  std::array<unsigned char, 12> head{};
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(head.data()), head.size());
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  if (!file || !text.starts_with("RIFF") || !text.ends_with("WAVE")) return;
  std::uint64_t said = 0;
  for (std::size_t i = 0; i < 4; ++i) said |= static_cast<std::uint64_t>(head[4 + i]) << (8 * i);
  // Programs that write to a pipe do not know the size.
  if (said >= 0x7fffffffU || said + 8 <= bytes) return;
  fail(ErrorCode::corrupt, "the file has ", bytes, " bytes, its header says ", said + 8);
}

using Handle = std::unique_ptr<SNDFILE, int (*)(SNDFILE*)>;

Handle open(const std::string& path, SF_INFO& info) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    fail(ErrorCode::io, "cannot read it: ", error ? error.message() : "no regular file");
  }
  require_whole(path, std::filesystem::file_size(path, error));
  Handle file(sf_open(path.c_str(), SFM_READ, &info), sf_close);
  if (file == nullptr) fail(ErrorCode::corrupt, sf_strerror(nullptr));
  if (info.frames <= 0 || info.channels <= 0 || info.samplerate <= 0) {
    fail(ErrorCode::corrupt, "it has no samples");
  }
  return file;
}

template <class Body>
auto with_recording(const std::string& path, const Body& body) {
  return with_context(
      [&] {
        SF_INFO info{};
        const Handle file = open(path, info);
        return body(file.get(), info);
      },
      [&] { return "recording " + quoted(path); });
}

constexpr std::int64_t block_frames = 16384;

}  // namespace

SoundInfo sound_info(const std::string& path) {
  return with_recording(path, [](SNDFILE*, const SF_INFO& info) {
    return SoundInfo{info.frames, info.samplerate, info.channels};
  });
}

std::vector<float> read_sound(const std::string& path, std::int64_t most_frames,
                              std::uint64_t most_bytes) {
  return with_recording(path, [&](SNDFILE* file, const SF_INFO& info) {
    const std::int64_t frames = std::min<std::int64_t>(info.frames, most_frames);
    if (static_cast<std::uint64_t>(frames) > most_bytes / sizeof(float)) {
      fail(ErrorCode::limit, "it has ", frames, " samples");
    }
    const auto channels = static_cast<std::size_t>(info.channels);
    std::vector<float> block(static_cast<std::size_t>(std::min(frames, block_frames)) * channels);
    std::vector<float> mono;
    for (std::int64_t done = 0; done < frames;) {
      const std::int64_t wanted = std::min(frames - done, block_frames);
      const std::int64_t found = sf_readf_float(file, block.data(), wanted);
      if (found != wanted) {
        fail(ErrorCode::corrupt, "it ends after ", done + std::max<std::int64_t>(found, 0), " of ",
             info.frames, " samples");
      }
      for (std::size_t i = 0; i < static_cast<std::size_t>(found); ++i) {
        float sum = 0;
        for (std::size_t c = 0; c < channels; ++c) sum += block[i * channels + c];
        mono.push_back(channels == 1 ? sum : sum / static_cast<float>(channels));
        if (!std::isfinite(mono.back())) {
          fail(ErrorCode::corrupt, "sample ", mono.size(), " is not finite");
        }
      }
      done += found;
    }
    return mono;
  });
}

#else

SoundInfo sound_info(const std::string&) {
  fail(ErrorCode::unsupported, "recordings need libsndfile, which this build is without");
}

std::vector<float> read_sound(const std::string& path, std::int64_t, std::uint64_t) {
  sound_info(path);
  return {};
}

#endif

}  // namespace ondine::data
