// A SuperLink of the tests: it hands out messages, takes replies and can misbehave.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <ondine/federated.h>

#include "trainer/federated/node.h"
#include "trainer/federated/objects.h"
#include "trainer/federated/reply.h"

namespace ondine::test {

// Thrown where a test kills a node: it is no Error, so that nothing handles it.
struct Killed {};

class FakeSuperlink final : public federated::Transport {
 public:
  using Intercept = std::function<std::optional<federated::Answer>(std::string_view name,
                                                                   const std::string& body)>;

  federated::Answer post(std::string_view name, const std::string& body,
                         std::uint64_t most) override;

  // A message for the node with these objects, of which `message.metadata.id` is the root.
  void deliver(federated::Parcel parcel);

  std::mutex mutex;
  std::uint64_t node = 41;
  bool is_registered = false;
  bool is_online = false;  // from its activation on; such a node cannot be activated
  int refusals_until_lost = 1;
  bool takes_registrations = true;
  Intercept before = {};  // an answer in place of the right one
  Intercept after = {};   // called when the SuperLink has done what was asked
  std::deque<federated::Parcel> waiting;
  std::map<std::string, std::string> objects;  // that nodes can pull
  std::vector<federated::Parcel> replies;      // with the objects that were pushed
  std::set<std::string> confirmed;
  std::map<std::string, int, std::less<>> calls;
  std::vector<std::string> order;  // the names of all calls but heartbeats

 private:
  federated::Answer answer(std::string_view name, const std::string& body);
  std::string take_push(const std::string& body);
};

// Contents of a message.
struct Sent {
  std::string type = "train";
  NamedValues arrays = {};
  fleet::Record config = {};
  double created = federated::seconds_now();
  double seconds_to_live = 1000;
  std::uint64_t destination = 41;
};
federated::Parcel make_message(const Sent& sent);

// w = 0.5, -0.25 and b = 0.125 of linear_regression().
NamedValues line_weights();

// Arrays of a reply by name, and one of its records (metrics, settings). Both REQUIRE that
// everything is there.
NamedValues arrays_of(const federated::Parcel& reply, const std::vector<StateInfo>& wanted);
fleet::Record record_of(const federated::Parcel& reply, const std::string& name);
// The value of a record; monostate if it has none.
fleet::Scalar value_of(const fleet::Record& record, const std::string& key);

// A node on line_data(10) that ends after one message, with its notes and reports.
struct LineNode {
  explicit LineNode(FakeSuperlink& to);
  FederatedReport run();

  FakeSuperlink& superlink;
  Model model;
  Dataset data;
  FederatedOptions options;
  std::function<bool()> goes_on = {};
  std::vector<std::string> notes;
  std::vector<FederatedMessage> told;
};

}  // namespace ondine::test
