// Adapters in the layout of PEFT 0.19 to 0.21.
#include "trainer/adapters/peft.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/message.h"
#include "graph/record/json_reader.h"

namespace ondine::trainer {
namespace {

using graph::Adapter;
using graph::JsonValue;
using graph::LayerForm;

constexpr std::string_view prefix = "base_model.model.";
constexpr std::string_view prompt_word = "prompt_embeddings";
const std::vector<std::string> words{
    "lora_A", "lora_B", "lora_embedding_A", "lora_embedding_B", "lora_magnitude_vector", "ia3_l"};

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

// "fc" of "layers.0.fc".
std::string last_part(const std::string& module) { return module.substr(module.rfind('.') + 1); }

JsonValue list_of(const std::set<std::string>& texts) {
  JsonValue list = JsonValue::list();
  for (const std::string& text : texts) list.items.push_back(JsonValue::of(text));
  return list;
}

// [1, n], or [n, 1] of outputs; of convolutions [1, n, 1...].
Shape factor_shape(const Adapter& adapter, const Shape& state) {
  const std::int64_t count = state.size();
  if (adapter.form != LayerForm::convolution) {
    return adapter.of_inputs ? Shape{1, count} : Shape{count, 1};
  }
  std::vector<std::int64_t> dims(state.rank() + 1, 1);
  dims[1] = count;
  return Shape(dims);
}

std::vector<PeftPart> low_rank_parts(const Adapter& adapter, const Model& model) {
  std::vector<PeftPart> parts;
  const bool is_table = adapter.form == LayerForm::embedding;
  const bool is_convolution = adapter.form == LayerForm::convolution;
  for (const auto& [side, name] : {std::pair('A', &adapter.a), std::pair('B', &adapter.b)}) {
    PeftPart part;
    part.word = cat(is_table ? "lora_embedding_" : "lora_", side);
    part.suffix = part.word + (is_table ? "" : ".weight");
    part.state = *name;
    part.shape = model.get_state(*name).shape();
    part.transposed = !is_convolution;
    if (part.transposed && part.shape.rank() == 2) part.shape = {part.shape[1], part.shape[0]};
    parts.push_back(std::move(part));
  }
  if (adapter.magnitude.empty()) return parts;
  const std::string word = "lora_magnitude_vector";
  Shape shape = model.get_state(adapter.magnitude).shape();
  if (is_convolution) {
    std::vector<std::int64_t> dims(parts[0].shape.rank(), 1);
    dims[1] = shape.size();
    shape = Shape(dims);
  }
  parts.push_back({word, word, adapter.magnitude, shape, false});
  return parts;
}

void require_known(const Adapter& adapter) {
  if (adapter.kind != AdapterKind::channels) return;
  fail(ErrorCode::unsupported, "channels of ", quoted(adapter.weight),
       " train, which PEFT does "
       "not have; an export of the model has them in the weight");
}

const char* kind_of(const graph::Adapters& adapters) {
  require_known(adapters.layers.at(0));
  switch (adapters.layers.at(0).kind) {
    case AdapterKind::ia3:
      return "IA3";
    case AdapterKind::prompt:
      return "PROMPT_TUNING";
    default:
      return "LORA";
  }
}

void set_low_rank(JsonValue& value, const graph::Adapters& adapters) {
  std::set<std::string> targets;
  for (const Adapter& one : adapters.layers) targets.insert(last_part(one.module));
  value.set("r", JsonValue::of(adapters.rank));
  value.set("lora_alpha", JsonValue::of(adapters.alpha));
  value.set("lora_dropout", JsonValue::of(adapters.dropout));
  value.set("use_rslora", JsonValue::of(adapters.rank_stabilized));
  value.set("use_dora", JsonValue::of(adapters.dora));
  value.set("init_lora_weights", adapters.pissa ? JsonValue::of("pissa") : JsonValue::of(true));
  value.set("target_modules", list_of(targets));
  value.set("bias", JsonValue::of("none"));
  value.set("fan_in_fan_out", JsonValue::of(false));
}

// Whole names: PEFT scales the inputs of every module whose name ends in one of the list.
void set_factors(JsonValue& value, const graph::Adapters& adapters) {
  std::set<std::string> targets;
  std::set<std::string> feedforward;
  for (const Adapter& one : adapters.layers) {
    targets.insert(one.module);
    if (one.of_inputs) feedforward.insert(one.module);
  }
  value.set("target_modules", list_of(targets));
  value.set("feedforward_modules", list_of(feedforward));
  value.set("fan_in_fan_out", JsonValue::of(false));
  value.set("init_ia3_weights", JsonValue::of(true));
}

void set_prompt(JsonValue& value, const graph::Adapters& adapters, const Model& model) {
  const Shape shape = model.get_state(adapters.layers[0].prompt).shape();
  const std::vector<PortInfo> outputs = model.outputs();
  const bool along_tokens = !outputs.empty() && outputs[0].dims && outputs[0].dims->size() == 3;
  value.set("task_type", JsonValue::of(along_tokens ? "CAUSAL_LM" : "SEQ_CLS"));
  value.set("num_virtual_tokens", JsonValue::of(shape[0]));
  value.set("token_dim", JsonValue::of(shape[1]));
  value.set("num_transformer_submodules", JsonValue::of(std::int64_t{1}));
  value.set("num_attention_heads", JsonValue());
  value.set("num_layers", JsonValue());
  value.set("prompt_tuning_init", JsonValue::of("RANDOM"));
}

[[noreturn]] void refuse_kind(const std::string& found, const std::string& needed) {
  fail(ErrorCode::unsupported, "the adapters are of the kind ", found, ", needed: ", needed);
}

// Settings by which single modules count differently, or under other conditions.
void refuse_exceptions(const JsonValue& value) {
  for (const char* name : {"rank_pattern", "alpha_pattern", "alora_invocation_tokens"}) {
    const JsonValue* one = value.find(name);
    if (one == nullptr || one->is_empty()) continue;
    fail(ErrorCode::unsupported, "the setting ", quoted(std::string_view(name)),
         " of the adapters is not supported");
  }
}

// "pissa" and others take a part out of the weight.
void check_start(const JsonValue& value, const graph::Adapters& adapters) {
  const JsonValue* start = value.find("init_lora_weights");
  const bool is_text = start != nullptr && start->kind == JsonValue::Kind::text;
  const std::string text = is_text ? start->text : "";
  const bool keeps_weights = text.empty() || text == "gaussian" || text == "orthogonal";
  const bool is_pissa = text.starts_with("pissa");
  if (!keeps_weights && !is_pissa) refuse_kind(quoted(text), "LoRA");
  if (is_pissa != adapters.pissa) {
    refuse_kind(is_pissa ? "PiSSA, which changes the weights" : "LoRA",
                adapters.pissa ? "PiSSA (--lora-init pissa)" : "LoRA");
  }
}

struct Scale {
  double rank = 0;
  double alpha = 0;
  double value = 0;
};

Scale scale_of(const graph::JsonReader& reader) {
  Scale scale{reader.number("r").value_or(8), reader.number("lora_alpha").value_or(8), 0};
  const bool is_stabilized = reader.flag("use_rslora", false);
  scale.value = scale.alpha / (is_stabilized ? std::sqrt(scale.rank) : scale.rank);
  return scale;
}

// The settings must scale the product (x a) b by the factor that the nodes multiply by.
void check_low_rank(const JsonValue& value, const graph::Adapters& adapters) {
  const graph::JsonReader reader(value, "settings");
  const bool is_dora = reader.flag("use_dora", false);
  if (is_dora != adapters.dora) {
    refuse_kind(is_dora ? "DoRA" : "LoRA", adapters.dora ? "DoRA (--dora)" : "LoRA");
  }
  refuse_exceptions(value);
  check_start(value, adapters);
  const Scale scale = scale_of(reader);
  for (const Adapter& one : adapters.layers) {
    if (std::abs(scale.value - one.scale) <= 1e-6 * std::abs(one.scale)) continue;
    fail(ErrorCode::mismatch, "the adapters count ", scale.value, " times (r ", scale.rank,
         ", lora_alpha ", scale.alpha, "), those of the model ", one.scale,
         " times (--lora, --lora-alpha, --rslora)");
  }
}

void require_kind(const graph::JsonReader& reader, const std::string& needed) {
  std::string kind;
  reader.text("peft_type", kind);
  if (kind != needed) refuse_kind(quoted(kind), needed);
}

// Tensors by the module and the word.
using Parts = std::map<std::pair<std::string, std::string>, const Tensor*>;

std::optional<std::pair<std::string, std::string>> split(std::string name) {
  if (name.starts_with(prefix)) name.erase(0, prefix.size());
  if (name == prompt_word) return std::pair(std::string(), name);
  for (const char* end : {"", ".weight", ".default", ".default.weight"}) {
    for (const std::string& word : words) {
      const std::string suffix = cat(".", word, end);
      if (name.ends_with(suffix)) {
        return std::pair(name.substr(0, name.size() - suffix.size()), word);
      }
    }
  }
  return {};
}

Parts parts_of(const Safetensors& content) {
  Parts result;
  for (const NamedTensor& tensor : content.tensors) {
    const auto key = split(tensor.name);
    if (!key) {
      fail(ErrorCode::unsupported, "the tensor ", quoted(tensor.name), " is no part of an adapter");
    }
    if (!result.emplace(*key, &tensor.value).second) {
      fail(ErrorCode::mismatch, "two tensors are ", key->second, " of the module ",
           quoted(key->first));
    }
  }
  return result;
}

// Removes what it finds.
const Tensor& take(Parts& parts, const std::string& module, const std::string& word) {
  auto found = parts.find({module, word});
  if (found == parts.end()) {
    for (auto at = parts.begin(); at != parts.end(); ++at) {
      if (at->first.second != word || !graph::same_module(at->first.first, module)) continue;
      if (found != parts.end()) {
        fail(ErrorCode::mismatch, "the module ", quoted(module), " may be ",
             quoted(found->first.first), " or ", quoted(at->first.first), " of the adapters");
      }
      found = at;
    }
  }
  if (found == parts.end()) {
    fail(ErrorCode::mismatch, "the adapters have no ", word, " for the module ", quoted(module));
  }
  const Tensor& tensor = *found->second;
  parts.erase(found);
  return tensor;
}

}  // namespace

std::vector<PeftPart> peft_parts(const Adapter& adapter, const Model& model) {
  require_known(adapter);
  if (adapter.kind == AdapterKind::lora) return low_rank_parts(adapter, model);
  const bool is_prompt = adapter.kind == AdapterKind::prompt;
  PeftPart part;
  part.word = part.suffix = is_prompt ? prompt_word : "ia3_l";
  part.state = is_prompt ? adapter.prompt : adapter.factor;
  part.shape = model.get_state(part.state).shape();
  if (!is_prompt) part.shape = factor_shape(adapter, part.shape);
  return {std::move(part)};
}

std::string peft_name(const Adapter& adapter, const PeftPart& part) {
  if (adapter.kind == AdapterKind::prompt) return part.suffix;
  return cat(prefix, adapter.module, ".", part.suffix);
}

Tensor to_peft(const PeftPart& part, const Tensor& state) {
  return part.transposed ? transposed(state) : state.reshaped(part.shape);
}

JsonValue peft_settings(const graph::Adapters& adapters, const Model& model) {
  JsonValue value = JsonValue::object();
  const AdapterKind kind = adapters.layers.at(0).kind;
  value.set("peft_type", JsonValue::of(kind_of(adapters)));
  value.set("task_type", JsonValue());
  if (kind == AdapterKind::lora) set_low_rank(value, adapters);
  if (kind == AdapterKind::ia3) set_factors(value, adapters);
  if (kind == AdapterKind::prompt) set_prompt(value, adapters, model);
  value.set("inference_mode", JsonValue::of(true));
  value.set("base_model_name_or_path", JsonValue());
  return value;
}

void check_peft_settings(const std::string& text, const graph::Adapters& adapters) {
  const JsonValue value = graph::parse_json(text);
  const graph::JsonReader reader(value, "settings");
  require_kind(reader, kind_of(adapters));
  if (adapters.layers[0].kind == AdapterKind::lora) check_low_rank(value, adapters);
}

NamedValues peft_state(const Safetensors& content, const graph::Adapters& adapters,
                       const Model& model) {
  Parts parts = parts_of(content);
  NamedValues values;
  for (const Adapter& one : adapters.layers) {
    for (const PeftPart& part : peft_parts(one, model)) {
      const bool is_prompt = one.kind == AdapterKind::prompt;
      const Tensor& tensor = take(parts, is_prompt ? std::string() : one.module, part.word);
      const Tensor present = model.get_state(part.state);
      if (tensor.dtype() != present.dtype() || tensor.shape() != part.shape) {
        fail(ErrorCode::mismatch, "the ", part.word, " of the module ", quoted(one.module), " is ",
             tensor.dtype(), tensor.shape(), ", needed: ", present.dtype(), part.shape);
      }
      values.emplace_back(part.state,
                          part.transposed ? transposed(tensor) : tensor.reshaped(present.shape()));
    }
  }
  if (!parts.empty()) {
    const auto& [module, word] = parts.begin()->first;
    fail(ErrorCode::mismatch, "the model has no adapter for the module ", quoted(module), " (",
         word, ")");
  }
  return values;
}

double peft_scale(const std::string& settings) {
  const JsonValue value = graph::parse_json(settings);
  const graph::JsonReader reader(value, "settings");
  require_kind(reader, "LORA");
  check_low_rank(value, {});
  return scale_of(reader).value;
}

std::vector<graph::BesideLayer> peft_matrices(const Safetensors& content) {
  std::vector<graph::BesideLayer> layers;
  Parts parts = parts_of(content);
  while (!parts.empty()) {
    const auto [module, word] = parts.begin()->first;
    const bool is_table = word.starts_with("lora_embedding_");
    const std::string side = is_table ? "lora_embedding_" : "lora_";
    if (word != side + "A" && word != side + "B") {
      fail(ErrorCode::unsupported, "the module ", quoted(module), " has ", word,
           ", needed: matrices of LoRA");
    }
    const auto stored = [&](const std::string& name) {
      const auto found = parts.find({module, name});
      if (found == parts.end()) {
        fail(ErrorCode::mismatch, "the adapters have no ", name, " for the module ",
             quoted(module));
      }
      Tensor tensor = *found->second;
      parts.erase(found);
      return tensor.shape().rank() == 2 ? transposed(tensor) : tensor;
    };
    graph::BesideLayer layer{is_table ? LayerForm::embedding : LayerForm::linear, module, {}, {}};
    layer.a = stored(side + "A");
    layer.b = stored(side + "B");
    layers.push_back(std::move(layer));
  }
  return layers;
}

}  // namespace ondine::trainer
