// Comparison with expected values that come from another random generator.
#pragma once

#include <optional>
#include <string>

#include <ondine/model.h>

namespace ondine::cli {

bool is_statistical(const std::string& case_name);

// Bernoulli: dtype, shape, and no value but 0 and 1. Dropout: every element is dropped or scaled as
// in the expected output, about as often. nullopt when they agree.
std::optional<std::string> statistical_difference(const NamedValues& feeds, const NamedValues& got,
                                                  const NamedValues& want);

}  // namespace ondine::cli
