#include "graph/record/record.h"

#include <algorithm>

#include "core/message.h"
#include "graph/record/names.h"

namespace ondine {

const char* to_string(OutputMeaning meaning) noexcept {
  return graph::name_in(graph::meaning_names, meaning);
}

const DataRecord::Input* DataRecord::find_input(std::string_view name) const noexcept {
  for (const Input& one : inputs) {
    if (one.name == name) return &one;
  }
  return nullptr;
}

}  // namespace ondine

namespace ondine::graph {

DataRecord read_record(const Metadata& metadata) {
  for (const auto& [key, text] : metadata) {
    if (key != record_key) continue;
    return with_context([&text = text] { return from_json(text); },
                        [] { return cat("metadata '", record_key, "'"); });
  }
  return read_loose_entries(metadata);
}

void write_record(Metadata& metadata, const DataRecord& record) {
  std::string text = to_json(record);
  remove_record(metadata);
  metadata.emplace_back(record_key, std::move(text));
}

void remove_record(Metadata& metadata) {
  std::erase_if(metadata, [](const auto& entry) {
    return entry.first == record_key || is_loose_entry(entry.first);
  });
}

bool has_record(const Metadata& metadata) {
  return std::any_of(metadata.begin(), metadata.end(), [](const auto& entry) {
    return entry.first == record_key || is_loose_entry(entry.first);
  });
}

}  // namespace ondine::graph
