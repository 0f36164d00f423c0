// A regression and a classification task that train in milliseconds.
#pragma once

#include <ondine/data.h>
#include <ondine/trainer.h>

namespace ondine::test {

// y = 2 a - b + 0.5, rows of pseudo-random a and b.
NamedValues line_data(std::int64_t rows);
// linear_regression(0.05).
Model line_model();
// dropout_classifier().
Model classifier_model();
// x [rows, 8] and label = row % 4.
NamedValues classes_data(std::int64_t rows);

// Every state variable as one value, for comparison bit by bit.
bool same_state(const Model& a, const Model& b);

}  // namespace ondine::test
