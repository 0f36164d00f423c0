// A confusion matrix as text and as JSON.
#pragma once

#include <iosfwd>
#include <nlohmann/json_fwd.hpp>

#include <ondine/trainer.h>

namespace ondine::cli {

// A row for each label, a column for each prediction.
void print_matrix(std::ostream& out, const ConfusionMatrix& matrix);
nlohmann::json matrix_json(const ConfusionMatrix& matrix);

}  // namespace ondine::cli
