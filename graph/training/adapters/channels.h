// Weights of which some channels train: "WEIGHT@0,3,8-15" among the patterns of what trains.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/training/adapters/attach.h"
#include "graph/training/adapters/find_layers.h"
#include "graph/training/prepare/writer.h"

namespace ondine::graph {

// "WEIGHT@0,3,8-15"; the channels are in rising order.
std::string to_pattern(const TrainedChannels& trained);

// Takes such entries out of `train`. One that is the name of an initializer, or has something else
// behind the @, stays. Error(mismatch) for channels that are not in rising order, for a weight that
// is named twice or by another pattern too, and naming an option that channels exclude.
std::vector<TrainedChannels> take_channels(const GraphDef& graph, PrepareOptions& options);

// Whether channels of the layer's weight can train: the weight is stored in a floating point type,
// nothing else reads it, and the layer is linear or a convolution of one group.
bool has_channels(const LayerFinder& finder, const AdapterLayer& layer);

// Writes into the main graph what the layers add: their channels of the input, gathered, times
// weights that begin as zeros. The record has an adapter for each. Error(mismatch) for a weight
// that is none of a layer with channels, and for a channel that it does not have.
void attach_channels(ModelDef& model, const std::vector<TrainedChannels>& chosen,
                     const ValueTypes& types, std::span<const std::string> read,
                     GraphWriter& writer, Adapters& record, AttachedAdapters& attached);

// Says in the table which weights train in part.
void explain_channels(PrepareReport& report, const std::vector<TrainedChannels>& chosen);

}  // namespace ondine::graph
