// The command `train`: maps options to ondine::Trainer and reports its progress.
#pragma once

#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include <ondine/plan.h>
#include <ondine/trainer.h>

#include "ondine/common.h"
#include "ondine/train/data_options.h"
#include "ondine/train/progress.h"
#include "ondine/train/schedule_options.h"

namespace ondine::cli {

struct TrainOptions {
  std::string model;
  DataOptions data;
  std::vector<std::string> validation_data;
  std::vector<std::string> map;
  std::vector<std::string> set;
  LoadOptions load;
  TrainerOptions trainer;
  EarlyStopping early_stopping;
  std::optional<std::uint64_t> batch_size;  // required with data
  std::optional<std::uint64_t> patience;    // absent: no early stopping
  ScheduleOptions schedule;
  std::string augment;
  std::string max_time;
  std::string checkpoint;
  std::string weights;  // .safetensors to start from
  std::string output;
  bool initialize = false;
  std::vector<std::string> metrics;  // names, and a file for one line of JSON per epoch
  std::string metrics_file;          // taken out of them
  std::string log_dir;
  std::string report;
  std::uint64_t seeds = 1;
  bool dry_run = false;
  bool quiet = false;
};

class TrainRun {
 public:
  explicit TrainRun(const TrainOptions& options);
  // The exit code.
  int run();
  // Prints data, plan and memory, and the times of three steps, which change only the model in
  // memory.
  int dry_run();
  // Of run().
  const std::optional<EpochReport>& last_epoch() const noexcept { return last_epoch_; }

 private:
  Trainer make_trainer();
  void require_one_schedule() const;
  TrainerOptions trainer_options() const;
  // The inputs that options may name; none where the algorithm does not exist.
  std::vector<PortInfo> inputs() const;
  // Whether an option gives the input a number.
  bool is_set(const PortInfo& input) const;
  void require_no_data() const;
  void load_data();
  void start();
  void on_epoch(const EpochReport& report);
  FitReport fit();
  void write_result();
  int interrupted();
  PlanRequest plan_request(const Dataset& training) const;
  void print_plan(const Dataset& training) const;
  void print_times(std::uint64_t rows);

  TrainOptions options_;
  Model model_;
  Trainer trainer_;
  Dataset training_;
  std::optional<Dataset> validation_;  // of --validation-data
  std::uint64_t rows_ = 0;             // per epoch, known after the first step
  std::optional<EpochReport> last_epoch_;
  std::ofstream log_;
  Progress progress_;
};

}  // namespace ondine::cli
