// Which output of a model holds its prediction, and what it means.
#pragma once

#include <optional>
#include <string>

#include <ondine/data_record.h>

#include "trainer/metrics/metric.h"

namespace ondine::fit {

// Of `output`; empty: the recorded one, else the first. Error(mismatch) for a model without
// outputs and for an output that it does not have.
DataRecord::Prediction find_prediction(const Model& model, const DataRecord& record,
                                       const std::string& output = {});

// How outputs are compared with the labels of a loss; nothing for a loss that is not known, and for
// one whose labels no output is compared with.
std::optional<metrics::Task> task_of_loss(const std::string& loss);
// Whether the loss is known, but has labels that no output is compared with.
bool has_no_score(const std::string& loss);

}  // namespace ondine::fit
