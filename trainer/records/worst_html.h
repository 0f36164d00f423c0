// The worst errors of a classifier, with pictures.
#pragma once

#include <string>
#include <vector>

#include "trainer/fit/score/worst_errors.h"

namespace ondine::records {

// HTML of the worst errors, with a headline and `caption`; empty without errors. `names`: names of
// the classes.
std::string worst_html(const std::vector<fit::WorstError>& worst,
                       const std::vector<std::string>& names, const std::string& caption);

}  // namespace ondine::records
