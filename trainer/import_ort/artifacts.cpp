#include "trainer/import_ort/artifacts.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <system_error>

#include "core/message.h"
#include "graph/ir/walk.h"
#include "graph/training/prepare/names.h"
#include "trainer/model/load_checked.h"

namespace ondine::trainer {
namespace {

namespace fs = std::filesystem;

// The one file of the folder whose name ends so.
fs::path find_file(const fs::path& folder, std::string_view end) {
  std::error_code error;
  std::vector<fs::path> found;
  for (fs::directory_iterator each(folder, error); !error && each != fs::directory_iterator();
       each.increment(error)) {
    const std::string name = each->path().filename().string();
    if (name.ends_with(end) && !name.ends_with(cat("nominal_", end))) found.push_back(each->path());
  }
  if (error) {
    fail(ErrorCode::io, "cannot read folder ", quoted(folder.string()), ": ", error.message());
  }
  if (found.empty()) {
    fail(ErrorCode::io, "folder ", quoted(folder.string()), " has no file ", end,
         ", which onnxruntime.training.artifacts.generate_artifacts writes");
  }
  if (found.size() > 1) {
    std::ranges::sort(found);
    fail(ErrorCode::mismatch, "folder ", quoted(folder.string()), " has more than one ", end, ": ",
         quoted(found[0].filename().string()), ", ", quoted(found[1].filename().string()));
  }
  return found[0];
}

template <class Body>
decltype(auto) with_file(const fs::path& file, Body&& body) {
  return with_context(body, [&] { return cat("model ", quoted(file.string())); });
}

// The parameters of which the training model accumulates gradients.
std::set<std::string> updated_parameters(const graph::ModelDef& training) {
  constexpr std::string_view end = "_grad.accumulation.buffer";
  std::set<std::string> names;
  for (const graph::ValueDef& input : training.graph.inputs) {
    if (!input.name.ends_with(end)) continue;
    names.insert(input.name.substr(0, input.name.size() - end.size()));
  }
  return names;
}

void check_trained(const OrtCheckpoint& checkpoint, const graph::ModelDef& training) {
  std::set<std::string> updated = updated_parameters(training);
  for (const auto& [name, value] : checkpoint.trained) {
    if (updated.erase(name) != 0) continue;
    fail(ErrorCode::mismatch, "the checkpoint trains parameter ", quoted(name),
         ", the training model does not");
  }
  if (!updated.empty()) {
    fail(ErrorCode::mismatch, "the training model trains parameter ", quoted(*updated.begin()),
         ", which is not among those that the checkpoint trains");
  }
  if (checkpoint.trained.empty()) fail(ErrorCode::mismatch, "the checkpoint trains no parameter");
}

bool fits(const graph::TypeDef& type, const Tensor& value) {
  if (type.kind != graph::TypeKind::tensor || type.dtype != value.dtype()) return false;
  if (!type.dims) return true;
  const Shape& shape = value.shape();
  if (type.dims->size() != shape.rank()) return false;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    const auto* const size = std::get_if<std::int64_t>(&(*type.dims)[i]);
    if (size != nullptr && *size != shape[i]) return false;
  }
  return true;
}

// Parameters are inputs of the evaluation model; here they become initializers.
void place_parameters(graph::GraphDef& graph, const OrtCheckpoint& checkpoint) {
  std::map<std::string_view, const graph::ValueDef*> inputs;
  for (const graph::ValueDef& input : graph.inputs) inputs.emplace(input.name, &input);
  std::set<std::string, std::less<>> placed;
  const auto place = [&](const std::string& name, const Tensor& value) {
    const auto input = inputs.find(name);
    if (input == inputs.end()) {
      fail(ErrorCode::mismatch, "parameter ", quoted(name),
           " of the checkpoint is not an input of the evaluation model");
    }
    if (!fits(input->second->type, value)) {
      fail(ErrorCode::mismatch, "parameter ", quoted(name), " of the checkpoint is a ",
           value.dtype(), value.shape(), ", the evaluation model needs another type or shape");
    }
    graph.initializers.push_back({name, value, {}, {}});
    placed.insert(name);
  };
  for (const auto& [name, value] : checkpoint.trained) place(name, value);
  for (const auto& [name, value] : checkpoint.frozen) place(name, value);
  std::erase_if(graph.inputs, [&](const auto& input) { return placed.contains(input.name); });
}

// A checkpoint holds the state since the last step; before the first one there is none.
void go_on(OrtOptimizer& optimizer, const OrtCheckpoint& checkpoint) {
  if (!checkpoint.optimizer) return;
  const OrtOptimizerState& state = *checkpoint.optimizer;
  std::visit([&](auto& one) { one.learning_rate = state.learning_rate; }, optimizer.settings);
  if (!std::holds_alternative<AdamW>(optimizer.settings)) return;
  optimizer.start.step = state.step;
  optimizer.start.moments.insert(state.moments.begin(), state.moments.end());
  for (const auto& [name, value] : checkpoint.trained) {
    const auto moments = state.moments.find(name);
    if (moments != state.moments.end() && moments->second.size() == 2) continue;
    fail(ErrorCode::mismatch, "the checkpoint has no two moments of parameter ", quoted(name),
         ", which AdamW needs after ", state.step, " steps");
  }
}

}  // namespace

OrtArtifacts load_artifacts(const fs::path& folder, const ImportOrtOptions& options,
                            const LoadOptions& load) {
  const fs::path eval = find_file(folder, "eval_model.onnx");
  const fs::path training = find_file(folder, "training_model.onnx");
  const fs::path optimizer = find_file(folder, "optimizer_model.onnx");
  OrtArtifacts artifacts;
  artifacts.checkpoint = load_ort_checkpoint(
      options.checkpoint.empty() ? find_file(folder, "checkpoint") : options.checkpoint,
      load.limits);
  CheckedModel checked = with_file(eval, [&] { return load_checked(eval, load); });
  artifacts.eval = std::move(checked.def);
  artifacts.warnings = std::move(checked.warnings);
  // The other models are read, not run: operators of ONNX Runtime need no function.
  LoadOptions unlinked = load;
  unlinked.operator_sets.clear();
  with_file(training, [&] {
    const graph::ModelDef model = load_checked(training, unlinked).def;
    check_trained(artifacts.checkpoint, model);
    graph::for_each_node(model.graph.nodes, [&](const graph::NodeDef& node) {
      const bool normalizes = node.op == "BatchNormInternal";
      artifacts.normalizes = artifacts.normalizes || normalizes;
      artifacts.trains_mode = artifacts.trains_mode || normalizes ||
                              graph::one_of(node.op, {"DropoutGrad", "BitmaskDropoutGrad"});
    });
  });
  with_file(eval, [&] { place_parameters(artifacts.eval.graph, artifacts.checkpoint); });
  artifacts.optimizer =
      with_file(optimizer, [&] { return read_optimizer(load_checked(optimizer, unlinked).def); });
  go_on(artifacts.optimizer, artifacts.checkpoint);
  return artifacts;
}

}  // namespace ondine::trainer
