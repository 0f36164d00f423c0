#include "trainer/federated/fleet_client.h"

#include <algorithm>
#include <array>

#include "core/message.h"

namespace ondine::federated {
namespace {

using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::milliseconds;

// Flower cuts arrays into chunks of 5 MiB, which is a setting of the sender.
constexpr std::uint64_t most_object = std::uint64_t{64} << 20;
constexpr std::uint64_t most_list = std::uint64_t{4} << 20;
constexpr std::uint64_t most_answer = std::uint64_t{64} << 10;

constexpr Milliseconds first_pause{200};
constexpr Milliseconds longest_pause{5'000};

// A SuperLink that starts, or a proxy before one that does not answer.
bool is_passing(int status) {
  constexpr std::array statuses{408, 429, 502, 503, 504};
  return std::find(statuses.begin(), statuses.end(), status) != statuses.end();
}

std::string refusal(std::string_view name, const Answer& answer) {
  std::string text = cat("the SuperLink refused ", quoted(name), " with status ", answer.status);
  if (answer.status == 401) text += ": it does not know the node, or its clock is another";
  if (!answer.body.empty()) text += ": " + quoted(answer.body);
  return text;
}

// Flower's code for a key that it has already.
bool is_in_use(const LinkError& error) {
  return error.answer().find(R"("code":23,)") != std::string::npos;
}

}  // namespace

std::string FleetClient::call_once(std::string_view name, const std::string& body,
                                   std::uint64_t most) {
  Answer answer = transport_.post(name, body, most);
  if (answer.status == 200) return std::move(answer.body);
  if (is_passing(answer.status)) fail(ErrorCode::io, refusal(name, answer));
  throw LinkError(LinkError::Kind::refused, ErrorCode::mismatch, refusal(name, answer),
                  answer.status, answer.body);
}

std::string FleetClient::call(std::string_view name, const std::string& body, std::uint64_t most) {
  const auto end = Clock::now() + patience_;
  for (Milliseconds pause = first_pause;; pause = std::min(2 * pause, longest_pause)) {
    try {
      return call_once(name, body, most);
    } catch (const LinkError&) {
      throw;
    } catch (const Error& error) {
      if (error.code() != ErrorCode::io) throw;
      if (Clock::now() >= end) {
        throw LinkError(LinkError::Kind::unreachable, ErrorCode::io, error.message());
      }
    }
    if (!stop_.wait(pause)) {
      throw LinkError(LinkError::Kind::interrupted, ErrorCode::cancelled, "the node was stopped");
    }
  }
}

std::uint64_t FleetClient::activate(const std::string& public_key, double heartbeat_seconds) {
  const std::string body = fleet::identity_bytes(public_key, heartbeat_seconds);
  try {
    return fleet::read_node_number(call("activate-node", body, most_answer));
  } catch (const LinkError& error) {
    if (error.kind() != LinkError::Kind::refused || error.status() == 401) throw;
  }
  try {
    call("register-node", fleet::identity_bytes(public_key, {}), most_answer);
  } catch (const LinkError& error) {
    if (error.kind() != LinkError::Kind::refused) throw;
    if (is_in_use(error)) return activate_when_lost(body, heartbeat_seconds);
    throw LinkError(
        LinkError::Kind::refused, ErrorCode::mismatch,
        error.message() + "; register the node's public key there: flwr supernode register FILE",
        error.status());
  }
  return fleet::read_node_number(call("activate-node", body, most_answer));
}

std::uint64_t FleetClient::activate_when_lost(const std::string& body, double heartbeat_seconds) {
  const auto lost = std::chrono::duration<double>(2 * heartbeat_seconds + 10);
  const auto end =
      Clock::now() + std::min(std::chrono::duration_cast<Milliseconds>(lost), patience_);
  for (Milliseconds pause = first_pause;; pause = std::min(2 * pause, longest_pause)) {
    if (!stop_.wait(pause)) {
      throw LinkError(LinkError::Kind::interrupted, ErrorCode::cancelled, "the node was stopped");
    }
    try {
      return fleet::read_node_number(call("activate-node", body, most_answer));
    } catch (const LinkError& error) {
      if (error.kind() != LinkError::Kind::refused || error.status() == 401) throw;
      if (Clock::now() < end) continue;
      throw LinkError(LinkError::Kind::refused, ErrorCode::mismatch,
                      error.message() + "; a node with this key is online there", error.status());
    }
  }
}

void FleetClient::deactivate(std::uint64_t node) {
  call_once("deactivate-node", fleet::node_number_bytes(node), most_answer);
}

void FleetClient::leave(std::uint64_t node) {
  call("deactivate-node", fleet::node_number_bytes(node), most_answer);
}

bool FleetClient::heartbeat(std::uint64_t node, double seconds) {
  return fleet::read_heartbeat_answer(
      call_once("send-node-heartbeat", fleet::heartbeat_bytes(node, seconds), most_answer));
}

std::optional<fleet::Delivery> FleetClient::pull_message(std::uint64_t node) {
  return fleet::read_pull_answer(call("pull-messages", fleet::pull_bytes(node), most_list));
}

std::string FleetClient::pull_object(std::uint64_t node, std::uint64_t run, const std::string& id) {
  const std::string body = fleet::object_call_bytes(node, run, id);
  const auto end = Clock::now() + patience_;
  for (Milliseconds pause = first_pause;; pause = std::min(2 * pause, longest_pause)) {
    fleet::PulledObject object = fleet::read_object_answer(call("pull-object", body, most_object));
    if (!object.is_found)
      fail(ErrorCode::not_found, "the SuperLink lacks an object of the message");
    if (object.is_available) return std::move(object.content);
    if (Clock::now() >= end) {
      fail(ErrorCode::limit, "an object of the message did not come in time");
    }
    if (!stop_.wait(pause)) {
      throw LinkError(LinkError::Kind::interrupted, ErrorCode::cancelled, "the node was stopped");
    }
  }
}

void FleetClient::confirm(std::uint64_t node, std::uint64_t run, const std::string& message) {
  call("confirm-message-received", fleet::object_call_bytes(node, run, message), most_answer);
}

void FleetClient::push(std::uint64_t node, const Parcel& reply) {
  const fleet::Metadata& metadata = reply.message.metadata;
  const fleet::Tree tree = tree_of(metadata.id, reply.objects);
  const fleet::PushAnswer answer = fleet::read_push_answer(call(
      "push-messages", fleet::push_bytes(node, reply.message, tree, reply.seconds), most_list));
  for (const std::string& id : answer.missing) {
    const auto object = reply.objects.find(id);
    if (object == reply.objects.end()) continue;
    call("push-object",
         fleet::push_object_bytes(node, metadata.run, id, object->second, answer.session),
         most_answer);
  }
}

}  // namespace ondine::federated
