// The messages between a node and a SuperLink of Flower, as bytes and as structs (fleet.proto).
// Everything read here comes from outside.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ondine::fleet {

struct Metadata {
  std::uint64_t run = 0;
  std::string id = {};  // of the message: that of its root object
  std::uint64_t source = 0;
  std::uint64_t destination = 0;
  std::string reply_to = {};
  std::string group = {};
  std::string type = {};
  double created = 0;  // seconds since 1970
  double seconds_to_live = 0;
  std::optional<std::uint64_t> source_task = {};
  std::optional<std::uint64_t> destination_task = {};

  friend bool operator==(const Metadata&, const Metadata&) = default;
};

struct Failure {
  std::int64_t code = 1;
  std::string reason = {};
};

struct Message {
  Metadata metadata = {};
  std::optional<Failure> failure = {};
};

// Ids of objects.
struct Tree {
  std::string id = {};
  std::vector<Tree> children = {};
};

struct Delivery {
  Message message = {};
  std::string root = {};  // id of the root object
};

struct PulledObject {
  bool is_found = false;
  bool is_available = false;
  std::string content = {};
};

struct PushAnswer {
  std::vector<std::string> missing = {};  // ids of the objects that the SuperLink wants
  std::string session = {};
};

// monostate: of a kind that is not read.
using Scalar = std::variant<std::monostate, double, std::int64_t, std::uint64_t, bool, std::string,
                            std::vector<std::string>>;
using Record = std::vector<std::pair<std::string, Scalar>>;

std::string identity_bytes(std::string_view public_key, std::optional<double> heartbeat_seconds);
std::string node_number_bytes(std::uint64_t node);
std::string heartbeat_bytes(std::uint64_t node, double seconds);
std::string pull_bytes(std::uint64_t node);
// Bodies of pull-object and confirm-message-received; push-object adds content and session.
std::string object_call_bytes(std::uint64_t node, std::uint64_t run, std::string_view id);
std::string push_object_bytes(std::uint64_t node, std::uint64_t run, std::string_view id,
                              std::string_view content, std::string_view session);
std::string push_bytes(std::uint64_t node, const Message& message, const Tree& tree,
                       double seconds);
// With `is_object` as the body of the message's root object: without id and without content.
std::string message_bytes(const Message& message, bool is_object);
std::string record_bytes(const Record& record);

// The inverse. Error(corrupt) for bytes that are no such message.
std::uint64_t read_node_number(std::string_view bytes);
bool read_heartbeat_answer(std::string_view bytes);
// The first message, if there is one.
std::optional<Delivery> read_pull_answer(std::string_view bytes);
PulledObject read_object_answer(std::string_view bytes);
PushAnswer read_push_answer(std::string_view bytes);
Message read_message(std::string_view bytes);
Record read_record(std::string_view bytes);

// Messages that a SuperLink reads and answers, for tests that play one.
namespace link {
struct ObjectCall {
  std::uint64_t node = 0;
  std::uint64_t run = 0;
  std::string id = {};
  std::string content = {};
  std::string session = {};
};
struct Push {
  std::uint64_t node = 0;
  Message message = {};
  Tree tree = {};
  bool has_content = false;
};
ObjectCall read_object_call(std::string_view bytes);
Push read_push(std::string_view bytes);
std::string heartbeat_answer_bytes(bool is_known);
std::string pull_answer_bytes(const Message& message, const Tree& tree);
std::string object_answer_bytes(const PulledObject& object);
std::string push_answer_bytes(const PushAnswer& answer);
}  // namespace link

}  // namespace ondine::fleet
