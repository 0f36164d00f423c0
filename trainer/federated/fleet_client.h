// The calls of Flower's Fleet API.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "proto/fleet_messages.h"
#include "trainer/federated/objects.h"
#include "trainer/federated/stop_flag.h"
#include "trainer/federated/transport.h"

namespace ondine::federated {

// Repeats what found no SuperLink for `patience`. Every call may throw LinkError, and
// Error(corrupt) for an answer that is none. For one thread, but for heartbeat().
class FleetClient {
 public:
  FleetClient(Transport& transport, StopFlag& stop, std::chrono::milliseconds patience)
      : transport_(transport), stop_(stop), patience_(patience) {}

  // The number of the node of that key, which is registered unless it is known. A SuperLink keeps a
  // node that was killed for online until two heartbeats are missing, and this waits so long.
  std::uint64_t activate(const std::string& public_key, double heartbeat_seconds);
  // The first is not repeated.
  void deactivate(std::uint64_t node);
  void leave(std::uint64_t node);
  // Whether the SuperLink knows the node. Is not repeated.
  bool heartbeat(std::uint64_t node, double seconds);

  std::optional<fleet::Delivery> pull_message(std::uint64_t node);
  // Waits until the object is there.
  std::string pull_object(std::uint64_t node, std::uint64_t run, const std::string& id);
  void confirm(std::uint64_t node, std::uint64_t run, const std::string& message);
  // Pushes the reply and the objects that the SuperLink lacks.
  void push(std::uint64_t node, const Parcel& reply);

 private:
  std::uint64_t activate_when_lost(const std::string& body, double heartbeat_seconds);
  std::string call(std::string_view name, const std::string& body, std::uint64_t most);
  std::string call_once(std::string_view name, const std::string& body, std::uint64_t most);

  Transport& transport_;
  StopFlag& stop_;
  std::chrono::milliseconds patience_;
};

}  // namespace ondine::federated
