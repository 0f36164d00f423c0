// A federation node's answers to messages, for callers that carry messages and answers over the
// wire themselves (docs/federated.md). FederatedNode does that for Flower.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <ondine/dataset.h>
#include <ondine/federated.h>
#include <ondine/model.h>

namespace ondine {

// A setting or a metric; std::monostate is one of another kind.
using FederatedValue = std::variant<std::monostate, double, std::int64_t, std::uint64_t, bool,
                                    std::string, std::vector<std::string>>;
using FederatedRecord = std::vector<std::pair<std::string, FederatedValue>>;

struct FederatedRequest {
  std::string type = "train";     // "train", "evaluate" or "query"
  NamedValues arrays = {};        // one for each of FederatedWorker::arrays(); none for a query
  FederatedRecord settings = {};  // "epochs", "learning-rate", ... of docs/federated.md
  // Time limit of the answer; Error(limit) when it takes longer.
  std::optional<std::chrono::milliseconds> time = {};
};

struct FederatedAnswer {
  NamedValues arrays;              // what was trained; none for other requests
  FederatedRecord metrics;         // and "num-examples"
  FederatedRecord config;          // of a query: "runtime", "fingerprint", "arrays"
  std::uint64_t round = 0;         // "server-round" of the settings; 0: not said
  std::vector<std::string> notes;  // settings without effect
};

// A copy of the model and data that answer requests. Every answer starts from the state that the
// model had when the worker was made and from the arrays of the request; none changes the worker.
// One call at a time.
class ONDINE_API FederatedWorker {
 public:
  // Error(mismatch) for options of the connection (`superlink`, `insecure`, `root_certificates`,
  // `private_key`, `checkpoint`, `messages` and the times), which have no effect here, for what a
  // round does not have (FederatedOptions::trainer), and for a model without weights that training
  // updates. Works in builds without libcurl and OpenSSL.
  FederatedWorker(const Model& model, Dataset data, FederatedOptions options = {});
  FederatedWorker(FederatedWorker&&) noexcept;
  FederatedWorker& operator=(FederatedWorker&&) noexcept;
  ~FederatedWorker();

  // The weights that travel: those that a training step updates.
  const std::vector<StateInfo>& arrays() const noexcept;
  // Asked after every step, on the thread of answer(), which throws Error(cancelled) where it
  // returns false.
  void on_wait(std::function<bool()> callback);
  // Error(mismatch) for arrays that are missing, unknown or of another type or shape and for
  // settings out of range, Error(not_finite) for arrays with NaN or infinite numbers and for
  // training that diverges, Error(unsupported) for other types of requests, Error(limit) for more
  // than FederatedOptions::most_epochs.
  FederatedAnswer answer(const FederatedRequest& request);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ondine
