// Adapters in the layout of PEFT 0.19: names of tensors and members of the configuration.
#include <ondine/adapters.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <system_error>

#include "checkpoints/safetensors.h"
#include "core/files/atomic_file.h"
#include "core/files/file.h"
#include "core/message.h"
#include "core/out_of_memory.h"
#include "graph/record/json_reader.h"
#include "graph/training/adapters/record.h"

namespace ondine {
namespace {

namespace fs = std::filesystem;
using graph::JsonValue;

constexpr std::string_view prefix = "base_model.model.";
constexpr const char* weights_file = "adapter_model.safetensors";
constexpr const char* settings_file = "adapter_config.json";

Tensor transposed(const Tensor& tensor) {
  const auto rows = static_cast<std::size_t>(tensor.shape()[0]);
  const auto cols = static_cast<std::size_t>(tensor.shape()[1]);
  const std::size_t width = size_of(tensor.dtype());
  Tensor result(tensor.dtype(), {tensor.shape()[1], tensor.shape()[0]});
  const auto* from = static_cast<const std::byte*>(tensor.data());
  auto* to = static_cast<std::byte*>(result.mutable_data());
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < cols; ++j) {
      std::memcpy(to + (j * rows + i) * width, from + (i * cols + j) * width, width);
    }
  }
  return result;
}

graph::Adapters recorded(const Model& model) {
  graph::Adapters found = graph::read_adapters(model.metadata());
  if (!found.layers.empty()) return found;
  fail(ErrorCode::mismatch, "the model has no adapters; prepare writes them (--lora)");
}

// "fc" of "layers.0.fc".
std::string last_part(const std::string& module) { return module.substr(module.rfind('.') + 1); }

JsonValue settings_of(const graph::Adapters& adapters) {
  JsonValue targets = JsonValue::list();
  std::set<std::string> parts;
  for (const graph::Adapter& one : adapters.layers) parts.insert(last_part(one.module));
  for (const std::string& part : parts) targets.items.push_back(JsonValue::of(part));
  JsonValue value = JsonValue::object();
  value.set("peft_type", JsonValue::of("LORA"));
  value.set("task_type", JsonValue());
  value.set("r", JsonValue::of(adapters.rank));
  value.set("lora_alpha", JsonValue::of(adapters.alpha));
  value.set("lora_dropout", JsonValue::of(adapters.dropout));
  value.set("use_rslora", JsonValue::of(adapters.rank_stabilized));
  value.set("target_modules", std::move(targets));
  value.set("bias", JsonValue::of("none"));
  value.set("fan_in_fan_out", JsonValue::of(false));
  value.set("inference_mode", JsonValue::of(true));
  value.set("base_model_name_or_path", JsonValue());
  return value;
}

std::string read_settings(PosixFileSystem& files, const fs::path& file) {
  FileSource source(files, file.string());
  constexpr std::uint64_t most = 1 << 20;
  if (source.size() > most) {
    fail(ErrorCode::limit, quoted(file.string()), " has ", source.size(), " bytes, at most ", most);
  }
  std::string text(static_cast<std::size_t>(source.size()), '\0');
  source.read(std::as_writable_bytes(std::span(text)));
  return text;
}

// What the values of the folder count by must be what the nodes multiply by.
void check_settings(const std::string& text, const graph::Adapters& adapters) {
  const JsonValue value = graph::parse_json(text);
  const graph::JsonReader reader(value, "settings");
  std::string kind;
  reader.text("peft_type", kind);
  if (kind != "LORA") {
    fail(ErrorCode::unsupported, "the adapters are of the kind ", quoted(kind), ", needed: LORA");
  }
  if (reader.flag("use_dora", false)) {
    fail(ErrorCode::unsupported, "the adapters are of the kind DoRA, needed: LORA");
  }
  const double rank = reader.number("r").value_or(8);
  const double alpha = reader.number("lora_alpha").value_or(8);
  const double scale = alpha / (reader.flag("use_rslora", false) ? std::sqrt(rank) : rank);
  for (const graph::Adapter& one : adapters.layers) {
    if (std::abs(scale - one.scale) <= 1e-6 * std::abs(one.scale)) continue;
    fail(ErrorCode::mismatch, "the adapters count ", scale, " times (r ", rank, ", lora_alpha ",
         alpha, "), those of the model ", one.scale, " times (--lora, --lora-alpha, --rslora)");
  }
}

// Matrices by their module, and "A" or "B".
using Matrices = std::map<std::pair<std::string, char>, const Tensor*>;

