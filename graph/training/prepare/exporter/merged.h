// Parameters that an exporter merged because they were equal.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/ir/document.h"

namespace ondine::graph {

// The optimizer of PyTorch's exporter (dynamo=True) writes equal tensors once: in a network that
// has not been trained all scales of normalizations with as many channels, their running variances
// and constants of ones.
enum class Merged : std::uint8_t { parameter, statistic, constant };

// An input of a node that reads a tensor which is another parameter.
struct MergedUse {
  std::size_t node = 0;  // of the main graph
  std::size_t input = 0;
  Merged kind = Merged::parameter;
  std::string kept;  // the initializer that the node reads
  // The parameter or statistic of the node's own module, as the metadata lists it. "" for constants
  // and without metadata.
  std::string own;
};

// Told by the metadata, which lists the parameters of every module and the module of every node;
// running statistics also by nodes that read them as something else. Parameters that follow the
// kept one in the list were merged; those before it were one tensor in the module.
std::vector<MergedUse> merged_uses(const GraphDef& graph);

// Parameters in the list of the metadata that are neither in the file nor merged or folded into
// others.
std::vector<std::string> missing_parameters(const GraphDef& graph);

}  // namespace ondine::graph
