#include "trainer/fit/private_run.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <random>

#include <ondine/metadata.h>

#include "core/message.h"
#include "core/random/random.h"
#include "core/secure/secret_numbers.h"
#include "graph/record/training_entries.h"
#include "trainer/fit/spent_privacy.h"

namespace ondine::fit {
namespace {

// Stream of the random numbers that choose rows; random nodes and shuffling have others.
constexpr std::uint32_t sample_stream = 0xfffffffdU;

// Sizes of batches are multiples of this.
std::uint64_t granule(std::uint64_t size) { return std::max<std::uint64_t>(1, size / 8); }

// Appends the rows of one sample.
void draw_secretly(SecretKey& key, std::uint64_t rows, double rate,
                   std::vector<std::uint64_t>& drawn) {
  if (rows > SecretStream::uniforms) {
    fail(ErrorCode::limit, "secret samples of ", rows, " rows, possible are ",
         SecretStream::uniforms);
  }
  const SecretScope scope(&key);
  const SecretStream numbers = SecretScope::stream(0);
  for (std::uint64_t row = 0; row < rows; row += 8) {
    const auto eight = numbers.uniform_eight(row / 8);
    for (std::uint64_t k = 0; k < std::min<std::uint64_t>(8, rows - row); ++k) {
      if (eight[k] < rate) drawn.push_back(row + k);
    }
  }
}

}  // namespace

std::optional<Privacy> find_privacy(const Model& model, const TrainerOptions& options) {
  const std::optional<Privacy> privacy = privacy_of(model);
  if (!privacy) {
    if (options.privacy_delta) {
      fail(ErrorCode::mismatch,
           "the model is not prepared for privacy, so that a delta has no effect; prepare it with "
           "--dp-clip");
    }
    return {};
  }
  if (options.privacy_delta && !(*options.privacy_delta > 0 && *options.privacy_delta < 1)) {
    fail(ErrorCode::mismatch, "delta must be between 0 and 1, found ", *options.privacy_delta);
  }
  if (options.batch_size != privacy->batch_size) {
    fail(ErrorCode::mismatch, "the model is prepared for privacy with batches of ",
         privacy->batch_size, " rows in the mean, the batch size is ", options.batch_size,
         "; give the same (--batch-size ", privacy->batch_size, ")");
  }
  if (options.folds != 0) {
    fail(ErrorCode::mismatch,
         "cross-validation (folds) trains on rows several times, which the accountant does not "
         "count; train with privacy without it");
  }
  if (options.augmentation && options.augmentation->mixup != 0) {
    fail(ErrorCode::mismatch, "mixup mixes rows, which training with privacy excludes");
  }
  return privacy;
}

std::string note_of(const Privacy& privacy) {
  return cat("batches are random samples, in which each row is with the same probability, of ",
             privacy.batch_size, " rows in the mean",
             privacy.noise > 0 ? "" : "; the noise is 0, so that there is no privacy",
             privacy.secure_noise ? "; they and the noise come from a cryptographic generator, so "
                                    "that the run cannot be repeated"
                                  : "");
}

double default_delta(std::uint64_t rows) {
  int zeros = 1;
  for (double power = 10; power < static_cast<double>(rows); power *= 10) ++zeros;
  return std::pow(10.0, -zeros);
}

std::uint64_t system_seed() {
  std::random_device device;
  return static_cast<std::uint64_t>(device()) << 32 | device();
}

SampledBatches::SampledBatches(std::uint64_t rows, std::uint64_t size, std::uint64_t seed,
                               std::uint64_t epoch, std::uint64_t first, bool secret) {
  const std::uint64_t steps = (rows + size - 1) / size;
  const std::uint64_t multiple = granule(size);
  const double rate = static_cast<double>(size) / static_cast<double>(rows);
  const RandomKey key{seed, epoch, sample_stream};
  std::optional<SecretKey> secret_key;
  if (secret) secret_key.emplace();
  order_.size = 1;
  for (std::uint64_t step = first; step < steps; ++step) {
    const std::size_t begin = order_.rows.size();
    if (secret_key) {
      draw_secretly(*secret_key, rows, rate, order_.rows);
    } else {
      for (std::uint64_t row = 0; row < rows; ++row) {
        if (uniform_at(key, step * rows + row) < rate) order_.rows.push_back(row);
      }
    }
    finish_batch(begin, multiple);
  }
}

void SampledBatches::finish_batch(std::size_t begin, std::uint64_t multiple) {
  const std::uint64_t count = order_.rows.size() - begin;
  const std::uint64_t filled =
      std::max<std::uint64_t>(1, (count + multiple - 1) / multiple) * multiple;
  order_.rows.resize(begin + filled, count == 0 ? 0 : order_.rows[begin]);
  order_.ends.push_back(order_.rows.size());
  order_.size = std::max(order_.size, filled);
  counts_.push_back(count);
  filled_.push_back(filled);
}

NamedValue SampledBatches::next_counted(const Model& model, std::size_t algorithm) {
  const std::string name = metadata_of(model, graph::entry::counted);
  DType dtype = DType::float32;
  for (const PortInfo& port : model.algorithm(algorithm).inputs) {
    if (port.name == name) dtype = port.dtype;
  }
  Tensor counted(dtype, {static_cast<std::int64_t>(filled_[next_])});
  const auto set = [&](auto values) {
    std::fill(values.begin(), values.end(), 0);
    std::fill_n(values.begin(), counts_[next_], 1);
  };
  dtype == DType::float64 ? set(counted.mutable_values<double>())
                          : set(counted.mutable_values<float>());
  ++next_;
  return {name, Value(std::move(counted))};
}

void SpentPrivacy::begin(double noise_of_steps, double rate_of_steps) {
  if (steps != 0 && (noise != noise_of_steps || rate != rate_of_steps)) {
    fail(ErrorCode::mismatch, "the run has taken ", steps, " private steps with noise ", noise,
         " and rows of probability ", rate, ", now they are ", noise_of_steps, " and ",
         rate_of_steps, "; continue it with the same data and settings");
  }
  noise = noise_of_steps;
  rate = rate_of_steps;
}

double SpentPrivacy::epsilon(double delta) const {
  PrivacyAccountant accountant;
  accountant.add(noise, rate, steps);
  return accountant.epsilon(delta);
}

}  // namespace ondine::fit
