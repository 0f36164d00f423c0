#include <ondine/weights.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "checkpoints/safetensors.h"
#include "core/files/file.h"
#include "core/message.h"
#include "core/out_of_memory.h"

namespace ondine {
namespace {

bool belongs(const StateInfo& info, WeightSet set) {
  return set == WeightSet::all || info.role == StateRole::weight;
}

}  // namespace

void save_weights(const Model& model, const std::filesystem::path& file, WeightSet set) {
  guard_memory("save the weights", [&] {
    Safetensors content;
    for (const StateInfo& info : model.state()) {
      if (belongs(info, set)) content.tensors.push_back({info.name, model.get_state(info.name)});
    }
    if (content.tensors.empty()) {
      fail(ErrorCode::mismatch, "the model has no weights that a training step changes");
    }
    PosixFileSystem files;
    save_safetensors(files, file, content);
  });
}

WeightReport load_weights(Model& model, const std::filesystem::path& file, WeightSet set,
                          const Limits& limits) {
  return guard_memory("load the weights", [&] {
    PosixFileSystem files;
    const Safetensors content = load_safetensors(files, file, limits);
    std::map<std::string_view, const Tensor*> found;
    for (const NamedTensor& tensor : content.tensors) found.emplace(tensor.name, &tensor.value);

    WeightReport report;
    NamedValues chosen;
    std::string wrong;
    for (const StateInfo& info : model.state()) {
      const auto at = found.find(info.name);
      if (at == found.end()) {
        if (belongs(info, set)) report.missing.push_back(info.name);
        continue;
      }
      const Tensor& value = *at->second;
      if (value.dtype() != info.dtype || !(value.shape() == info.shape)) {
        wrong += cat(wrong.empty() ? "" : "\n", "tensor ", quoted(info.name), " of ",
                     quoted(file.filename().string()), " is a ", value.dtype(), value.shape(),
                     ", the state variable is a ", info.dtype, info.shape);
      }
      chosen.emplace_back(info.name, value);
      found.erase(at);
    }
    if (!wrong.empty()) fail(ErrorCode::mismatch, wrong);
    if (chosen.empty()) {
      fail(ErrorCode::mismatch, "none of the ", content.tensors.size(), " tensors of ",
           quoted(file.filename().string()), " has the name of a state variable");
    }
    for (const auto& [name, value] : found) report.unknown.emplace_back(name);
    report.assigned = chosen.size();
    model.set_state(chosen);
    return report;
  });
}

}  // namespace ondine
