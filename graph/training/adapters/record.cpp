#include "graph/training/adapters/record.h"

#include <algorithm>
#include <utility>

#include "core/message.h"
#include "graph/record/json_reader.h"

namespace ondine::graph {
namespace {

constexpr std::int64_t newest_version = 2;

template <class Enum>
using Words = std::vector<std::pair<const char*, Enum>>;

const Words<AdapterKind> kinds{{"lora", AdapterKind::lora},
                               {"ia3", AdapterKind::ia3},
                               {"prompt", AdapterKind::prompt},
                               {"channels", AdapterKind::channels}};
const Words<LayerForm> forms{{"linear", LayerForm::linear},
                             {"convolution", LayerForm::convolution},
                             {"embedding", LayerForm::embedding}};
// Parts of an adapter, and what they are called.
const std::vector<std::pair<const char*, std::string Adapter::*>> names{
    {"module", &Adapter::module},       {"weight", &Adapter::weight}, {"base", &Adapter::base},
    {"output", &Adapter::output},       {"a", &Adapter::a},           {"b", &Adapter::b},
    {"magnitude", &Adapter::magnitude}, {"factor", &Adapter::factor}, {"bias", &Adapter::bias},
    {"prompt", &Adapter::prompt}};

template <class Enum>
void put(JsonValue& value, const char* name, const Words<Enum>& words, Enum one) {
  const auto word = std::find_if(words.begin(), words.end(),
                                 [&](const auto& known) { return known.second == one; });
  value.set(name, JsonValue::of(word->first));
}

// The first word where there is none, as in records of version 1.
template <class Enum>
Enum get(const JsonReader& reader, const char* name, const Words<Enum>& words) {
  std::string text = words.front().first;
  reader.text(name, text);
  const auto word =
      std::find_if(words.begin(), words.end(), [&](const auto& one) { return one.first == text; });
  if (word == words.end()) fail(ErrorCode::unsupported, name, " ", quoted(text), " of an adapter");
  return word->second;
}

JsonValue to_json(const Adapter& one) {
  JsonValue value = JsonValue::object();
  put(value, "kind", kinds, one.kind);
  put(value, "form", forms, one.form);
  for (const auto& [name, member] : names) {
    if (!(one.*member).empty()) value.set(name, JsonValue::of(one.*member));
  }
  value.set("scale", JsonValue::of(one.scale));
  value.set("merged_scale", JsonValue::of(one.merged_scale));
  value.set("transposed", JsonValue::of(one.transposed));
  if (one.of_inputs) value.set("of_inputs", JsonValue::of(one.of_inputs));
  return value;
}

Adapter adapter_of(const JsonValue& value) {
  const JsonReader reader(value, "adapter");
  Adapter one;
  one.kind = get(reader, "kind", kinds);
  one.form = get(reader, "form", forms);
  for (const auto& [name, member] : names) reader.text(name, one.*member);
  one.scale = reader.number("scale").value_or(1);
  one.merged_scale = reader.number("merged_scale").value_or(1);
  one.transposed = reader.flag("transposed", false);
  one.of_inputs = reader.flag("of_inputs", false);
  return one;
}

}  // namespace

Adapters read_adapters(const Properties& metadata) {
  const auto entry = std::find_if(metadata.begin(), metadata.end(),
                                  [](const auto& one) { return one.first == adapters_key; });
  Adapters adapters;
  if (entry == metadata.end()) return adapters;
  return with_context(
      [&] {
        const JsonValue value = parse_json(entry->second);
        const JsonReader reader(value, "adapters");
        if (const std::int64_t version = reader.count("version"); version > newest_version) {
          fail(ErrorCode::unsupported, "version ", version, ", known: up to ", newest_version);
        }
        adapters.rank = reader.count("rank");
        adapters.alpha = reader.number("alpha").value_or(0);
        adapters.dropout = reader.number("dropout").value_or(0);
        adapters.rank_stabilized = reader.flag("rank_stabilized", false);
        adapters.dora = reader.flag("dora", false);
        adapters.pissa = reader.flag("pissa", false);
        const JsonValue* layers = reader.find("layers");
        if (layers == nullptr || layers->kind != JsonValue::Kind::list) {
          fail(ErrorCode::corrupt, "it has no list of layers");
        }
        for (const JsonValue& one : layers->items) adapters.layers.push_back(adapter_of(one));
        return adapters;
      },
      [] { return cat("metadata ", quoted(std::string_view(adapters_key))); });
}

void write_adapters(Properties& metadata, const Adapters& adapters) {
  std::erase_if(metadata, [](const auto& one) { return one.first == adapters_key; });
  if (adapters.layers.empty()) return;
  JsonValue value = JsonValue::object();
  value.set("version", JsonValue::of(newest_version));
  value.set("rank", JsonValue::of(adapters.rank));
  value.set("alpha", JsonValue::of(adapters.alpha));
  value.set("dropout", JsonValue::of(adapters.dropout));
  value.set("rank_stabilized", JsonValue::of(adapters.rank_stabilized));
  value.set("dora", JsonValue::of(adapters.dora));
  value.set("pissa", JsonValue::of(adapters.pissa));
  JsonValue layers = JsonValue::list();
  for (const Adapter& one : adapters.layers) layers.items.push_back(to_json(one));
  value.set("layers", std::move(layers));
  metadata.emplace_back(adapters_key, dump(value));
}

}  // namespace ondine::graph
