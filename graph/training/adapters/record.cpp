#include "graph/training/adapters/record.h"

#include <algorithm>

#include "core/message.h"
#include "graph/record/json_reader.h"

namespace ondine::graph {
namespace {

JsonValue to_json(const Adapter& one) {
  JsonValue value = JsonValue::object();
  value.set("module", JsonValue::of(one.module));
  value.set("weight", JsonValue::of(one.weight));
  value.set("a", JsonValue::of(one.a));
  value.set("b", JsonValue::of(one.b));
  value.set("scale", JsonValue::of(one.scale));
  value.set("merged_scale", JsonValue::of(one.merged_scale));
  value.set("transposed", JsonValue::of(one.transposed));
  return value;
}

Adapter adapter_of(const JsonValue& value) {
  const JsonReader reader(value, "adapter");
  Adapter one;
  reader.text("module", one.module);
  reader.text("weight", one.weight);
  reader.text("a", one.a);
  reader.text("b", one.b);
  one.scale = reader.number("scale").value_or(1);
  one.merged_scale = reader.number("merged_scale").value_or(1);
  one.transposed = reader.flag("transposed", false);
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
        adapters.rank = reader.count("rank");
        adapters.alpha = reader.number("alpha").value_or(0);
        adapters.dropout = reader.number("dropout").value_or(0);
        adapters.rank_stabilized = reader.flag("rank_stabilized", false);
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
  value.set("version", JsonValue::of(std::int64_t{1}));
  value.set("rank", JsonValue::of(adapters.rank));
  value.set("alpha", JsonValue::of(adapters.alpha));
  value.set("dropout", JsonValue::of(adapters.dropout));
  value.set("rank_stabilized", JsonValue::of(adapters.rank_stabilized));
  JsonValue layers = JsonValue::list();
  for (const Adapter& one : adapters.layers) layers.items.push_back(to_json(one));
  value.set("layers", std::move(layers));
  metadata.emplace_back(adapters_key, dump(value));
}

}  // namespace ondine::graph
