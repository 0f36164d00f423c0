#include "trainer/data/audio/resample.h"

#include <algorithm>
#include <cmath>

#include "core/message.h"

#ifdef ONDINE_SAMPLERATE
#include <samplerate.h>
#endif

namespace ondine::data {
namespace {

constexpr double most_step = 256;  // libsamplerate's bound

}  // namespace

std::int64_t samples_before(std::int64_t count, std::int64_t rate, std::int64_t to) {
  if (rate == to) return count;
  const double step = static_cast<double>(rate) / static_cast<double>(to);
  if (step > most_step || step < 1 / most_step) {
    fail(ErrorCode::unsupported, "cannot resample from ", rate, " to ", to, " samples a second");
  }
  // More than half the length of the filter.
  const double margin = 1024 * std::max(1.0, step);
  const double samples = std::ceil(static_cast<double>(count) * step + margin);
  return static_cast<std::int64_t>(std::min(samples, 1e15));
}

#ifdef ONDINE_SAMPLERATE

std::vector<float> resample(std::vector<float> samples, std::int64_t rate, std::int64_t to,
                            std::int64_t count) {
  if (rate == to) {
    if (static_cast<std::int64_t>(samples.size()) > count) {
      samples.resize(static_cast<std::size_t>(count));
    }
    return samples;
  }
  const double ratio = static_cast<double>(to) / static_cast<double>(rate);
  const auto all =
      static_cast<std::int64_t>(std::ceil(static_cast<double>(samples.size()) * ratio));
  std::vector<float> result(static_cast<std::size_t>(std::min(count, all)));
  SRC_DATA data{};
  data.data_in = samples.data();
  data.data_out = result.data();
  data.input_frames = static_cast<long>(samples.size());
  data.output_frames = static_cast<long>(result.size());
  data.src_ratio = ratio;
  if (const int error = src_simple(&data, SRC_SINC_MEDIUM_QUALITY, 1); error != 0) {
    fail(ErrorCode::limit, "cannot resample: ", src_strerror(error));
  }
  result.resize(static_cast<std::size_t>(data.output_frames_gen));
  return result;
}

#else

std::vector<float> resample(std::vector<float> samples, std::int64_t rate, std::int64_t to,
                            std::int64_t count) {
  if (rate != to) {
    fail(ErrorCode::unsupported, "resampling from ", rate, " to ", to,
         " samples a second needs libsamplerate, which this build is without");
  }
  samples.resize(static_cast<std::size_t>(
      std::min<std::int64_t>(count, static_cast<std::int64_t>(samples.size()))));
  return samples;
}

#endif

}  // namespace ondine::data
