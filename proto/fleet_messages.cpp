#include "proto/fleet_messages.h"

#include <climits>

#include "core/message.h"
#include "fleet.pb.h"

namespace ondine::fleet {
namespace {

template <class Wire>
Wire parsed(std::string_view bytes, const char* what) {
  Wire wire;
  if (bytes.size() > INT_MAX ||
      !wire.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    fail(ErrorCode::corrupt, "the bytes are no ", what);
  }
  return wire;
}

wire::Metadata wire_of(const Metadata& metadata, bool is_object) {
  wire::Metadata result;
  result.set_run(metadata.run);
  if (!is_object) result.set_id(metadata.id);
  result.set_source(metadata.source);
  result.set_destination(metadata.destination);
  result.set_reply_to(metadata.reply_to);
  result.set_group(metadata.group);
  result.set_seconds_to_live(metadata.seconds_to_live);
  result.set_type(metadata.type);
  result.set_created(metadata.created);
  if (metadata.source_task) result.set_source_task(*metadata.source_task);
  if (metadata.destination_task) result.set_destination_task(*metadata.destination_task);
  return result;
}

wire::Message wire_of(const Message& message, bool is_object) {
  wire::Message result;
  *result.mutable_metadata() = wire_of(message.metadata, is_object);
  if (message.failure) {
    result.mutable_failure()->set_code(message.failure->code);
    result.mutable_failure()->set_reason(message.failure->reason);
  } else if (!is_object) {
    result.mutable_content();
  }
  return result;
}

Message from_wire(const wire::Message& wire) {
  Message message;
  const wire::Metadata& from = wire.metadata();
  Metadata& to = message.metadata;
  to.run = from.run();
  to.id = from.id();
  to.source = from.source();
  to.destination = from.destination();
  to.reply_to = from.reply_to();
  to.group = from.group();
  to.seconds_to_live = from.seconds_to_live();
  to.type = from.type();
  to.created = from.created();
  if (from.has_source_task()) to.source_task = from.source_task();
  if (from.has_destination_task()) to.destination_task = from.destination_task();
  if (wire.has_failure()) message.failure = Failure{wire.failure().code(), wire.failure().reason()};
  return message;
}

void set_tree(const Tree& tree, wire::Tree& to) {
  to.set_id(tree.id);
  for (const Tree& child : tree.children) set_tree(child, *to.add_children());
}

Tree from_wire(const wire::Tree& wire) {
  Tree tree{wire.id()};
  for (const wire::Tree& child : wire.children()) tree.children.push_back(from_wire(child));
  return tree;
}

Scalar from_wire(const wire::Scalar& wire) {
  switch (wire.value_case()) {
    case wire::Scalar::kReal:
      return wire.real();
    case wire::Scalar::kInteger:
      return std::int64_t{wire.integer()};
    case wire::Scalar::kCount:
      return std::uint64_t{wire.count()};
    case wire::Scalar::kFlag:
      return wire.flag();
    case wire::Scalar::kText:
      return wire.text();
    case wire::Scalar::kTexts:
      return std::vector<std::string>(wire.texts().texts().begin(), wire.texts().texts().end());
    case wire::Scalar::VALUE_NOT_SET:
      break;
  }
  return std::monostate();
}

void set_scalar(const Scalar& value, wire::Scalar& to) {
  if (const auto* real = std::get_if<double>(&value)) to.set_real(*real);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) to.set_integer(*integer);
  if (const auto* count = std::get_if<std::uint64_t>(&value)) to.set_count(*count);
  if (const auto* flag = std::get_if<bool>(&value)) to.set_flag(*flag);
  if (const auto* text = std::get_if<std::string>(&value)) to.set_text(*text);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    for (const std::string& text : *texts) to.mutable_texts()->add_texts(text);
  }
}

wire::ObjectCall object_call(std::uint64_t node, std::uint64_t run, std::string_view id) {
  wire::ObjectCall call;
  call.mutable_node()->set_id(node);
  call.set_run(run);
  call.set_id(std::string(id));
  return call;
}

}  // namespace

std::string identity_bytes(std::string_view public_key, std::optional<double> heartbeat_seconds) {
  wire::Identity identity;
  identity.set_public_key(std::string(public_key));
  if (heartbeat_seconds) identity.set_heartbeat_seconds(*heartbeat_seconds);
  return identity.SerializeAsString();
}

std::string node_number_bytes(std::uint64_t node) {
  wire::NodeNumber number;
  number.set_id(node);
  return number.SerializeAsString();
}

std::string heartbeat_bytes(std::uint64_t node, double seconds) {
  wire::Heartbeat heartbeat;
  heartbeat.mutable_node()->set_id(node);
  heartbeat.set_seconds(seconds);
  return heartbeat.SerializeAsString();
}

