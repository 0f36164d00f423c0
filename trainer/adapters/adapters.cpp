#include <ondine/adapters.h>

#include <set>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "graph/record/json_reader.h"
#include "graph/training/adapters/record.h"
#include "trainer/adapters/peft.h"
#include "trainer/adapters/peft_folder.h"

namespace ondine {
namespace {

namespace fs = std::filesystem;

graph::Adapters recorded(const Model& model) {
  graph::Adapters found = graph::read_adapters(model.metadata());
  if (!found.layers.empty()) return found;
  fail(ErrorCode::mismatch,
       "the model has no adapters; prepare writes them (--lora, --ia3, --prompt-tokens)");
}

}  // namespace

std::vector<AdapterInfo> adapters(const Model& model) {
  return guard_memory("describe the adapters", [&] {
    std::vector<AdapterInfo> result;
    for (graph::Adapter& one : graph::read_adapters(model.metadata()).layers) {
      result.push_back({one.module, one.weight, one.a, one.b, one.scale, one.kind, one.magnitude,
                        one.factor, one.of_inputs, one.prompt});
    }
    return result;
  });
}

void save_adapters(const Model& model, const fs::path& folder) {
  guard_memory("save the adapters", [&] {
    const graph::Adapters found = recorded(model);
    Safetensors content;
    std::set<std::string> modules;
    for (const graph::Adapter& one : found.layers) {
      if (!modules.insert(one.module).second) {
        fail(ErrorCode::mismatch, "two adapters stand for the module ", quoted(one.module));
      }
      for (const trainer::PeftPart& part : trainer::peft_parts(one, model)) {
        content.tensors.push_back(
            {trainer::peft_name(one, part), trainer::to_peft(part, model.get_state(part.state))});
      }
    }
    content.metadata.emplace("format", "pt");
    trainer::PeftFolder(folder).write(content,
                                      graph::dump(trainer::peft_settings(found, model)) + "\n");
  });
}

void load_adapters(Model& model, const fs::path& folder, const Limits& limits) {
  guard_memory("load the adapters", [&] {
    const graph::Adapters found = recorded(model);
    const trainer::PeftFolder from(folder);
    from.with_settings([&](const std::string& text) { trainer::check_peft_settings(text, found); });
    NamedValues values;
    from.with_tensors(limits, [&](const Safetensors& content) {
      values = trainer::peft_state(content, found, model);
    });
    model.set_state(values);
  });
}

}  // namespace ondine
