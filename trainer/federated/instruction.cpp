#include "trainer/federated/instruction.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "core/message.h"
#include "graph/record/json_value.h"
#include "trainer/federated/transport.h"

namespace ondine::federated {
namespace {

using graph::JsonValue;

constexpr std::size_t most_config_bytes = std::size_t{1} << 20;
constexpr std::size_t most_records = 64;

// The entries of an object whose body maps names to the ids of its children, in order.
std::vector<std::pair<std::string, std::string>> references(const Object& object,
                                                            std::size_t most_bytes) {
  if (object.body.size() > most_bytes) {
    fail(ErrorCode::limit, "the list of a ", quoted(object.kind), " has ", object.body.size(),
         " bytes, more than ", most_bytes);
  }
  const JsonValue list = graph::parse_json(std::string(object.body));
  if (list.kind != JsonValue::Kind::object) {
    fail(ErrorCode::corrupt, "the list of a ", quoted(object.kind), " is none");
  }
  std::vector<std::pair<std::string, std::string>> entries;
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    if (!is_object_id(list.items[i].text)) {
      fail(ErrorCode::corrupt, "entry ", quoted(list.names[i]), " names no object");
    }
    entries.emplace_back(list.names[i], list.items[i].text);
  }
  return entries;
}

// Room for the names of all variables and as many ids, with escapes.
std::size_t list_bytes(const std::vector<StateInfo>& wanted) {
  std::size_t bytes = 4096;
  for (const StateInfo& one : wanted) bytes += 6 * one.name.size() + 96;
  return bytes;
}

NamedValues read_arrays(const Object& record, const std::vector<StateInfo>& wanted,
                        const FetchObject& fetch, const ArrayReading& reading) {
  std::map<std::string, std::string> ids;
  std::set<std::string> names;
  for (auto& [name, id] : references(record, list_bytes(wanted))) {
    names.insert(name);
    ids.emplace(name, id);
  }
  require_names(wanted, std::move(names));
  NamedValues arrays;
  for (const StateInfo& one : wanted) {
    try {
      arrays.emplace_back(one.name, read_array(ids.at(one.name), one, fetch, reading));
    } catch (const LinkError&) {
      throw;
    } catch (const Error& error) {
      fail(error.code(), "array ", quoted(one.name), ": ", error.message());
    }
  }
  return arrays;
}

void require_same(const fleet::Metadata& object, fleet::Metadata metadata) {
  metadata.id.clear();
  if (object == metadata) return;
  fail(ErrorCode::corrupt, "the message's object says something else than the message");
}

// Exactly one record of arrays, at most one of settings.
void read_records(const Object& dictionary, Instruction& to, const std::vector<StateInfo>& wanted,
                  const FetchObject& fetch, const ArrayReading& reading) {
  const auto entries = references(dictionary, 65'536);
  if (entries.size() > most_records) {
    fail(ErrorCode::limit, "the message has ", entries.size(), " records");
  }
  std::size_t configs = 0;
  for (const auto& [name, id] : entries) {
    const std::string& content = fetch(id);
    const std::string kind = content.substr(0, std::min<std::size_t>(content.find(' '), 16));
    const Object record = read_object(content, id, kind);
    if (kind == "ConfigRecord") {
      if (++configs > 1) fail(ErrorCode::mismatch, "the message has two records of settings");
      if (content.size() > most_config_bytes) {
        fail(ErrorCode::limit, "the settings have ", content.size(), " bytes");
      }
      to.config = fleet::read_record(record.body);
    } else if (kind == "ArrayRecord" && to.task != Task::query) {
      if (!to.arrays_name.empty()) {
        fail(ErrorCode::mismatch, "the message has two records of arrays, ", quoted(to.arrays_name),
             " and ", quoted(name));
      }
      if (name.empty() || name == "metrics" || name == "config") {
        fail(ErrorCode::mismatch, "a record of arrays must not be named ", quoted(name));
      }
      to.arrays_name = name;
      to.arrays = read_arrays(record, wanted, fetch, reading);
    } else if (kind != "ArrayRecord" && kind != "MetricRecord") {
      fail(ErrorCode::corrupt, "record ", quoted(name), " is a ", quoted(kind));
    }
  }
}

// A whole number from `low` to `high`.
std::uint64_t whole(const std::string& key, const fleet::Scalar& value, std::uint64_t low,
                    std::uint64_t high) {
  std::optional<std::uint64_t> number;
  if (const auto* count = std::get_if<std::uint64_t>(&value)) number = *count;
  if (const auto* integer = std::get_if<std::int64_t>(&value); integer && *integer >= 0) {
    number = static_cast<std::uint64_t>(*integer);
  }
  if (!number || *number < low || *number > high) {
    fail(ErrorCode::mismatch, "setting ", quoted(key), " needs a whole number from ", low, " to ",
         high);
  }
  return *number;
}

double real(const std::string& key, const fleet::Scalar& value) {
  double number = std::numeric_limits<double>::quiet_NaN();
  if (const auto* given = std::get_if<double>(&value)) number = *given;
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    number = static_cast<double>(*integer);
  }
  if (const auto* count = std::get_if<std::uint64_t>(&value)) number = static_cast<double>(*count);
  if (!(number >= 0 && number <= static_cast<double>(std::numeric_limits<float>::max()))) {
    fail(ErrorCode::mismatch, "setting ", quoted(key), " needs a finite number from 0 on");
  }
  return number;
}

}  // namespace

