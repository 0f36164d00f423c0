#include "trainer/fit/ranks.h"

#include <algorithm>
#include <bit>
#include <sstream>

#include <ondine/version.h>

#include "core/digest.h"
#include "core/message.h"
#include "kernels/simd/isa.h"
#include "trainer/data/augment/draws.h"
#include "trainer/data/fingerprint.h"
#include "trainer/fit/schedule.h"
#include "trainer/model/model_impl.h"

namespace ondine::fit {
namespace {

constexpr std::uint64_t default_shards = 4;

std::string hex(const Sha256Digest& digest) { return to_hex(digest); }

std::string state_of(const Model& model) {
  Sha256 digest;
  for (const StateInfo& variable : model.state()) {
    const Tensor value = model.get_state(variable.name);
    digest.update(bytes_of(variable.name));
    if (value.dtype() == DType::string) continue;
    digest.update({static_cast<const std::byte*>(value.data()), value.bytes()});
  }
  return hex(digest.finish());
}

std::string options_of(const Model& model, const TrainerOptions& options) {
  std::ostringstream text;
  text.precision(17);
  text << options.epochs << ' ' << options.batch_size << ' ' << options.seed << ' '
       << options.algorithm << ' ' << options.accumulate.value_or(0) << ' ' << options.averaged
       << ' ' << options.validation_split << ' ' << options.learning_rate.value_or(-1) << ' '
       << options.max_steps.value_or(0) << ' ' << options.checkpoint_every << ' '
       << options.eval_every << ' ' << options.keep_last << ' ' << options.stop_on_nan << ' '
       << static_cast<int>(options.on_nan) << ' ' << options.class_axis.value_or(-1000) << ' '
       << options.micro_shards.value_or(0) << ' ' << options.fast_reduce << ' '
       << to_string(options.wire_dtype) << ' ' << options.sync_batch_stats << ' '
       << options.checkpoint.empty() << '\n';
  text << describe(options.schedule, {1, options.epochs}) << '\n';
  for (const auto& [name, value] : options.constants) text << name << '=' << value << '\n';
  for (const auto& [name, array] : options.map) text << name << ':' << array << '\n';
  for (const std::string& name : options.metrics) text << name << '\n';
  if (options.augmentation) text << data::describe(*options.augmentation) << '\n';
  if (const auto& early = options.early_stopping) {
    text << early->metric << ' ' << early->patience << ' ' << early->min_delta << ' '
         << early->restore_best << '\n';
  }
  text << model.seed() << ' ' << model.steps() << ' '
       << static_cast<int>(ModelAccess::impl(model).options.precision);
  return text.str();
}

std::string data_of(const Dataset& data) {
  return data.empty() ? std::string() : data::thorough_fingerprint(data);
}

void require_divisible(const TrainerOptions& options, std::uint64_t shards, std::uint64_t ranks) {
  if (shards == 0) fail(ErrorCode::mismatch, "a batch needs at least 1 micro-shard");
  if (options.batch_size % shards != 0) {
    fail(ErrorCode::mismatch, "--batch-size ", options.batch_size, " cannot be divided into ",
         shards,
         options.fast_reduce ? " equal parts, one for each rank"
                             : " equal micro-shards (--micro-shards)");
  }
  if (shards % ranks != 0) {
    fail(ErrorCode::mismatch, shards, " micro-shards (--micro-shards) cannot be divided among ",
         ranks, " ranks");
  }
  if (ranks > 1 && !std::has_single_bit(shards / ranks)) {
    fail(ErrorCode::mismatch, shards, " micro-shards (--micro-shards) are ", shards / ranks,
         " for each of ", ranks, " ranks, which is not a power of 2");
  }
}

void require_wire(const TrainerOptions& options) {
  if (options.wire_dtype != DType::float32 && options.wire_dtype != DType::bfloat16) {
    fail(ErrorCode::mismatch,
         "gradients between ranks may be float32 or bfloat16 (--wire-dtype), "
         "found ",
         options.wire_dtype);
  }
  if (options.wire_dtype != DType::float32 && !options.fast_reduce) {
    fail(ErrorCode::mismatch,
         "--wire-dtype bfloat16 rounds by the number of ranks: it needs "
         "--fast-reduce, which gives up that bits do not depend on it");
  }
  if (options.sync_batch_stats && !options.communicator) {
    fail(ErrorCode::mismatch,
         "--sync-batch-stats needs several ranks; start the program with mpirun");
  }
}

}  // namespace

TrainerOptions with_ranks(TrainerOptions options) {
  if (options.fast_reduce && options.micro_shards) {
    fail(ErrorCode::mismatch,
         "--fast-reduce makes one part for each rank: it does not go with "
         "--micro-shards");
  }
  if (options.fast_reduce && !options.communicator) {
    fail(ErrorCode::mismatch, "--fast-reduce needs several ranks; start the program with mpirun");
  }
  require_wire(options);
  if (options.micro_shards && !options.communicator) {
    options.communicator = thread_communicators(1).front();
  }
  if (!options.communicator) return options;
  if (options.folds != 0) {
    fail(ErrorCode::mismatch, "cross-validation (folds) does not go with micro-shards");
  }
  if (!options.fast_reduce && !options.micro_shards) {
    options.micro_shards = std::max<std::uint64_t>(default_shards, options.communicator->size());
  }
  if (options.communicator->rank() != 0) {
    options.log_dir.clear();
    options.report.clear();
  }
  return options;
}

Ranks::Ranks(const TrainerOptions& options) : communicator_(options.communicator) {
  if (!communicator_) return;
  fast_reduce_ = options.fast_reduce;
  batch_ = options.batch_size;
  micro_shards_ = fast_reduce_ ? communicator_->size() : options.micro_shards.value_or(1);
  require_divisible(options, micro_shards_, communicator_->size());
  rounds_ = options.wire_dtype == DType::bfloat16;
  synchronizes_ = options.sync_batch_stats;
  if (synchronizes_ && micro_shards_ != communicator_->size()) {
    fail(ErrorCode::mismatch,
         "--sync-batch-stats computes all micro-shards at once, which needs one "
         "for each rank: --micro-shards ",
         communicator_->size(), " or --fast-reduce, found ", micro_shards_);
  }
  micro_rows_ = batch_ / micro_shards_;
}

std::uint64_t Ranks::shards() const noexcept { return micro_shards_ / communicator_->size(); }

std::uint64_t Ranks::first_shard() const noexcept { return communicator_->rank() * shards(); }

std::uint64_t Ranks::rows_of(std::uint64_t shard, std::uint64_t rows) const noexcept {
  const std::uint64_t first = shard * micro_rows_;
  return rows <= first ? 0 : std::min(micro_rows_, rows - first);
}

std::vector<std::uint64_t> Ranks::own_rows(const std::vector<std::uint64_t>& all) const {
  std::vector<std::uint64_t> own;
  own.reserve(own_rows_before(all.size(), all.size()));
  const std::uint64_t first = first_shard() * micro_rows_;
  const std::uint64_t count = shards() * micro_rows_;
  for (std::uint64_t i = 0; i < all.size(); ++i) {
    const std::uint64_t at = i % batch_;
    if (at >= first && at - first < count) own.push_back(all[i]);
  }
  return own;
}

std::uint64_t Ranks::own_rows_before(std::uint64_t first, std::uint64_t all) const {
  const std::uint64_t position = std::min(first, all);
  const std::uint64_t own = shards() * micro_rows_;
  const std::uint64_t begin = first_shard() * micro_rows_;
  const std::uint64_t rest = position % batch_;
  return position / batch_ * own + (rest <= begin ? 0 : std::min(own, rest - begin));
}

std::uint32_t Ranks::agree(const std::function<void()>& work, std::uint32_t wish) const {
  if (communicator_) return cluster::agree_on(*communicator_, work, wish);
  work();
  return wish;
}

void Ranks::on_first(const std::function<void()>& work) const {
  agree([&] {
    if (is_first()) work();
  });
}

void Ranks::require_same(const Model& model, const TrainerOptions& options, const Dataset& training,
                         const Dataset& validation) const {
  std::vector<std::pair<std::string, std::string>> facts;
  agree([&] {
    facts = {{"the version of Ondine", version()},
             {"the instruction set (ONDINE_ISA)", math::isa_name(math::simd_tables())},
             {"the model", hex(ModelAccess::impl(model).fingerprint())},
             {"the state of the model", state_of(model)},
             {"the options", options_of(model, options)},
             {"the training data", data_of(training)},
             {"the validation data", data_of(validation)}};
  });
  cluster::require_same(*communicator_, facts);
}

}  // namespace ondine::fit
