#include "trainer/data/audio/sound_file.h"

#include <algorithm>
#include <cmath>

#include "core/message.h"

#ifdef ONDINE_SNDFILE
#include <sndfile.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <span>

#include "core/stop.h"
#include "trainer/data/audio/wav_sizes.h"
#endif

namespace ondine::data {

#ifdef ONDINE_SNDFILE

namespace {

// The file as libsndfile reads it, with right sizes in the header of a WAV file.
class Source {
 public:
  explicit Source(const std::string& path) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(path, error)) {
      fail(ErrorCode::io, "cannot read it: ", error ? error.message() : "no regular file");
    }
    file_.open(path, std::ios::binary);
    file_.seekg(0, std::ios::end);
    if (!file_) fail(ErrorCode::io, "cannot read it");
    size_ = static_cast<std::uint64_t>(file_.tellg());
    streamed_ = find_streamed_wav(size_, [&](std::uint64_t position, std::span<unsigned char> to) {
      return read_at(position, to);
    });
  }

  std::uint64_t size() const { return size_; }
  std::uint64_t position() const { return position_; }
  void seek(std::uint64_t position) { position_ = position; }
  std::size_t read(std::span<unsigned char> to) {
    const std::size_t count = read_at(position_, to);
    if (streamed_) {
      put(streamed_->riff_size_at, size_ - 8, to.first(count));
      put(streamed_->data_size_at, size_ - streamed_->data_size_at - 4, to.first(count));
    }
    position_ += count;
    return count;
  }

 private:
  std::size_t read_at(std::uint64_t position, std::span<unsigned char> to) {
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(position));
    file_.read(reinterpret_cast<char*>(to.data()), static_cast<std::streamsize>(to.size()));
    return static_cast<std::size_t>(file_.gcount());
  }

  // Writes those bytes of a size at a position of the file that `to`, read from position_, has.
  void put(std::uint64_t at, std::uint64_t size, std::span<unsigned char> to) const {
    size = std::min<std::uint64_t>(size, 0xffffffff);
    for (std::uint64_t i = 0; i < 4; ++i) {
      if (at + i < position_ || at + i - position_ >= to.size()) continue;
      to[at + i - position_] = static_cast<unsigned char>(size >> (8 * i));
    }
  }

  std::ifstream file_;
  std::uint64_t size_ = 0;
  std::uint64_t position_ = 0;
  std::optional<StreamedWav> streamed_;
};

Source& source_of(void* user) { return *static_cast<Source*>(user); }

// Exceptions may not pass the library.
SF_VIRTUAL_IO callbacks() {
  SF_VIRTUAL_IO io{};
  io.get_filelen = [](void* user) { return static_cast<sf_count_t>(source_of(user).size()); };
  io.seek = [](sf_count_t offset, int whence, void* user) {
    Source& source = source_of(user);
    const std::uint64_t base = whence == SEEK_SET   ? 0
                               : whence == SEEK_CUR ? source.position()
                                                    : source.size();
    const std::uint64_t wanted = base + static_cast<std::uint64_t>(offset);
    if (wanted > source.size()) return sf_count_t{-1};
    source.seek(wanted);
    return static_cast<sf_count_t>(wanted);
  };
  io.read = [](void* to, sf_count_t count, void* user) -> sf_count_t {
    if (count <= 0) return 0;
    const std::span bytes(static_cast<unsigned char*>(to), static_cast<std::size_t>(count));
    return static_cast<sf_count_t>(source_of(user).read(bytes));
  };
  io.write = [](const void*, sf_count_t, void*) { return sf_count_t{0}; };
  io.tell = [](void* user) { return static_cast<sf_count_t>(source_of(user).position()); };
  return io;
}

using Handle = std::unique_ptr<SNDFILE, int (*)(SNDFILE*)>;

Handle open(Source& source, SF_INFO& info) {
  SF_VIRTUAL_IO io = callbacks();
  Handle file(sf_open_virtual(&io, SFM_READ, &info, &source), sf_close);
  if (file == nullptr) fail(ErrorCode::corrupt, sf_strerror(nullptr));
  if (info.frames <= 0 || info.channels <= 0 || info.samplerate <= 0) {
    fail(ErrorCode::corrupt, "it has no samples");
  }
  if (info.samplerate > most_sample_rate) {
    fail(ErrorCode::corrupt, "its header says ", info.samplerate, " samples a second, more than ",
         most_sample_rate);
  }
  return file;
}

template <class Body>
auto with_recording(const std::string& path, const Body& body) {
  return with_context(
      [&] {
        SF_INFO info{};
        Source source(path);
        const Handle file = open(source, info);
        return body(file.get(), info);
      },
      [&] { return "recording " + quoted(path); });
}

constexpr std::int64_t block_frames = 16384;

// Whether the header of a FLAC file does not say how many samples there are.
bool is_streamed(const SF_INFO& info) { return info.frames == SF_COUNT_MAX; }

std::int64_t count_frames(SNDFILE* file, const SF_INFO& info) {
  std::vector<float> block(static_cast<std::size_t>(block_frames * info.channels));
  std::int64_t frames = 0;
  for (std::int64_t found = block_frames; found == block_frames; frames += found) {
    check_stop();
    found = std::max<std::int64_t>(0, sf_readf_float(file, block.data(), block_frames));
  }
  if (frames == 0) fail(ErrorCode::corrupt, "it has no samples");
  return frames;
}

}  // namespace

SoundInfo sound_info(const std::string& path) {
  return with_recording(path, [](SNDFILE* file, const SF_INFO& info) {
    const std::int64_t frames = is_streamed(info) ? count_frames(file, info) : info.frames;
    return SoundInfo{frames, info.samplerate, info.channels};
  });
}

std::vector<float> read_sound(const std::string& path, std::int64_t most_frames,
                              BudgetShare& share) {
  return with_recording(path, [&](SNDFILE* file, const SF_INFO& info) {
    const std::int64_t frames = std::min<std::int64_t>(info.frames, most_frames);
    const auto channels = static_cast<std::size_t>(info.channels);
    std::vector<float> block(static_cast<std::size_t>(std::min(frames, block_frames)) * channels);
    std::vector<float> mono;
    for (std::int64_t done = 0; done < frames;) {
      check_stop();
      const std::int64_t wanted = std::min(frames - done, block_frames);
      share.add(static_cast<std::uint64_t>(wanted) * 2 * sizeof(float));  // with room to grow
      const std::int64_t found = sf_readf_float(file, block.data(), wanted);
      if (found != wanted && (!is_streamed(info) || sf_error(file) != SF_ERR_NO_ERROR)) {
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
      if (found != wanted) break;
    }
    return mono;
  });
}

#else

SoundInfo sound_info(const std::string&) {
  fail(ErrorCode::unsupported, "recordings need libsndfile, which this build is without");
}

std::vector<float> read_sound(const std::string& path, std::int64_t, BudgetShare&) {
  sound_info(path);
  return {};
}

#endif

}  // namespace ondine::data
