// Weights of metrics whose means are not over the rows of a batch.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <ondine/model.h>

namespace ondine::fit {

// Metrics of the algorithm and, for each, the output that says what it counts in a batch: a number
// of labels, or the sum of their weights. As prepare wrote them into the metadata.
std::vector<std::pair<std::string, std::string>> metric_weights(const Model& model,
                                                                std::size_t algorithm);

}  // namespace ondine::fit