Matrices matrices_of(const Safetensors& content) {
  Matrices result;
  for (const NamedTensor& tensor : content.tensors) {
    std::string name = tensor.name;
    if (name.starts_with(prefix)) name.erase(0, prefix.size());
    for (const char side : {'A', 'B'}) {
      for (const char* end : {".weight", ".default.weight"}) {
        const std::string suffix = cat(".lora_", side, end);
        if (!name.ends_with(suffix)) continue;
        name.erase(name.size() - suffix.size());
        result.emplace(std::pair(name, side), &tensor.value);
        name.clear();
      }
    }
    if (name.empty()) continue;
    fail(ErrorCode::unsupported, "the tensor ", quoted(tensor.name), " is no matrix of LoRA");
  }
  return result;
}

// Whether one is the other with parts in front.
bool same_module(const std::string& one, const std::string& other) {
  const std::string& longer = one.size() < other.size() ? other : one;
  const std::string& shorter = one.size() < other.size() ? one : other;
  return longer == shorter || longer.ends_with("." + shorter);
}

// Removes what it finds.
const Tensor& take(Matrices& matrices, const std::string& module, char side) {
  auto found = matrices.find({module, side});
  if (found == matrices.end()) {
    for (auto at = matrices.begin(); at != matrices.end(); ++at) {
      if (at->first.second != side || !same_module(at->first.first, module)) continue;
      if (found != matrices.end()) {
        fail(ErrorCode::mismatch, "the module ", quoted(module), " may be ",
             quoted(found->first.first), " or ", quoted(at->first.first), " of the adapters");
      }
      found = at;
    }
  }
  if (found == matrices.end()) {
    fail(ErrorCode::mismatch, "the adapters have no matrix ", side, " for the module ",
         quoted(module));
  }
  const Tensor& tensor = *found->second;
  matrices.erase(found);
  return tensor;
}

NamedValues values_of(const Model& model, const graph::Adapters& adapters,
                      const Safetensors& content) {
  Matrices matrices = matrices_of(content);
  NamedValues values;
  for (const graph::Adapter& one : adapters.layers) {
    for (const auto& [side, name] : {std::pair('A', &one.a), std::pair('B', &one.b)}) {
      const Tensor& tensor = take(matrices, one.module, side);
      const Tensor present = model.get_state(*name);
      const Shape& shape = tensor.shape();
      if (tensor.dtype() != present.dtype() || shape.rank() != 2 ||
          shape[0] != present.shape()[1] || shape[1] != present.shape()[0]) {
        fail(ErrorCode::mismatch, "the matrix ", side, " of the module ", quoted(one.module),
             " is ", tensor.dtype(), shape, ", needed: ", present.dtype(),
             Shape{present.shape()[1], present.shape()[0]});
      }
      values.emplace_back(*name, transposed(tensor));
    }
  }
  if (!matrices.empty()) {
    fail(ErrorCode::mismatch, "the model has no adapter for the module ",
         quoted(matrices.begin()->first.first));
  }
  return values;
}

}  // namespace

std::vector<AdapterInfo> adapters(const Model& model) {
  return guard_memory("describe the adapters", [&] {
    std::vector<AdapterInfo> result;
    for (graph::Adapter& one : graph::read_adapters(model.metadata()).layers) {
      result.push_back({one.module, one.weight, one.a, one.b, one.scale});
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
      const std::string name = cat(prefix, one.module, ".lora_");
      content.tensors.push_back({name + "A.weight", transposed(model.get_state(one.a))});
      content.tensors.push_back({name + "B.weight", transposed(model.get_state(one.b))});
    }
    content.metadata.emplace("format", "pt");
    std::error_code error;
    fs::create_directories(folder, error);
    PosixFileSystem files;
    save_safetensors(files, folder / weights_file, content);
    const std::string text = graph::dump(settings_of(found)) + "\n";
    atomic_write(files, (folder / settings_file).string(),
                 [&](Sink& sink) { sink.write(std::as_bytes(std::span(text))); });
  });
}

void load_adapters(Model& model, const fs::path& folder, const Limits& limits) {
  guard_memory("load the adapters", [&] {
    const graph::Adapters found = recorded(model);
    PosixFileSystem files;
    const auto in = [&](const char* name) {
      return [&folder, name] { return cat("file ", quoted((folder / name).string())); };
    };
    with_context([&] { check_settings(read_settings(files, folder / settings_file), found); },
                 in(settings_file));
    const NamedValues values = with_context(
        [&] {
          return values_of(model, found, load_safetensors(files, folder / weights_file, limits));
        },
        in(weights_file));
    model.set_state(values);
  });
}

}  // namespace ondine
