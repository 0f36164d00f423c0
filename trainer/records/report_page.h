// The report of a run: one page of HTML that needs nothing else.
#pragma once

#include <filesystem>
#include <map>

#include "trainer/records/html.h"
#include "trainer/records/recorder.h"

namespace ondine::records {

class ReportPage final : public Recorder {
 public:
  // classes: their names, as far as there are any.
  ReportPage(std::filesystem::path file, std::string title, std::vector<Section> facts,
             std::vector<std::string> classes = {});

  void step(const StepRecord& record) override;
  void epoch(const EpochRecord& record) override;
  // Writes the page; Error(io).
  void end(const std::string& outcome, bool failed, double seconds) override;

 private:
  struct Curves {
    Curve steps;
    Curve training;    // means of epochs
    Curve validation;  // of epochs
  };
  Curves& curves(const std::string& metric);
  std::string tiles(double seconds) const;
  std::string charts() const;
  const EpochReport* shown() const;
  std::string validation_html() const;

  std::filesystem::path file_;
  std::string title_;
  std::vector<Section> facts_;
  std::vector<std::pair<std::string, Curves>> metrics_;  // in the order of their first value
  Curve rate_;
  std::uint64_t steps_ = 0;
  std::optional<EpochReport> last_;
  std::optional<EpochReport> best_;
  std::vector<fit::WorstError> worst_;  // of the epoch that is shown
  std::vector<std::string> classes_;
};

}  // namespace ondine::records
