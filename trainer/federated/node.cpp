#include "trainer/federated/node.h"

#include <algorithm>
#include <chrono>

#include "core/message.h"
#include "core/out_of_memory.h"

namespace ondine::federated {
namespace {

using Clock = std::chrono::steady_clock;

// Bytes of arrays of the model's size, once as objects and again as files, with room for their
// metadata.
std::uint64_t most_message_bytes(const std::vector<StateInfo>& wanted, const Limits& limits) {
  std::uint64_t bytes = std::uint64_t{16} << 20;
  for (const StateInfo& one : wanted) {
    bytes += 2 * (static_cast<std::uint64_t>(one.shape.size()) * size_of(one.dtype) + 65'536);
  }
  return std::min(bytes, limits.arena_bytes);
}

FederatedMessage describe(const fleet::Metadata& metadata) {
  FederatedMessage told;
  told.type = metadata.type;
  told.group = metadata.group;
  told.run = metadata.run;
  return told;
}

bool is_refused(const LinkError& error) { return error.kind() == LinkError::Kind::refused; }

}  // namespace

Node::Node(Model& model, const Dataset& data, const FederatedOptions& options, Transport& transport,
           std::string public_key, StopFlag& stop, const NodeCallbacks& callbacks)
    : model_(model),
      options_(options),
      public_key_(std::move(public_key)),
      stop_(stop),
      callbacks_(callbacks),
      client_(transport, stop, options.retry),
      files_(options.checkpoint),
      worker_(model, data, options, stop),
      reading_{options.limits, nullptr},
      message_bytes_(most_message_bytes(worker_.wanted(), options.limits)) {}

FederatedReport Node::run() {
  report_ = {};
  files_.lock();
  if (has_checkpoint(options_.checkpoint)) model_.restore_checkpoint(options_.checkpoint);
  try {
    Heartbeats heartbeats(client_, options_.heartbeat);
    heartbeats_ = &heartbeats;
    leave_before();
    join();
    live();
  } catch (const LinkError& error) {
    if (error.kind() != LinkError::Kind::interrupted) {
      files_.unlock();
      throw;
    }
    report_.stopped = true;
  }
  try {
    if (node_ != 0) client_.deactivate(node_);
    files_.forget_number();
  } catch (const Error& error) {
    note("the SuperLink was not told that the node ends: " + error.message());
  }
  files_.unlock();
  return report_;
}

void Node::join() {
  node_ = client_.activate(public_key_, std::chrono::duration<double>(options_.heartbeat).count());
  if (node_ == 0) fail(ErrorCode::corrupt, "the SuperLink gave the node no number");
  files_.save_number(node_);
  heartbeats_->set_node(node_);
}

// The SuperLink takes a node that was killed for online, and nobody joins in its place until it is
// told otherwise. One that does not know the number has nothing to be told.
void Node::leave_before() {
  const std::optional<std::uint64_t> before = files_.number();
  if (!before) return;
  try {
    client_.leave(*before);
  } catch (const LinkError& error) {
    if (!is_refused(error)) throw;
  }
}

// Answers that are no answers end the node when nothing else comes for as long as it has patience.
void Node::live() {
  finish_pending();
  auto good = Clock::now();
  while (options_.messages == 0 || report_.answered < options_.messages) {
    bool found = false;
    try {
      found = take_message();
      good = Clock::now();
    } catch (const LinkError&) {
      throw;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::corrupt || Clock::now() - good > options_.retry) throw;
      note("the SuperLink's answer is damaged: " + error.message());
    }
    if (found ? stop_.is_set() : !stop_.wait(options_.poll)) {
      report_.stopped = true;
      return;
    }
  }
}

// A SuperLink that was started again has forgotten the node, which joins once more.
bool Node::take_message() {
  std::optional<fleet::Delivery> delivery;
  try {
    delivery = client_.pull_message(node_);
  } catch (const LinkError& error) {
    if (!is_refused(error) || error.status() != 401) throw;
    note("the SuperLink does not know the node any more, which joins again");
    join();
    delivery = client_.pull_message(node_);
  }
  if (!delivery) return false;
  const fleet::Metadata& metadata = delivery->message.metadata;
  const std::uint64_t before = report_.refused;
  if (is_object_id(metadata.id) && delivery->root == metadata.id) {
    receive({std::move(delivery->message)});
  } else {
    refuse(metadata, "it has no id");
  }
  return report_.refused == before;
}

std::string Node::refusal(const fleet::Metadata& metadata) const {
  if (metadata.destination != node_) return "it is for another node";
  if (!metadata.reply_to.empty()) return "it is a reply";
  if (files_.is_answered(metadata.id)) return "it was answered before";
  if (is_late(metadata)) return "its time is over";
  return {};
}

void Node::refuse(const fleet::Metadata& metadata, const std::string& why) {
  ++report_.refused;
  files_.forget_message();
  note("message " + quoted(metadata.id) + " is refused: " + why);
}

Instruction Node::read(const fleet::Metadata& metadata, Parcel& parcel) {
  ArrayReading reading = reading_;
  reading.budget = std::make_shared<MemoryBudget>(message_bytes_);
  const FetchObject fetch = [&](const std::string& id) -> const std::string& {
    const auto known = parcel.objects.find(id);
    if (known != parcel.objects.end()) return known->second;
    std::string content = client_.pull_object(node_, metadata.run, id);
    reading.budget->charge(content.size());
    return parcel.objects.emplace(id, std::move(content)).first->second;
  };
  return guard_memory("read a message",
                      [&] { return read_instruction(metadata, worker_.wanted(), fetch, reading); });
}

// The message is kept before it is confirmed: from then on the SuperLink has it no more.
void Node::receive(Parcel parcel) {
  const fleet::Metadata metadata = parcel.message.metadata;
  const std::string why = refusal(metadata);
  if (!why.empty()) return refuse(metadata, why);
  Instruction instruction;
  std::string failure;
  try {
    instruction = read(metadata, parcel);
  } catch (const LinkError& error) {
    if (!is_refused(error)) throw;
    return refuse(metadata, error.message());
  } catch (const Error& error) {
    failure = error.message();
  }
  try {
    if (failure.empty()) files_.save_message(parcel);
    client_.confirm(node_, metadata.run, metadata.id);
  } catch (const LinkError& error) {
    if (!is_refused(error)) throw;
    return refuse(metadata, error.message());
  }
  parcel.objects.clear();
  if (failure.empty()) return work(metadata, instruction);
  FederatedMessage told = describe(metadata);
  told.failure = failure;
  answer(metadata, make_failure(metadata, failure), std::move(told));
}

void Node::work(const fleet::Metadata& metadata, const Instruction& instruction) {
  const auto start = Clock::now();
  FederatedMessage told = describe(metadata);
  Parcel reply;
  try {
    TaskResult result =
        guard_memory("do a round", [&] { return worker_.run(instruction, metadata); });
    reply = make_reply(metadata, result.content);
    told.metrics = result.metrics;
    told.examples = result.examples;
    told.round = result.round;
    keep(metadata, result);
  } catch (const LinkError&) {
    throw;
  } catch (const Error& error) {
    told.failure = error.message();
    reply = make_failure(metadata, told.failure);
  }
  told.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  reply.seconds = told.seconds;
  answer(metadata, std::move(reply), std::move(told));
}

void Node::keep(const fleet::Metadata& metadata, TaskResult& result) {
  for (const std::string& text : result.notes) note(text);
  if (result.weights.empty()) return;
  model_.set_state(result.weights);
  if (options_.checkpoint.empty()) return;
  model_.save_checkpoint(options_.checkpoint, {},
                         {{"federated_type", metadata.type},
                          {"federated_group", metadata.group},
                          {"federated_round", static_cast<std::int64_t>(result.round)}});
}

// The reply is kept before it is pushed: a node that is killed now sends it when it is back.
void Node::answer(const fleet::Metadata& metadata, Parcel reply, FederatedMessage told) {
  files_.save_reply(reply);
  files_.forget_message();
  send(metadata, reply);
  ++report_.answered;
  if (!told.failure.empty()) ++report_.failed;
  if (callbacks_.on_message) callbacks_.on_message(told);
}

void Node::send(const fleet::Metadata& metadata, const Parcel& reply) {
  try {
    if (is_late(reply.message.metadata)) {
      note("the reply to message " + quoted(metadata.id) + " is too late and was not sent");
    } else {
      client_.push(node_, reply);
    }
  } catch (const LinkError& error) {
    if (!is_refused(error)) throw;
    note("the reply to message " + quoted(metadata.id) + " was not taken: " + error.message());
  }
  files_.add_answered(metadata);
  files_.forget_reply();
}

// A node that was killed goes on where it was.
void Node::finish_pending() {
  if (const std::optional<Parcel> reply = files_.reply()) {
    fleet::Metadata answered = reply->message.metadata;
    const bool is_ours = answered.source == node_;
    answered.id = answered.reply_to;
    files_.forget_message();
    if (!is_ours) return files_.forget_reply();
    note("the reply to message " + quoted(answered.id) + " is sent, as a run before could not");
    send(answered, *reply);
    ++report_.answered;
    return;
  }
  std::optional<Parcel> parcel = files_.message();
  if (!parcel) return;
  note("message " + quoted(parcel->message.metadata.id) +
       " is worked on again, as a run before was not done");
  receive(std::move(*parcel));
}

void Node::note(const std::string& text) const {
  if (callbacks_.on_note) callbacks_.on_note(text);
}

}  // namespace ondine::federated