Task task_of(const std::string& type) {
  const std::size_t dot = type.find('.');
  const std::string category = type.substr(0, dot);
  const std::string action = dot == std::string::npos ? "default" : type.substr(dot + 1);
  if (category != "train" && category != "evaluate" && category != "query") {
    fail(ErrorCode::unsupported, "this node answers train, evaluate and query messages, not ",
         quoted(type));
  }
  if (action != "default") {
    fail(ErrorCode::unsupported, "this node has no action ", quoted(action), " for ", category,
         " messages");
  }
  if (category == "query") return Task::query;
  return category == "train" ? Task::train : Task::evaluate;
}

Instruction read_instruction(const fleet::Metadata& metadata, const std::vector<StateInfo>& wanted,
                             const FetchObject& fetch, const ArrayReading& reading) {
  Instruction instruction;
  instruction.task = task_of(metadata.type);
  const Object message = read_object(fetch(metadata.id), metadata.id, "Message");
  const fleet::Message described = fleet::read_message(message.body);
  require_same(described.metadata, metadata);
  if (described.failure || message.children.size() != 1) {
    fail(ErrorCode::corrupt, "the message has no content");
  }
  const std::string& id = message.children[0];
  read_records(read_object(fetch(id), id, "RecordDict"), instruction, wanted, fetch, reading);
  if (instruction.task != Task::query && instruction.arrays_name.empty()) {
    fail(ErrorCode::mismatch, "the message has no record of arrays");
  }
  return instruction;
}

RoundSettings read_settings(const fleet::Record& config) {
  constexpr std::uint64_t any = std::numeric_limits<std::int64_t>::max();
  RoundSettings settings;
  for (const auto& [key, value] : config) {
    if (key == "server-round") {
      settings.round = whole(key, value, 0, any);
    } else if (key == "epochs" || key == "local-epochs") {
      settings.epochs = whole(key, value, 1, 1'000'000);
    } else if (key == "batch-size") {
      settings.batch_size = whole(key, value, 1, 1'000'000'000);
    } else if (key == "seed") {
      settings.seed = whole(key, value, 0, any);
    } else if (key == "learning-rate" || key == "lr") {
      settings.learning_rate = static_cast<float>(real(key, value));
    } else if (key == "proximal-mu") {
      settings.proximal = real(key, value);
    } else {
      settings.unknown.push_back(key);
    }
  }
  return settings;
}

}  // namespace ondine::federated
