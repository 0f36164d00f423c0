// A node of a federation: it trains on its own data with the weights that a SuperLink of Flower
// sends, and sends back the trained weights and nothing else (docs/federated.md).
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <ondine/dataset.h>
#include <ondine/export.h>
#include <ondine/limits.h>
#include <ondine/model.h>
#include <ondine/trainer.h>

namespace ondine {

// Names in replies, and the metrics that go under them.
using ReplyMetrics = std::vector<std::pair<std::string, std::string>>;

struct FederatedOptions {
  std::string superlink = {};  // "HOST:PORT"
  bool insecure = false;       // HTTP without TLS
  // Certificates in PEM that the SuperLink's must follow from, instead of those of the system.
  std::filesystem::path root_certificates = {};
  // ECDSA on P-384 or P-256, in PEM. Empty: CHECKPOINT.key, which is made with CHECKPOINT.key.pub
  // when it is not there; without a checkpoint a key for one run.
  std::filesystem::path private_key = {};
  // Holds the model after each message; beside it lie the key, the message that is worked on and
  // the reply until it is sent, so that a node that was killed finishes its round. Empty: nothing
  // is kept.
  std::filesystem::path checkpoint = {};
  std::uint64_t messages = 0;  // the node ends after it answered this many; 0: it goes on
  std::chrono::milliseconds poll = std::chrono::seconds(1);        // between questions for messages
  std::chrono::milliseconds timeout = std::chrono::seconds(60);    // of one call
  std::chrono::milliseconds retry = std::chrono::minutes(10);      // an absent SuperLink
  std::chrono::milliseconds heartbeat = std::chrono::seconds(30);  // from 1 s to 30 minutes
  // The SuperLink cannot ask for more epochs than these in one round.
  std::uint64_t most_epochs = 1000;
  // Empty: all metrics under their own names. Aggregation needs the same names of every node.
  ReplyMetrics train_metrics = {};
  ReplyMetrics evaluate_metrics = {};
  // Training options that no message gives. Error(mismatch) for `checkpoint`, `resume`, `log_dir`,
  // `report`, `early_stopping` and the options that belong to them.
  TrainerOptions trainer = {};
  // Limits of the data that the SuperLink sends.
  Limits limits = {};
};

// A message that was answered.
struct FederatedMessage {
  std::string type;         // "train", "evaluate" or "query"
  std::string group;        // what the server groups messages by, often the round
  std::uint64_t run = 0;    // of the server
  std::uint64_t round = 0;  // "server-round" of its settings; 0: not said
  std::string failure;      // why the reply is an error; empty where it is none
  Metrics metrics;          // of the reply
  std::uint64_t examples = 0;
  double seconds = 0;
};
// "round 2: train, loss 0.25 on 600 examples, 1.5 s"
ONDINE_API std::ostream& operator<<(std::ostream& out, const FederatedMessage& message);

struct FederatedReport {
  std::uint64_t answered = 0;  // messages, those with an error reply included
  std::uint64_t failed = 0;    // of them, with an error reply
  std::uint64_t refused = 0;   // messages without a reply: replayed, late, for another node
  bool stopped = false;        // by request_stop() or on_wait's callback
};

// The model and what it keeps of earlier rounds: every round starts from the optimizer state, the
// counters and the frozen weights that the model had at first, and from the weights of the message.
// Model, data and options tell the result of a round, so that one that is begun again ends with the
// same bits. A message that does not fit is answered with an error that says why and changes
// nothing.
class ONDINE_API FederatedNode {
 public:
  // `model` must outlive the node; nothing else may use it while run() does. Error(unsupported) in
  // builds without libcurl and OpenSSL.
  FederatedNode(Model& model, Dataset data, FederatedOptions options);
  FederatedNode(Model&& model, Dataset data, FederatedOptions options) = delete;
  FederatedNode(FederatedNode&&) noexcept;
  FederatedNode& operator=(FederatedNode&&) noexcept;
  ~FederatedNode();

  // Callbacks run on the thread of run().
  void on_message(std::function<void(const FederatedMessage&)> callback);
  // Passes on notes for a person: refused messages, settings without effect, a SuperLink that was
  // away.
  void on_note(std::function<void(const std::string&)> callback);
  // Asked after every step and while waiting; the node ends where it returns false.
  void on_wait(std::function<bool()> callback);

  // Joins the federation and answers messages until it is stopped or has answered
  // FederatedOptions::messages. Afterwards the model has the weights of the last message: those
  // that it was sent for evaluation, or what it trained. Error(io) for a SuperLink that does not
  // answer for FederatedOptions::retry, Error(mismatch) where it refuses the node.
  FederatedReport run();
  // From any thread or a signal handler: run() ends before the next step, or when the call that it
  // waits for has an answer. A round that was begun is done again by the next run with the same
  // checkpoint.
  void request_stop() noexcept;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ondine
