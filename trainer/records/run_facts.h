// Facts of a report about a run, beside its course.
#pragma once

#include <vector>

#include "trainer/records/html.h"

namespace ondine::records {

// Model, data and environment of an evaluation.
std::vector<Section> evaluation_facts(const Model& model, const Dataset& data);
// Model, data, options and environment.
std::vector<Section> run_facts(const Model& model, const TrainerOptions& options,
                               const Dataset& training, const Dataset& validation);

}  // namespace ondine::records
