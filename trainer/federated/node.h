// The life of a node: it asks for messages, works on them one after the other and answers.
#pragma once

#include <functional>
#include <string>

#include <ondine/federated.h>

#include "trainer/federated/fleet_client.h"
#include "trainer/federated/heartbeats.h"
#include "trainer/federated/node_files.h"
#include "trainer/federated/worker.h"

namespace ondine::federated {

struct NodeCallbacks {
  std::function<void(const FederatedMessage&)> on_message = {};
  std::function<void(const std::string&)> on_note = {};
};

class Node {
 public:
  // Everything but the data must outlive it.
  Node(Model& model, const Dataset& data, const FederatedOptions& options, Transport& transport,
       std::string public_key, StopFlag& stop, const NodeCallbacks& callbacks);

  FederatedReport run();

 private:
  void live();
  // Whether there was a message.
  bool take_message();
  void finish_pending();
  void receive(Parcel parcel);
  // Why a message gets no reply; empty where it gets one.
  std::string refusal(const fleet::Metadata& metadata) const;
  Instruction read(const fleet::Metadata& metadata, Parcel& parcel);
  void work(const fleet::Metadata& metadata, const Instruction& instruction);
  void keep(const fleet::Metadata& metadata, TaskResult& result);
  void answer(const fleet::Metadata& metadata, Parcel reply, FederatedMessage told);
  void send(const fleet::Metadata& metadata, const Parcel& reply);
  void note(const std::string& text) const;
  void refuse(const fleet::Metadata& metadata, const std::string& why);
  void join();
  void leave_before();

  Model& model_;
  const FederatedOptions& options_;
  std::string public_key_;
  StopFlag& stop_;
  const NodeCallbacks& callbacks_;
  FleetClient client_;
  NodeFiles files_;
  Worker worker_;
  ArrayReading reading_;
  std::uint64_t message_bytes_ = 0;  // that a message may take
  std::uint64_t node_ = 0;
  FederatedReport report_;
  Heartbeats* heartbeats_ = nullptr;
};

}  // namespace ondine::federated
