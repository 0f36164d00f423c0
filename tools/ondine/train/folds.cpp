#include "ondine/train/folds.h"

#include <sstream>

#include <ondine/printable.h>

#include "ondine/common.h"

namespace ondine::cli {

void print_folds(const FitReport& report, Progress& progress) {
  if (report.folds.empty()) return;
  const std::size_t count = report.folds.size();
  for (std::size_t i = 0; i < count; ++i) {
    const FoldReport& fold = report.folds[i];
    std::ostringstream line;
    line << "fold " << i + 1 << '/' << count << ": " << fold.metrics << " on " << fold.rows
         << " rows";
    if (fold.best_epoch != 0) line << ", best epoch " << fold.best_epoch;
    progress.line(line.str());
  }
  for (const auto& [name, mean] : report.fold_mean) {
    progress.line(printable(name) + ": mean " + number(mean) + ", standard deviation " +
                  number(report.fold_deviation[name]) + " of " + std::to_string(count) + " folds");
  }
  if (report.reason == StopReason::requested && !report.last) return;
  progress.line("the model itself was trained on all " +
                std::to_string(report.folds[0].training_rows + report.folds[0].rows) +
                " rows for " + std::to_string(report.epochs) +
                (report.epochs == 1 ? " epoch" : " epochs") + ", without validation");
}

}  // namespace ondine::cli
