// The tables of proto/wire_schema.cpp say the same as proto/onnx.proto.
#include "proto/wire_schema.h"
#include "tests/support/paths.h"

#include <catch2/catch.hpp>

#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

using namespace ondine;

namespace {

struct Field {
  std::string message;
  std::string label;
  std::string type;
  std::string name;
  std::uint32_t number = 0;
};

struct Schema {
  std::vector<Field> fields;
  std::map<std::string, int> enumerators;  // by name of the enum
};

Schema read_schema() {
  std::ifstream file(test::source_folder() / "proto/onnx.proto");
  REQUIRE(file.good());
  const std::regex open(R"(\s*(message|enum|oneof) (\w+) \{.*)");
  const std::regex close(R"(\s*\}.*)");
  const std::regex field(R"(\s*(optional |repeated )?(\w+) (\w+) = (\d+).*;.*)");
  const std::regex enumerator(R"(\s*\w+ = \d+;.*)");
  Schema schema;
  std::vector<std::pair<std::string, std::string>> blocks;
  for (std::string line; std::getline(file, line);) {
    std::smatch match;
    if (std::regex_match(line, match, open)) {
      blocks.emplace_back(match[1], match[2]);
    } else if (std::regex_match(line, close)) {
      blocks.pop_back();
    } else if (!blocks.empty() && blocks.back().first == "enum" &&
               std::regex_match(line, enumerator)) {
      ++schema.enumerators[blocks.back().second];
    } else if (!blocks.empty() && std::regex_match(line, match, field)) {
      std::string message;
      for (const auto& [kind, name] : blocks) {
        if (kind == "message") message += (message.empty() ? "" : ".") + name;
      }
      schema.fields.push_back({message, match[1], match[2], match[3],
                               static_cast<std::uint32_t>(std::stoul(match[4]))});
    }
  }
  return schema;
}

const WireMessage* find_message(const std::string& name) {
  for (std::size_t i = 0; i < message_count; ++i) {
    const auto& message = wire_message(static_cast<MessageId>(i));
    if (message.name == name) return &message;
  }
  return nullptr;
}

void check_kind(const Field& field, const WireField& row, const Schema& schema) {
  const static std::map<std::string, std::pair<WireKind, int>> numbers{
      {"int32", {WireKind::integer, 4}},
      {"int64", {WireKind::integer, 8}},
      {"uint64", {WireKind::integer, 8}},
      {"float", {WireKind::fixed32, 4}},
      {"double", {WireKind::fixed64, 8}}};
  if (const auto number = numbers.find(field.type); number != numbers.end()) {
    CHECK(row.kind == number->second.first);
    CHECK(row.width == (row.repeated ? number->second.second : 0));
  } else if (field.type == "string") {
    CHECK((row.kind == WireKind::name || row.kind == WireKind::text));
  } else if (field.type == "bytes") {
    CHECK(row.kind == WireKind::bytes);
  } else if (const auto count = schema.enumerators.find(field.type);
             count != schema.enumerators.end()) {
    CHECK(row.kind == WireKind::enumeration);
    CHECK(row.bound == count->second);
  } else {
    REQUIRE(row.kind == WireKind::message);
    const std::string child = wire_message(row.message).name;
    CHECK((child == field.type || child == field.message + "." + field.type ||
           child == field.message.substr(0, field.message.find('.')) + "." + field.type));
  }
}

}  // namespace

TEST_CASE("the wire tables have every field of the schema and no other") {
  const Schema schema = read_schema();
  std::map<std::string, std::size_t> counts;
  for (const auto& field : schema.fields) {
    INFO(field.message << "." << field.name);
    const WireMessage* message = find_message(field.message);
    REQUIRE(message != nullptr);
    const WireField* row = message->find(field.number);
    REQUIRE(row != nullptr);
    CHECK(row->name == field.name);
    CHECK(row->repeated == (field.label == "repeated "));
    check_kind(field, *row, schema);
    ++counts[field.message];
  }
  CHECK(counts.size() == message_count);
  for (const auto& [name, count] : counts) CHECK(find_message(name)->fields.size() == count);
}
