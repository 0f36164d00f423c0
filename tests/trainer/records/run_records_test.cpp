// Records that a run leaves in its log folder and report.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <sstream>

#include "tests/support/file_content.h"
#include "tests/support/temporary_folder.h"
#include "tests/trainer/fit/small_task.h"
#include "trainer/records/event_file.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

using Rows = std::vector<std::vector<std::string>>;

Rows table(const std::filesystem::path& file) {
  Rows rows;
  std::istringstream lines(content(file));
  for (std::string line; std::getline(lines, line);) {
    rows.emplace_back();
    std::istringstream cells(line);
    for (std::string cell; std::getline(cells, cell, ',');) rows.back().push_back(cell);
  }
  return rows;
}

std::size_t column(const Rows& rows, const std::string& name) {
  const auto found = std::find(rows.at(0).begin(), rows.at(0).end(), name);
  REQUIRE(found != rows[0].end());
  return static_cast<std::size_t>(found - rows[0].begin());
}

// All but times.
Rows without_seconds(Rows rows) {
  const auto at = static_cast<std::ptrdiff_t>(column(rows, "seconds"));
  for (auto& row : rows) row.erase(row.begin() + at);
  return rows;
}

std::vector<std::filesystem::path> event_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("events.out.tfevents.")) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

struct Run {
  std::vector<double> losses;
  std::vector<double> validation;
  FitReport report;
};

Run run(Model& model, const TrainerOptions& options, std::uint64_t stop_after = 0) {
  Run result;
  Trainer trainer(model, options);
  trainer.on_step([&](const StepReport& step) {
    result.losses.push_back(step.last["loss"]);
    return result.losses.size() != stop_after;
  });
  trainer.on_epoch(
      [&](const EpochReport& epoch) { result.validation.push_back(epoch.validation["loss"]); });
  result.report = trainer.fit(Dataset::from(line_data(20)), Dataset::from(line_data(8)));
  return result;
}

}  // namespace

TEST_CASE("a log folder has a row for each step and each epoch, with their exact numbers") {
  const TemporaryFolder folder;
  TrainerOptions options{.epochs = 3, .batch_size = 4};
  options.log_dir = folder / "a/log";
  Model model = line_model();
  const Run done = run(model, options);
  CHECK(done.report.record_note.empty());
  const Rows steps = table(folder / "a/log/steps.csv");
  REQUIRE(steps.size() == 16);
  const std::size_t loss = column(steps, "loss");
  const std::size_t rate = column(steps, "learning_rate");
  for (std::size_t i = 0; i < 15; ++i) {
    CHECK(steps[i + 1][0] == std::to_string(i + 1));
    CHECK(std::stod(steps[i + 1][loss]) == done.losses[i]);
  }
  CHECK(steps[1][rate].empty());  // the model does not say it
  const Rows epochs = table(folder / "a/log/epochs.csv");
  REQUIRE(epochs.size() == 4);
  for (std::size_t i = 0; i < 3; ++i) {
    CHECK(epochs[i + 1][0] == std::to_string(5 * (i + 1)));
    CHECK(std::stod(epochs[i + 1][column(epochs, "val_loss")]) == done.validation[i]);
  }
  const std::string lines = content(folder / "a/log/log.jsonl");
  CHECK(std::count(lines.begin(), lines.end(), '\n') == 18);
  CHECK_THAT(lines, Contains("{\"step\":15,\"epoch\":3,") && Contains("\"type\":\"epoch\""));
  const auto events = event_files(folder / "a/log");
  REQUIRE(events.size() == 1);
  CHECK(records::read_records(content(events[0])).size() == 1 + 15 + 3);
}

