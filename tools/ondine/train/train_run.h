// The command `train`: maps options to ondine::Trainer and reports its progress.
#pragma once

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <ondine/options.h>
#include <ondine/plan.h>
#include <ondine/trainer.h>

#include "ondine/common.h"
#include "ondine/train/data_options.h"
#include "ondine/train/progress.h"

namespace ondine::cli {

struct TrainOptions {
  std::string model;
  DataOptions data;
  std::vector<std::string> validation_data;
  LoadOptions load;
  OptionValues values;     // of the table
  TrainerOptions trainer;  // what they say
  std::string weights;     // .safetensors to start from
  std::string output;
  bool initialize = false;
  std::string metrics_file;  // one line of JSON per epoch
  std::uint64_t seeds = 1;
  std::string job_text;  // the options as a job file
  bool dry_run = false;
  bool quiet = false;
  std::shared_ptr<Communicator> communicator;  // of mpirun
};

class TrainRun {
 public:
  explicit TrainRun(const TrainOptions& options);
  // The exit code.
  int run();
  // Prints data, plan and memory, and the times of three steps, which change only the model in
  // memory.
  int dry_run();
  // Report on the last epoch of run().
  const std::optional<EpochReport>& last_epoch() const noexcept { return last_epoch_; }

 private:
  Trainer make_trainer();
  void require_one_schedule() const;
  void read_options();
  bool is_given(std::string_view option) const;
  // The inputs that options may name; none where the algorithm does not exist.
  std::vector<PortInfo> inputs() const;
  // The options of a run beside its checkpoint.
  void keep_job() const;
  // Whether an option gives the input a number.
  bool is_set(const PortInfo& input) const;
  void require_no_data() const;
  void load_data();
  void start();
  void print_ranks();
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
