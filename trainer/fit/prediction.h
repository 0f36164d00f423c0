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

// What the labels of a loss are; nothing for a loss that is not known.
std::optional<metrics::Task> task_of_loss(const std::string& loss);

}  // namespace ondine::fit