TEST_CASE("a resumed run goes on in its log as if it had never been stopped") {
  const TemporaryFolder folder;
  TrainerOptions options{.epochs = 3, .batch_size = 2, .checkpoint = folder / "whole.ckpt"};
  options.checkpoint_every = 6;
  options.log_dir = folder / "whole";
  Model whole = line_model();
  run(whole, options);

  // The run dies after step 8; its checkpoint is of step 6.
  options.log_dir = folder / "part";
  options.checkpoint = folder / "part.ckpt";
  Model dead = line_model();
  Trainer trainer(dead, options);
  std::size_t count = 0;
  trainer.on_step([&](const StepReport&) {
    if (++count == 8) {
      std::filesystem::copy_file(folder / "part.ckpt", folder / "kept.ckpt");
      throw std::runtime_error("dies");
    }
    return true;
  });
  CHECK_THROWS(trainer.fit(Dataset::from(line_data(20)), Dataset::from(line_data(8))));
  CHECK(table(folder / "part/steps.csv").size() >= 8);
  options.checkpoint = folder / "kept.ckpt";
  options.resume = true;
  // A line that was not finished.
  std::ofstream(folder / "part/steps.csv", std::ios::app) << "9,1";
  Model second = line_model();
  run(second, options);
  for (const std::string name : {"steps.csv", "epochs.csv"}) {
    CHECK(without_seconds(table(folder / "part" / name)) ==
          without_seconds(table(folder / "whole" / name)));
  }
  const auto events = event_files(folder / "part");
  REQUIRE(events.size() == 2);
  // The version, what begins again at step 7, and 24 steps of 30 with 3 epochs.
  const auto records = records::read_records(content(events[1]));
  CHECK(records.size() == 2 + 24 + 3);
  CHECK(records[1].substr(9, 2) == "\x10\x07");
}

TEST_CASE("records of another run are replaced only when told to") {
  const TemporaryFolder folder;
  TrainerOptions options{.epochs = 1, .batch_size = 4};
  options.log_dir = folder / "log";
  Model model = line_model();
  run(model, options);
  CHECK_THROWS_WITH(run(model, options), Contains("log") && Contains("--overwrite"));
  CHECK(model.steps() == 5);
  options.overwrite = true;
  Model other = line_model();
  run(other, options);
  CHECK(table(folder / "log/steps.csv").size() == 6);
  CHECK(event_files(folder / "log").size() == 1);
}

TEST_CASE("places that cannot be written are found before the first step") {
  const TemporaryFolder folder;
  std::ofstream(folder / "file") << "x";
  Model model = line_model();
  TrainerOptions options{.batch_size = 4};
  options.log_dir = folder / "file/log";
  CHECK_THROWS_WITH(run(model, options), Contains("file/log"));
  options.log_dir.clear();
  options.report = folder / "none/report.html";
  CHECK_THROWS_WITH(run(model, options), Contains("report.html"));
  CHECK(model.steps() == 0);
}

TEST_CASE("a full disk ends the log, not the run or its checkpoint") {
  if (!std::filesystem::exists("/dev/full")) return;
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "log");
  std::filesystem::create_symlink("/dev/full", folder / "log/steps.csv");
  TrainerOptions options{.epochs = 2, .batch_size = 4, .checkpoint = folder / "run.ckpt"};
  options.overwrite = true;
  options.log_dir = folder / "log";
  Model model = line_model();
  const Run done = run(model, options);
  CHECK(done.report.reason == StopReason::completed);
  CHECK_THAT(done.report.record_note, Contains("steps.csv") && Contains("No space"));
  CHECK(done.losses.size() == 10);
  Model plain = line_model();
  Trainer(plain, {.epochs = 2, .batch_size = 4}).fit(Dataset::from(line_data(20)));
  CHECK(same_state(model, plain));
  Model restored = line_model();
  CHECK(restored.restore_checkpoint(folder / "run.ckpt").cursor.epoch == 2);
  CHECK(same_state(model, restored));
}

TEST_CASE("the report is one page with curves, confusion matrix and summary, also of a failure") {
  const TemporaryFolder folder;
  Model model = classifier_model();
  TrainerOptions options{.epochs = 2, .batch_size = 4};
  options.metrics = {"accuracy", "confusion_matrix", "f1_per_class"};
  options.report = folder / "report.html";
  NamedValues data = classes_data(20);
  Trainer trainer(model, options);
  trainer.fit(Dataset::from(data), Dataset::from(classes_data(12)));
  const std::string page = content(folder / "report.html");
  CHECK(page.starts_with("<!DOCTYPE html>"));
  CHECK_THAT(page, Contains("<svg") && Contains("class=\"matrix\"") && Contains("f1[3]") &&
                       Contains("prefers-color-scheme: dark") && Contains("completed after 2"));
  // Nothing is loaded from elsewhere.
  CHECK_THAT(page, !Contains("http") && !Contains("<script") && !Contains("src="));

  options.epochs = 3;
  Trainer failing(model, options);
  failing.on_step([](const StepReport&) -> bool { throw std::runtime_error("a & <b>"); });
  CHECK_THROWS(failing.fit(Dataset::from(data), Dataset::from(classes_data(12))));
  CHECK_THAT(content(folder / "report.html"), Contains("failed") && Contains("a &amp; &lt;b&gt;"));
}
