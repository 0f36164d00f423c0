#include <fstream>
#include <nlohmann/json.hpp>

#include "ondine/common.h"
#include "ondine/verify/compare.h"
#include "ondine/verify/files.h"
#include "ondine/verify/statistical.h"
#include "ondine/verify/verdict.h"

namespace ondine::cli {
namespace {

namespace fs = std::filesystem;

Tolerance tolerance_of(const std::string& name) {
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (has("celu_bfloat16_expanded")) return {1e-2, 1e-2};
  if (has("dft")) return {1e-3, 1e-6};
  // These round after every operation of Softmax, where this project computes in float and rounds
  // once, which is nearer to the exact value: two units in the last place of the 16-bit type.
  const bool rounded = has("attention") && (has("causal") || has("padded_kv"));
  if (rounded && has("_bf16")) return {0x1p-6, 1e-7};
  if (rounded && has("_fp16")) return {0x1p-9, 1e-7};
  return {};
}

// File i belongs to port i.
NamedValues load_set(const fs::path& folder, const std::string& prefix,
                     const std::vector<PortInfo>& ports) {
  NamedValues result;
  for (const NumberedFile& file : numbered_files(folder, prefix, ".pb")) {
    if (file.number >= ports.size()) {
      throw Error(ErrorCode::mismatch, "the model has no " + prefix + std::to_string(file.number));
    }
    const PortInfo& port = ports[file.number];
    result.emplace_back(port.name, load_value(file.path, port.type).second);
  }
  return result;
}

Verdict run_set(const Model& model, const fs::path& folder, const std::string& name) {
  const NamedValues feeds = load_set(folder, "input_", model.inputs());
  const NamedValues want = load_set(folder, "output_", model.outputs());
  const NamedValues got = model.infer(feeds);
  if (got.size() != want.size()) {
    return failed("got " + std::to_string(got.size()) + " outputs, want " +
                  std::to_string(want.size()));
  }
  if (is_statistical(name)) {
    const auto text = statistical_difference(feeds, got, want);
    return text ? failed(*text) : Verdict{};
  }
  for (std::size_t i = 0; i < want.size(); ++i) {
    if (auto text = difference(got[i].second, want[i].second, tolerance_of(name))) {
      return failed("output '" + want[i].first + "': " + *text);
    }
  }
  return {};
}

}  // namespace

Verdict run_backend_case(const fs::path& folder, const VerifyOptions& options) {
  const Model model = Model::load(folder / "model.onnx", options.load);
  for (const NumberedFile& set : numbered_files(folder, "test_data_set_", "")) {
    Verdict verdict = run_set(model, set.path, folder.filename().string());
    if (verdict.outcome != Outcome::passed) return verdict;
  }
  return {};
}

Verdict run_real_case(const fs::path& folder, const VerifyOptions& options) {
  const auto data = nlohmann::json::parse(read_text(folder / "data.json"));
  const std::string name = data.at("model_name").get<std::string>();
  const fs::path light = folder.parent_path().parent_path() / "light";
  const fs::path file = light / ("light_" + name + ".onnx");
  if (!fs::exists(file)) return skipped("no " + file.string());
  const Model model = Model::load(file, options.load);
  NamedValues feeds;
  for (const PortInfo& port : model.inputs()) {
    if (port.has_default) continue;
    Shape shape;
    for (const std::int64_t extent : port.dims.value_or(std::vector<std::int64_t>{})) {
      shape.push_back(extent < 0 ? 1 : extent);
    }
    Tensor input(DType::float32, shape);
    const auto values = input.mutable_values<float>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(static_cast<double>(i) / static_cast<double>(values.size()));
    }
    feeds.emplace_back(port.name, std::move(input));
  }
  const NamedValues got = model.infer(feeds);
  const Value want =
      load_value(light / ("light_" + name + "_output_0.pb"), model.outputs().at(0).type).second;
  const Tolerance tolerance{data.at("rtol").get<double>(), data.at("atol").get<double>()};
  const auto text = difference(got.at(0).second, want, tolerance);
  return text ? failed(*text) : Verdict{};
}

}  // namespace ondine::cli
