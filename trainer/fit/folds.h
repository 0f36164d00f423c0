// Cross-validation: training and evaluation on each fold of the data.
#pragma once

#include <span>

#include "trainer/fit/fit_run.h"

namespace ondine::fit {

// Error(mismatch) where data and options leave nothing to cross-validate or contradict it.
void require_folds(const TrainerOptions& options, const Dataset& data);

// Trains and evaluates a copy of the session's model for each fold. Sets `folds` and their means of
// the report; its reason is StopReason::requested where a fold was stopped.
void cross_validate(const Session& session, const Dataset& data, FitReport& report);

// Sets mean and deviation of the metrics of all folds.
void take_means(FitReport& report);

// Whether early stopping watches validation, which training on all rows has not.
bool watches_validation(const TrainerOptions& options);
// Epochs for training on all rows: those of the options or, if early stopping watches validation,
// the rounded mean of the folds' best epochs.
std::uint64_t epochs_for_all(const TrainerOptions& options, std::span<const FoldReport> folds);
// The options for training on all rows after the folds.
TrainerOptions options_for_all(TrainerOptions options, std::span<const FoldReport> folds);

// Options for a training whose state nobody keeps: no checkpoint, log or report.
TrainerOptions without_files(TrainerOptions options);
// Options for training a fold's copy of the model.
TrainerOptions options_of_fold(TrainerOptions options);

}  // namespace ondine::fit
