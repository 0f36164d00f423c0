// Several adapters beside one model for inference.
#include <ondine/adapters.h>

#include <cmath>
#include <set>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "graph/training/adapters/beside.h"
#include "trainer/adapters/peft.h"
#include "trainer/adapters/peft_folder.h"
#include "trainer/model/model_impl.h"
#include "trainer/prepare.h"

namespace ondine {
namespace {

std::string name_of(const AdapterFolder& one) {
  if (!one.name.empty()) return one.name;
  const std::filesystem::path path = one.folder.lexically_normal();
  return (path.has_filename() ? path : path.parent_path()).filename().string();
}

graph::BesideAdapter read(const AdapterFolder& one, const Limits& limits) {
  graph::BesideAdapter adapter;
  adapter.name = "adapter." + name_of(one);
  adapter.weight = one.weight;
  if (!std::isfinite(one.weight)) {
    fail(ErrorCode::mismatch, "the weight of the adapter ", quoted(adapter.name), " is ",
         one.weight, ", needed: a finite number");
  }
  const trainer::PeftFolder folder(one.folder);
  folder.with_settings([&](const std::string& text) { adapter.scale = trainer::peft_scale(text); });
  folder.with_tensors(limits, [&](const Safetensors& content) {
    adapter.layers = trainer::peft_matrices(content);
  });
  return adapter;
}

}  // namespace

Model with_adapters(const Model& base, std::span<const AdapterFolder> folders,
                    const LoadOptions& load) {
  return guard_memory("put adapters beside the model", [&] {
    graph::ModelDef def = ModelAccess::present(base);
    if (!def.training.empty() || !adapters(base).empty()) {
      fail(ErrorCode::mismatch,
           "adapters stand beside a model for inference without others; this one has ",
           def.training.empty() ? "adapters" : "training information");
    }
    std::vector<graph::BesideAdapter> found;
    for (const AdapterFolder& one : folders) found.push_back(read(one, load.limits));
    graph::add_beside(def, found, trainer::types_of(def, load));
    return ModelAccess::make(std::move(def), load);
  });
}

}  // namespace ondine
