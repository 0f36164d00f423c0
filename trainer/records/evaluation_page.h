// The report of an evaluation: one page of HTML that needs nothing else.
#pragma once

#include <filesystem>
#include <vector>

#include "trainer/fit/score/worst_errors.h"
#include "trainer/records/html.h"

namespace ondine::records {

// Replaces the file; Error(io).
void write_evaluation_page(const std::filesystem::path& file, const Evaluation& evaluation,
                           const std::vector<fit::WorstError>& worst,
                           const std::vector<Section>& facts);

}  // namespace ondine::records