std::string pull_bytes(std::uint64_t node) {
  wire::Pull pull;
  pull.mutable_node()->set_id(node);
  return pull.SerializeAsString();
}

std::string object_call_bytes(std::uint64_t node, std::uint64_t run, std::string_view id) {
  return object_call(node, run, id).SerializeAsString();
}

std::string push_object_bytes(std::uint64_t node, std::uint64_t run, std::string_view id,
                              std::string_view content, std::string_view session) {
  wire::ObjectCall call = object_call(node, run, id);
  call.set_content(std::string(content));
  if (!session.empty()) call.set_session(std::string(session));
  return call.SerializeAsString();
}

std::string push_bytes(std::uint64_t node, const Message& message, const Tree& tree,
                       double seconds) {
  wire::Push push;
  push.mutable_node()->set_id(node);
  *push.add_messages() = wire_of(message, false);
  set_tree(tree, *push.add_trees());
  push.add_seconds(seconds);
  return push.SerializeAsString();
}

std::string message_bytes(const Message& message, bool is_object) {
  return wire_of(message, is_object).SerializeAsString();
}

std::string record_bytes(const Record& record) {
  wire::Record wire;
  for (const auto& [key, value] : record) {
    wire::Record::Item& item = *wire.add_items();
    item.set_key(key);
    set_scalar(value, *item.mutable_value());
  }
  return wire.SerializeAsString();
}

std::uint64_t read_node_number(std::string_view bytes) {
  return parsed<wire::NodeNumber>(bytes, "number of a node").id();
}

bool read_heartbeat_answer(std::string_view bytes) {
  return parsed<wire::HeartbeatAnswer>(bytes, "answer to a heartbeat").is_known();
}

std::optional<Delivery> read_pull_answer(std::string_view bytes) {
  const auto wire = parsed<wire::PullAnswer>(bytes, "list of messages");
  if (wire.messages().empty()) return {};
  if (wire.trees().empty()) fail(ErrorCode::corrupt, "a message has no tree of objects");
  return Delivery{from_wire(wire.messages(0)), wire.trees(0).id()};
}

PulledObject read_object_answer(std::string_view bytes) {
  auto wire = parsed<wire::ObjectAnswer>(bytes, "answer with an object");
  return {wire.is_found(), wire.is_available(), std::move(*wire.mutable_content())};
}

PushAnswer read_push_answer(std::string_view bytes) {
  const auto wire = parsed<wire::PushAnswer>(bytes, "answer to a message");
  return {{wire.missing().begin(), wire.missing().end()}, wire.session()};
}

Message read_message(std::string_view bytes) {
  return from_wire(parsed<wire::Message>(bytes, "message"));
}

Record read_record(std::string_view bytes) {
  Record record;
  const auto wire = parsed<wire::Record>(bytes, "record");
  for (const wire::Record::Item& item : wire.items()) {
    record.emplace_back(item.key(), from_wire(item.value()));
  }
  return record;
}

namespace link {

ObjectCall read_object_call(std::string_view bytes) {
  const auto wire = parsed<wire::ObjectCall>(bytes, "call about an object");
  return {wire.node().id(), wire.run(), wire.id(), wire.content(), wire.session()};
}

Push read_push(std::string_view bytes) {
  const auto wire = parsed<wire::Push>(bytes, "call with a message");
  if (wire.messages().empty() || wire.trees().empty()) {
    fail(ErrorCode::corrupt, "a call without a message");
  }
  return {wire.node().id(), from_wire(wire.messages(0)), from_wire(wire.trees(0)),
          wire.messages(0).has_content()};
}

std::string heartbeat_answer_bytes(bool is_known) {
  wire::HeartbeatAnswer answer;
  answer.set_is_known(is_known);
  return answer.SerializeAsString();
}

std::string pull_answer_bytes(const Message& message, const Tree& tree) {
  wire::PullAnswer answer;
  *answer.add_messages() = wire_of(message, false);
  answer.add_trees()->set_id(tree.id);
  return answer.SerializeAsString();
}

std::string object_answer_bytes(const PulledObject& object) {
  wire::ObjectAnswer answer;
  answer.set_is_found(object.is_found);
  answer.set_is_available(object.is_available);
  answer.set_content(object.content);
  return answer.SerializeAsString();
}

std::string push_answer_bytes(const PushAnswer& answer) {
  wire::PushAnswer wire;
  for (const std::string& id : answer.missing) wire.add_missing(id);
  wire.set_session(answer.session);
  return wire.SerializeAsString();
}

}  // namespace link

}  // namespace ondine::fleet
