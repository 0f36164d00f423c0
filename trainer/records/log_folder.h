// The folder of a run's records: event files of TensorBoard, tables, and lines of JSON.
#pragma once

#include <chrono>

#include "trainer/records/event_file.h"
#include "trainer/records/line_file.h"
#include "trainer/records/recorder.h"

namespace ondine::records {

struct LogFolderOptions {
  std::filesystem::path folder;
  bool replace = false;                     // records of another run
  std::optional<std::uint64_t> resumed_at;  // the model's steps
};

// Error(exists) when the folder has records of another run and they may not be replaced, and
// Error(io) when it cannot be made.
void require_log_folder(const LogFolderOptions& options);

class LogFolder final : public Recorder {
 public:
  // After require_log_folder.
  explicit LogFolder(const LogFolderOptions& options);

  void step(const StepRecord& record) override;
  void epoch(const EpochRecord& record) override;
  void end(const std::string& outcome, bool failed, double seconds) override;

 private:
  using Clock = std::chrono::steady_clock;
  void flush();

  EventFile events_;
  LineFile steps_;
  LineFile epochs_;
  LineFile lines_;
  bool steps_begun_ = false;
  bool epochs_begun_ = false;
  Clock::time_point flushed_ = Clock::now();
};

}  // namespace ondine::records
