// Recordings as a column: decoded and resampled when a batch is taken.
#include <algorithm>
#include <array>
#include <cmath>
#include <mutex>
#include <thread>

#include "core/message.h"
#include "core/parallel.h"
#include "trainer/data/audio/resample.h"
#include "trainer/data/audio/sound_file.h"
#include "trainer/data/convert_row.h"
#include "trainer/data/files/file_kind.h"

namespace ondine::data {
namespace {

// Rates and lengths of all recordings, from their headers; broken ones are left out.
struct Survey {
  struct One {
    std::uint64_t row = 0;
    std::int64_t rate = 0;
  };
  std::optional<One> first;
  std::optional<One> first_other;  // of another rate than wanted
  std::uint64_t others = 0;
  double longest = 0;  // seconds
};

class Surveyor {
 public:
  Surveyor(const FileIndex& files, std::int64_t rate) : files_(&files), rate_(rate) {}

  Survey run(int threads) {
    const auto cores = std::max(1U, std::thread::hardware_concurrency());
    ThreadPool pool(threads > 0 ? threads : static_cast<int>(cores));
    if (rate_ == 0) find_rate();
    pool.for_chunks(static_cast<std::int64_t>(files_->size()), 64, [&](auto first, auto last) {
      for (auto i = static_cast<std::uint64_t>(first); i < static_cast<std::uint64_t>(last); ++i) {
        if (const auto info = read(i)) take(i, *info);
      }
    });
    return survey_;
  }

 private:
  std::optional<SoundInfo> read(std::uint64_t row) const {
    try {
      return sound_info(files_->path(row));
    } catch (const Error& error) {
      if (error.code() == ErrorCode::unsupported) throw;
      return {};
    }
  }

  void find_rate() {
    for (std::uint64_t i = 0; i < files_->size() && rate_ == 0; ++i) {
      if (const auto info = read(i)) rate_ = info->rate;
    }
  }

  void take(std::uint64_t row, const SoundInfo& info) {
    const std::scoped_lock lock(mutex_);
    const auto keep_first = [&](std::optional<Survey::One>& one) {
      if (!one || row < one->row) one = Survey::One{row, info.rate};
    };
    keep_first(survey_.first);
    const auto frames = static_cast<double>(info.frames);
    survey_.longest = std::max(survey_.longest, frames / static_cast<double>(info.rate));
    if (info.rate == rate_) return;
    ++survey_.others;
    keep_first(survey_.first_other);
  }

  const FileIndex* files_;
  std::int64_t rate_;
  std::mutex mutex_;
  Survey survey_;
};

// The axis of a row that counts samples; nothing where the row is no recording of one channel.
std::optional<std::size_t> sample_axis(const Dims& row) {
  if (row.size() == 1) return 0;
  if (row.size() != 2) return {};
  if (row[0] == 1) return 1;
  if (row[1] == 1) return 0;
  return {};
}

class AudioColumn final : public Column {
 public:
  AudioColumn(std::string name, FileIndex files, const DatasetOptions& options)
      : Column(std::move(name)),
        files_(std::move(files)),
        survey_(Surveyor(files_, options.audio.rate).run(options.threads)),
        decoding_(options.limits) {
    require_valid(options.audio);
    rate_ = options.audio.rate;
    if (rate_ == 0) rate_ = survey_.first ? survey_.first->rate : sound_info(files_.path(0)).rate;
    if (options.audio.seconds > 0) {
      length_ = std::llround(options.audio.seconds * static_cast<double>(rate_));
    }
    if (survey_.others == 0 || options.audio.resample) return;
    fail(ErrorCode::mismatch, "recording ", quoted(files_.path(survey_.first_other->row)), " has ",
         survey_.first_other->rate, " samples a second, not ", rate_,
         "; without --no-resample it is resampled");
  }

  std::uint64_t rows() const override { return files_.size(); }

  PortInfo port() const override {
    PortInfo port;
    port.name = name();
    port.dtype = DType::float32;
    port.type = describe();
    port.dims = {-1, length_ > 0 ? length_ : -1};
    return port;
  }

  std::string describe() const override { return cat("recordings[", files_.size(), "]"); }

