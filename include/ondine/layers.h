// The layers of a model: parameters, shapes and multiply-adds, and the memory of a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ondine/export.h>
#include <ondine/model.h>
#include <ondine/shape.h>

namespace ondine {

struct LayerRequest {
  // Shapes of inputs by name, as in PlanRequest: of the main graph and of the algorithm.
  std::vector<std::pair<std::string, Shape>> shapes;
  // The algorithm whose step LayerReport::step describes; ignored in models without training.
  std::size_t algorithm = 0;
};

// A node of the main graph with parameters or multiply-adds. Functions are inlined; a node with
// subgraphs (If, Loop, Scan) is one layer with everything in it.
struct Layer {
  std::string name;  // of the node; of its first output where the node has none
  std::string op;
  std::string type;  // of its first output: "tensor(float)[1, 64, 112, 112]"
  // Elements of the parameters that the node reads, directly or through nodes that read only
  // parameters (Transpose, DequantizeLinear). Parameters are the weights that training updates and
  // the constants of more than one element that are floating point or, from rank 2 on, quantized to
  // 8 bits or less. Statistics of BatchNormalization, masks (infinite or huge elements) and inputs
  // without a derivative (indices, scales of Resize) are none.
  std::uint64_t trained_parameters = 0;
  std::uint64_t frozen_parameters = 0;
  bool shared = false;  // an earlier layer reads one of these parameters, too
  // Multiply-adds of one inference; nullopt where a shape depends on data. See layers().
  std::optional<std::uint64_t> multiply_adds = 0;
  std::uint64_t output_bytes = 0;  // of all outputs; 0 where a shape depends on data
  // Number of the node in the file's main graph, from 0, that makes its first output; nullopt
  // where that is a node of a function.
  std::optional<std::size_t> node = {};
};

struct LayerReport {
  std::vector<Layer> layers;  // in the order in which they run
  // Totals. A parameter that several layers share counts once.
  std::uint64_t trained_parameters = 0;
  std::uint64_t frozen_parameters = 0;
  std::uint64_t multiply_adds = 0;
  PlanInfo inference;
  std::optional<PlanInfo> step;  // nullopt in models without training
};

// Multiply-adds by operator, where |T| is the number of elements of T:
//   Conv, DeformConv, ConvInteger, QLinearConv   |Y| * |W| / (output channels)
//   ConvTranspose                                |X| * |W| / (input channels)
//   MatMul, MatMulInteger, QLinearMatMul, Gemm   |Y| * (length of the summed axis)
//   Einsum         (number of operands - 1) * product of the sizes of all its indices
//   Attention      (|Q| + |Y|) * (length of keys and past keys)
//   RNN, GRU, LSTM (sequence length) * (batch size) * (|W| + |R|)
//   If             those of the branch that has more
//   Loop, Scan     those of the body times the iterations; Loop: one where the number is not a
//                  constant
// Padding counts as data. All other operators count 0: normalization, activations, pooling,
// elementwise arithmetic and operators of other domains.
// Error(mismatch) as Model::plan_report, for example for a dim that is not given.
ONDINE_API LayerReport layers(const Model& model, const LayerRequest& request = {});

// A table with totals. Not meant to be parsed.
ONDINE_API std::string to_string(const LayerReport& report);

}  // namespace ondine
