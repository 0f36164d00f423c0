// Quantization-aware training: a network that rounds its weights and activations to 8 bits, as the
// model that is exported from it will.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "graph/ir/document.h"
#include "graph/training/prepare/writer.h"

namespace ondine::graph {

// The quantizations of a main graph, by the initializers that hold their scales.
struct QuantizedNetwork {
  struct Activation {
    double levels = 0;  // the largest magnitude becomes this
    float initial = 0;  // the scale before the first step
  };
  struct Weight {
    std::string weight;
    std::string scale;
    std::vector<std::int64_t> reduced;  // all axes but that of the channels
  };
  std::map<std::string, Activation, std::less<>> activations;
  std::vector<Weight> weights;
  double weight_levels = 0;  // the largest weight of a channel becomes this
  std::size_t layers = 0;
};

// Folds the BatchNormalization after each Conv into it, and puts QuantizeLinear and
// DequantizeLinear in front of both factors of every Conv, Gemm and MatMul whose second factor is a
// float32 initializer: weights with a scale for each channel, activations with one scale, as uint8
// where they cannot be negative and else as int8. `weights`: the type that they will be stored in;
// int8 has 64 levels on each side, so that sums of two products fit into 16 bits, and uint8 127.
// Throws Error(unsupported) for a version of ai.onnx before 13 and for networks without such a
// layer.
QuantizedNetwork insert_quantization(ModelDef& model, DType weights);

// The scale of an activation for this step: that of the batch in the first step, afterwards a
// moving average. No derivative flows through it.
std::string write_activation_scale(GraphWriter& writer, const std::string& value,
                                   const std::string& scale,
                                   const QuantizedNetwork::Activation& activation);

// Scales that fit the new values of the weights that `bindings` update; adds their bindings.
void write_weight_scales(GraphWriter& writer, const GraphDef& main, const QuantizedNetwork& network,
                         Properties& bindings);

}  // namespace ondine::graph
