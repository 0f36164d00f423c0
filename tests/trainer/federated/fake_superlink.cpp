#include "tests/trainer/federated/fake_superlink.h"

#include <catch2/catch.hpp>

#include "graph/record/json_value.h"
#include "tests/trainer/fit/small_task.h"

namespace ondine::test {
namespace {

using federated::Answer;
using federated::ObjectStore;
using federated::Parcel;
using graph::JsonValue;

const std::string& object_of(const Parcel& parcel, const std::string& id) {
  REQUIRE(parcel.objects.contains(id));
  return parcel.objects.at(id);
}

// The id of a record of the message; empty where it has none of that name.
std::string record_id(const Parcel& parcel, const std::string& name) {
  const std::string& root = parcel.message.metadata.id;
  const auto message = federated::read_object(object_of(parcel, root), root, "Message");
  REQUIRE(message.children.size() == 1);
  const std::string& id = message.children[0];
  const auto records = federated::read_object(object_of(parcel, id), id, "RecordDict");
  const JsonValue list = graph::parse_json(std::string(records.body));
  const JsonValue* const found = list.find(name);
  return found == nullptr ? "" : found->text;
}

}  // namespace

Answer FakeSuperlink::post(std::string_view name, const std::string& body, std::uint64_t most) {
  const std::scoped_lock lock(mutex);
  ++calls[std::string(name)];
  if (name != "send-node-heartbeat") order.emplace_back(name);
  if (before) {
    if (auto other = before(name, body)) {
      if (other->body.size() > most) throw Error(ErrorCode::limit, "too long an answer");
      return *other;
    }
  }
  Answer right = answer(name, body);
  if (after) {
    if (auto other = after(name, body)) return *other;
  }
  return right;
}

Answer FakeSuperlink::answer(std::string_view name, const std::string& body) {
  if (name == "activate-node") {
    if (!is_registered) return {404, R"({"code": 2004})"};
    if (is_online && refusals_until_lost-- > 0) return {412, R"({"code":2004,"detail":"online"})"};
    is_online = true;
    return {200, fleet::node_number_bytes(node)};
  }
  if (name == "register-node") {
    if (!takes_registrations) return {403, R"({"code": 2001})"};
    if (is_registered) return {412, R"({"code":23,"detail":"Public key already in use."})"};
    is_registered = true;
    is_online = false;
    return {200, fleet::node_number_bytes(node)};
  }
  if (!is_registered) return {401, "Invalid SuperNode authentication"};
  if (name == "deactivate-node") {
    if (body != fleet::node_number_bytes(node)) return {401, "another node"};
    is_online = false;
    return {200, ""};
  }
  if (name == "send-node-heartbeat") return {200, fleet::link::heartbeat_answer_bytes(true)};
  if (name == "pull-messages") {
    if (waiting.empty()) return {200, ""};
    const Parcel parcel = std::move(waiting.front());
    waiting.pop_front();
    return {200, fleet::link::pull_answer_bytes(parcel.message, {parcel.message.metadata.id})};
  }
  if (name == "pull-object") {
    const auto found = objects.find(fleet::link::read_object_call(body).id);
    if (found == objects.end()) return {200, fleet::link::object_answer_bytes({})};
    return {200, fleet::link::object_answer_bytes({true, true, found->second})};
  }
  if (name == "confirm-message-received") {
    confirmed.insert(fleet::link::read_object_call(body).id);
    return {200, ""};
  }
  if (name == "push-messages") return {200, take_push(body)};
  if (name == "push-object") {
    const auto call = fleet::link::read_object_call(body);
    CHECK(call.session == "session");
    CHECK(federated::object_id(call.content) == call.id);
    replies.back().objects[call.id] = call.content;
    return {200, ""};
  }
  return {200, ""};
}

// As the real one: a message needs a content or a failure, the objects are asked for by their ids.
std::string FakeSuperlink::take_push(const std::string& body) {
  const fleet::link::Push push = fleet::link::read_push(body);
  CHECK(push.has_content == !push.message.failure.has_value());
  CHECK(push.message.metadata.id == push.tree.id);
  if (replies.empty() || replies.back().message.metadata.id != push.tree.id) {
    replies.push_back({push.message});
  }
  fleet::PushAnswer wanted{{}, "session"};
  std::vector<const fleet::Tree*> trees{&push.tree};
  while (!trees.empty()) {
    const fleet::Tree& tree = *trees.back();
    trees.pop_back();
    if (!replies.back().objects.contains(tree.id)) wanted.missing.push_back(tree.id);
    for (const fleet::Tree& child : tree.children) trees.push_back(&child);
  }
  return fleet::link::push_answer_bytes(wanted);
}

void FakeSuperlink::deliver(Parcel parcel) {
  for (const auto& [id, content] : parcel.objects) objects[id] = content;
  waiting.push_back(std::move(parcel));
}

Parcel make_message(const Sent& sent) {
  ObjectStore store;
  JsonValue records = JsonValue::object();
  std::vector<fleet::Tree> trees;
  if (!sent.arrays.empty()) {
    JsonValue list = JsonValue::object();
    std::vector<fleet::Tree> arrays;
    for (const auto& [name, value] : sent.arrays) {
      arrays.push_back(federated::add_array(store, value.tensor()));
      list.set(name, JsonValue::of(arrays.back().id));
    }
    trees.push_back(store.add("ArrayRecord", arrays, graph::dump(list)));
    records.set("arrays", JsonValue::of(trees.back().id));
  }
  trees.push_back(store.add("ConfigRecord", {}, fleet::record_bytes(sent.config)));
  records.set("config", JsonValue::of(trees.back().id));
  const fleet::Tree dictionary = store.add("RecordDict", trees, graph::dump(records));
  fleet::Message message;
  message.metadata.run = 7;
  message.metadata.source = 1;
  message.metadata.destination = sent.destination;
  message.metadata.group = "2";
  message.metadata.type = sent.type;
  message.metadata.created = sent.created;
  message.metadata.seconds_to_live = sent.seconds_to_live;
  message.metadata.source_task = 11;
  message.metadata.id = store.add("Message", {dictionary}, fleet::message_bytes(message, true)).id;
  return {message, std::move(store).take()};
}

NamedValues line_weights() {
  return {{"w", Tensor::of<float>({2, 1}, std::vector{0.5F, -0.25F})},
          {"b", Tensor::of<float>({1}, std::vector{0.125F})}};
}

NamedValues arrays_of(const Parcel& reply, const std::vector<StateInfo>& wanted) {
  const std::string id = record_id(reply, "arrays");
  const auto record = federated::read_object(object_of(reply, id), id, "ArrayRecord");
  const JsonValue list = graph::parse_json(std::string(record.body));
  CHECK(list.items.size() == wanted.size());
  NamedValues arrays;
  for (const StateInfo& one : wanted) {
    REQUIRE(list.find(one.name) != nullptr);
    arrays.emplace_back(one.name,
                        federated::read_array(list.find(one.name)->text, one,
                                              [&](const std::string& key) -> const std::string& {
                                                return object_of(reply, key);
                                              },
                                              {}));
  }
  return arrays;
}

fleet::Record record_of(const Parcel& reply, const std::string& name) {
  const std::string id = record_id(reply, name);
  if (id.empty()) return {};
  const std::string& content = object_of(reply, id);
  return fleet::read_record(
      federated::read_object(content, id, content.substr(0, content.find(' '))).body);
}

fleet::Scalar value_of(const fleet::Record& record, const std::string& key) {
  for (const auto& [name, value] : record) {
    if (name == key) return value;
  }
  return {};
}

LineNode::LineNode(FakeSuperlink& to)
    : superlink(to), model(line_model()), data(Dataset::from(line_data(10))) {
  using std::chrono::milliseconds;
  options.messages = 1;
  options.poll = milliseconds(1);
  options.retry = milliseconds(0);
  options.heartbeat = std::chrono::minutes(1);
  options.trainer.batch_size = 4;
  options.trainer.epochs = 2;
  options.trainer.seed = 3;
}

FederatedReport LineNode::run() {
  federated::StopFlag stop;
  stop.ask(goes_on);
  const federated::NodeCallbacks callbacks{
      [this](const FederatedMessage& message) { told.push_back(message); },
      [this](const std::string& note) { notes.push_back(note); }};
  federated::Node node(model, data, options, superlink, "the public key", stop, callbacks);
  return node.run();
}

}  // namespace ondine::test