  std::optional<Dims> fit(const PortInfo& input) const override {
    if (!takes_samples(input)) return {};
    Dims row(input.dims->begin() + 1, input.dims->end());
    const auto axis = sample_axis(row);
    if (!axis) return {};
    std::int64_t& length = row[*axis];
    if (length < 0 && length_ > 0) length = length_;
    if (length <= 0 || (length_ > 0 && length != length_)) return {};
    return row;
  }

  std::string hint(const PortInfo& input) const override {
    if (!takes_samples(input)) return {};
    if (length_ > 0) return cat("; --audio-seconds makes ", length_, " samples of each recording");
    return cat("; give the length of the recordings, of which the longest has ",
               static_cast<float>(survey_.longest), " seconds: --audio-seconds SECONDS");
  }

  void copy(std::span<const std::uint64_t> rows, const RowType& type,
            std::byte* to) const override {
    const std::int64_t count = Shape(type.dims).size();
    const RowCopy convert = find_copy(DType::float32, type.dtype);
    for (const std::uint64_t index : rows) {
      std::vector<float> row = read(index, count);
      row.resize(static_cast<std::size_t>(count));
      if (type.dtype == DType::int16) {
        std::transform(row.begin(), row.end(), reinterpret_cast<std::int16_t*>(to), to_int16);
      } else {
        convert(row.data(), to, count);
      }
      to += type.bytes();
    }
  }

  bool is_slow() const override { return true; }
  std::string file(std::uint64_t row) const override { return files_.path(row); }
  std::int64_t sample_rate() const override { return rate_; }
  std::string note() const override {
    if (survey_.others == 0) return {};
    return cat(survey_.others, " of ", files_.size(), " recordings are resampled to ", rate_,
               " samples a second, for example ", quoted(files_.path(survey_.first_other->row)),
               ", which has ", survey_.first_other->rate);
  }

  std::optional<std::vector<std::int64_t>> labels() const override { return {}; }

 private:
  static void require_valid(const AudioOptions& audio) {
    if (audio.rate < 0 || audio.rate > most_sample_rate) {
      fail(ErrorCode::mismatch, "a rate of ", audio.rate, " samples a second");
    }
    if (!(audio.seconds >= 0 && audio.seconds < 1e6)) {
      fail(ErrorCode::mismatch, "recordings of ", audio.seconds, " seconds");
    }
  }

  static bool takes_samples(const PortInfo& input) {
    return (is_float(input.dtype) ? find_copy(DType::float32, input.dtype) != nullptr
                                  : input.dtype == DType::int16) &&
           input.dims && (input.dims->size() == 2 || input.dims->size() == 3);
  }

  static std::int16_t to_int16(float sample) {
    return static_cast<std::int16_t>(std::clamp(std::lround(sample * 32768.0F), -32768L, 32767L));
  }

  std::vector<float> read(std::uint64_t index, std::int64_t count) const {
    const std::string path = files_.path(index);
    const std::int64_t rate = survey_.others == 0 ? rate_ : sound_info(path).rate;
    const auto context = [&] { return "recording " + quoted(path); };
    const std::int64_t before =
        with_context([&] { return samples_before(count, rate, rate_); }, context);
    return decoding_.run([&](const std::shared_ptr<MemoryBudget>& budget) {
      BudgetShare share(budget);
      std::vector<float> samples = read_sound(path, before, share);
      return with_context(
          [&] {
            if (rate != rate_) share.add(static_cast<std::uint64_t>(count) * sizeof(float));
            return resample(std::move(samples), rate, rate_, count);
          },
          context);
    });
  }

  FileIndex files_;
  Survey survey_;
  DecodeBudget decoding_;
  std::int64_t rate_ = 0;
  std::int64_t length_ = 0;  // of a row, where options say it
};

constexpr std::array<std::string_view, 4> extensions{".wav", ".flac", ".ogg", ".oga"};

std::shared_ptr<const Column> open(std::string name, FileIndex files,
                                   const DatasetOptions& options) {
  return std::make_shared<AudioColumn>(std::move(name), std::move(files), options);
}

void check(const std::string& path, const DecodeBudget& decoding) {
  decoding.run([&](const std::shared_ptr<MemoryBudget>& budget) {
    BudgetShare share(budget);
    read_sound(path, std::numeric_limits<std::int64_t>::max(), share);
  });
}

}  // namespace

constinit const FileKind sound_files{"audio", "recording", "recordings", extensions, open, check};

}  // namespace ondine::data
