#include <algorithm>
#include <sstream>

#include "ondine/common.h"
#include "ondine/verify/compare.h"
#include "ondine/verify/files.h"
#include "ondine/verify/verdict.h"

namespace ondine::cli {
namespace {

namespace fs = std::filesystem;

Tolerance read_tolerance(const fs::path& set) {
  Tolerance result{1e-3, 1e-5};
  if (!fs::exists(set / "tolerance")) return result;
  std::istringstream text(read_text(set / "tolerance"));
  if (!(text >> result.relative >> result.absolute)) {
    throw Error(ErrorCode::mismatch, "file 'tolerance' has no two numbers");
  }
  return result;
}

std::optional<std::string> compare_state(const Model& model, const fs::path& folder,
                                         const Tolerance& tolerance) {
  const NamedValues want = load_named(folder, "");
  for (const NamedValue& one : want) {
    if (auto text = difference(model.get_state(one.first), one.second, tolerance)) {
      return "state variable '" + one.first + "' (" + folder.filename().string() + "): " + *text;
    }
  }
  const std::size_t variables = model.state().size();
  if (want.size() == variables) return {};
  return "the model has " + std::to_string(variables) + " state variables, " +
         folder.filename().string() + " lists " + std::to_string(want.size());
}

std::vector<std::string> names_of(const NamedValues& values) {
  std::vector<std::string> names;
  for (const NamedValue& one : values) names.push_back(one.first);
  return names;
}

std::optional<std::string> compare_outputs(const NamedValues& got, const NamedValues& want,
                                           const Tolerance& tolerance, const std::string& where) {
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (auto text = difference(got.at(i).second, want[i].second, tolerance)) {
      return "output '" + want[i].first + "' (" + where + "): " + *text;
    }
  }
  return {};
}

std::optional<std::string> run_step(Model& model, const fs::path& folder,
                                    const Tolerance& tolerance) {
  const bool chosen = fs::exists(folder / "algorithm");
  const std::size_t algorithm = chosen ? std::stoul(read_text(folder / "algorithm")) : 0;
  const NamedValues want = load_named(folder, "output_");
  const NamedValues got = model.train_step(load_named(folder, "input_"), algorithm, names_of(want));
  // Without fetches a step returns all outputs of the algorithm.
  if (want.empty()) return {};
  return compare_outputs(got, want, tolerance, folder.filename().string());
}

bool same_state(const Model& model, const std::vector<Tensor>& before) {
  const std::vector<StateInfo> state = model.state();
  for (std::size_t i = 0; i < state.size(); ++i) {
    if (!model.get_state(state[i].name).identical(before[i])) return false;
  }
  return true;
}

std::optional<std::string> run_inference(Model& model, const fs::path& folder,
                                         const Tolerance& tolerance) {
  std::vector<Tensor> before;
  for (const StateInfo& one : model.state()) before.push_back(model.get_state(one.name));
  const NamedValues want = load_named(folder, "output_");
  const NamedValues got = model.infer(load_named(folder, "input_"), names_of(want));
  if (!want.empty()) {
    if (auto text = compare_outputs(got, want, tolerance, "infer")) return text;
  }
  if (!same_state(model, before)) return "inference changed the state";
  return {};
}

std::optional<std::string> run_set(const fs::path& file, const fs::path& set,
                                   const VerifyOptions& options) {
  Model model = Model::load(file, options.load);
  const Tolerance tolerance = read_tolerance(set);
  if (fs::exists(set / "initialize")) model.initialize();
  if (fs::exists(set / "expected_initial")) {
    if (auto text = compare_state(model, set / "expected_initial", tolerance)) return text;
  }
  for (const NumberedFile& step : numbered_files(set, "step_", "")) {
    if (auto text = run_step(model, step.path, tolerance)) return text;
  }
  if (auto text = compare_state(model, set / "expected_state", tolerance)) return text;
  if (fs::exists(set / "infer")) return run_inference(model, set / "infer", tolerance);
  return {};
}

}  // namespace

Verdict run_training_case(const fs::path& folder, const VerifyOptions& options) {
  for (const NumberedFile& set : numbered_files(folder, "train_data_set_", "")) {
    if (auto text = run_set(folder / "model.onnx", set.path, options)) return failed(*text);
  }
  return {};
}

}  // namespace ondine::cli
