// Training steps and derivatives as inference models of standard operators, for any ONNX runtime.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ondine/export.h>
#include <ondine/limits.h>
#include <ondine/model.h>

namespace ondine {

struct LowerOptions {
  std::size_t algorithm = 0;  // the training information whose step is lowered
  // Lowers the initialization of this training information instead.
  std::optional<std::size_t> initialization = {};
  // Version of ai.onnx to write. Default: the newest that the model imports, at least 18.
  std::optional<std::int64_t> opset = {};
  // Tensors of at least this many bytes go to one file beside the output (see ExportOptions).
  std::optional<std::uint64_t> external_data_from = {};
};

// Facts about the lowered model.
struct LowerReport {
  std::int64_t opset = 0;
  std::size_t nodes = 0;  // without those of subgraphs
  std::vector<std::string> feeds;
  std::vector<std::string> state;    // inputs with the values that start the training as defaults
  std::vector<std::string> results;  // what train_step returns
  // State variables and the outputs that hold their next values.
  std::vector<std::pair<std::string, std::string>> next_state;
  std::vector<std::string> warnings;  // about the documents of operator sets
};

// Writes one training step, or one initialization, as an inference model without training
// information, functions and operators of other domains than ai.onnx and ai.onnx.ml: Gradient and
// the optimizers become arithmetic. Its inputs are the feeds and the state variables that the step
// reads, under their names; its outputs are the results and the next state. The metadata entry
// "ondine.state.NAME" names the output with the next value of the state variable NAME. Random
// operators draw other numbers than Ondine does. `output` is replaced in one step.
// Throws what Model::load throws; Error(mismatch) for an algorithm or initialization that is not
// there and an opset below 18 or above the newest; Error(unsupported) naming the node and operator
// that has no form in standard operators of this version.
ONDINE_API LowerReport lower(const std::filesystem::path& model,
                             const std::filesystem::path& output, const LowerOptions& options = {},
                             const Limits& limits = {});
// Overload with LoadOptions: only `operator_sets` and `limits` count.
ONDINE_API LowerReport lower(const std::filesystem::path& model,
                             const std::filesystem::path& output, const LowerOptions& options,
                             const LoadOptions& load);
// Lowers a loaded model with its present state as defaults, under the limits that it was loaded
// with. Returns the bytes of the file.
ONDINE_API std::vector<std::byte> lower(const Model& model, const LowerOptions& options = {},
                                        LowerReport* report = nullptr);

// With J the derivative of y by the tensors x_i, all as they are named in the model:
enum class DerivativeKind : std::uint8_t {
  gradient,         // of the sum of y: outputs "gradient.X"
  vector_jacobian,  // v J: input "seed.Y" (v), outputs "gradient.X"
  jacobian_vector,  // J v: inputs "tangent.X" (v), output "tangent.Y"
  hessian_vector,   // H v, H the Hessian of the sum of y: inputs "tangent.X", outputs "hessian.X"
};

struct DifferentiateOptions {
  std::string of;               // y: a floating point tensor of the main graph
  std::vector<std::string> by;  // x_i: inputs, initializers or other floating point tensors
  DerivativeKind kind = DerivativeKind::gradient;
  std::optional<std::int64_t> opset = {};
  std::optional<std::uint64_t> external_data_from = {};
};

// Writes a model that computes y and its derivatives, in standard operators as lower() does. Its
// inputs are those of the main graph, then the seed or the tangents; initializers among `by` are
// inputs too, with their values as defaults. Training information is ignored. Throws what lower()
// throws, and Error(mismatch) for names that are no tensors of the main graph.
ONDINE_API LowerReport differentiate(const std::filesystem::path& model,
                                     const std::filesystem::path& output,
                                     const DifferentiateOptions& options,
                                     const Limits& limits = {});
// Overload with LoadOptions: only `operator_sets` and `limits` count.
ONDINE_API LowerReport differentiate(const std::filesystem::path& model,
                                     const std::filesystem::path& output,
                                     const DifferentiateOptions& options, const LoadOptions& load);
ONDINE_API std::vector<std::byte> differentiate(const Model& model,
                                                const DifferentiateOptions& options,
                                                LowerReport* report = nullptr);

}  // namespace ondine
