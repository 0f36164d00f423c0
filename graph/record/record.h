// The data record in a model's metadata: the only code that knows its entry and those that earlier
// versions wrote instead.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ondine/data_record.h>

namespace ondine::graph {

using Metadata = std::vector<std::pair<std::string, std::string>>;

// The entry, and the property of a checkpoint, that holds the record.
constexpr std::string_view record_key = "ondine.data";

// Errors as data_record(model).
DataRecord read_record(const Metadata& metadata);
// Replaces the record and removes what earlier versions wrote. Members of `record.source` that this
// version does not know are kept.
void write_record(Metadata& metadata, const DataRecord& record);
void remove_record(Metadata& metadata);
bool has_record(const Metadata& metadata);

// The record as JSON, and back. Names that are not UTF-8 survive.
std::string to_json(const DataRecord& record);
DataRecord from_json(const std::string& text);

// The record of a model of an earlier version, from its separate entries.
DataRecord read_loose_entries(const Metadata& metadata);
bool is_loose_entry(std::string_view key);

}  // namespace ondine::graph
