// The training loop of the command line.
#pragma once

#include <chrono>
#include <fstream>
#include <memory>
#include <optional>

#include "ondine/train/evaluate.h"
#include "ondine/train/progress.h"

namespace ondine::cli {

struct TrainOptions {
  std::string model;
  std::vector<std::string> data;
  std::vector<std::string> map;
  std::vector<std::string> set;
  std::uint64_t epochs = 1;
  std::uint64_t batch_size = 32;
  std::optional<float> learning_rate;
  LoadOptions load;
  std::size_t algorithm = 0;
  std::string weights;  // .safetensors to start from
  std::string output;
  std::string checkpoint;
  std::uint64_t checkpoint_every = 0;  // steps; 0: at the end of each epoch
  bool resume = false;
  bool initialize = false;
  std::string metrics;
  bool stop_on_nan = false;
};

// Everything from loading to the written model. Returns the exit code.
class TrainRun {
 public:
  explicit TrainRun(const TrainOptions& options);
  int run();

 private:
  struct Totals {
    std::vector<double> sums;  // one for each metric, weighted by rows
    std::uint64_t rows = 0;
  };

  void resume();
  void prepare_feeds();
  // False when interrupted.
  bool run_epoch();
  void step(std::span<const std::uint64_t> rows);
  void finish_epoch(double seconds);
  void save();
  void save_after_failure() noexcept;
  void write_result();
  std::string status() const;
  int interrupted();

  TrainOptions options_;
  Model model_;
  DataSplits data_;
  std::optional<Feeder> feeder_;
  std::optional<Evaluator> evaluator_;
  NamedValues constants_;  // fed in every step
  NamedValues feeds_;
  NamedValues metrics_;  // of the last step
  Totals totals_;
  TrainingCursor cursor_;
  std::uint64_t step_in_epoch_ = 0;
  bool diverged_ = false;
  std::ofstream log_;
  Progress progress_;
};

}  // namespace ondine::cli
