#include "trainer/fit/score/metric_weights.h"

#include <algorithm>
#include <sstream>

#include <ondine/metadata.h>

#include "graph/record/training_entries.h"

namespace ondine::fit {

std::vector<std::pair<std::string, std::string>> metric_weights(const Model& model,
                                                                std::size_t algorithm) {
  std::vector<std::pair<std::string, std::string>> weights;
  const std::vector<PortInfo> outputs = model.algorithm(algorithm).outputs;
  const auto is_output = [&](const std::string& name) {
    return std::ranges::find(outputs, name, &PortInfo::name) != outputs.end();
  };
  std::istringstream lines(metadata_of(model, graph::entry::metric_weights));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t sign = line.rfind('=');
    if (sign == std::string::npos) continue;
    std::string metric = line.substr(0, sign);
    std::string weight = line.substr(sign + 1);
    if (is_output(metric) && is_output(weight)) weights.emplace_back(metric, weight);
  }
  return weights;
}

}  // namespace ondine::fit
