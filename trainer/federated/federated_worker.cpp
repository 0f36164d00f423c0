#include <ondine/federated_worker.h>

#include <algorithm>
#include <limits>
#include <set>
#include <string_view>

#include "core/hidden.h"
#include "core/message.h"
#include "core/out_of_memory.h"
#include "trainer/federated/worker.h"

namespace ondine {
namespace {

// Options that only a node has.
void require_no_connection(const FederatedOptions& options) {
  const FederatedOptions none;
  const std::pair<bool, std::string_view> given[] = {
      {!options.superlink.empty(), "superlink"},
      {options.insecure, "insecure"},
      {!options.root_certificates.empty(), "root-certificates"},
      {!options.private_key.empty(), "private-key"},
      {!options.checkpoint.empty(), "checkpoint"},
      {options.messages != 0, "messages"},
      {options.poll != none.poll, "poll"},
      {options.timeout != none.timeout, "timeout"},
      {options.retry != none.retry, "retry"},
      {options.heartbeat != none.heartbeat, "heartbeat"}};
  for (const auto& [is_given, name] : given) {
    if (!is_given) continue;
    fail(ErrorCode::mismatch, "option ", quoted(name),
         " is one of a connection and has no effect without it");
  }
}

NamedValues checked(const NamedValues& arrays, const std::vector<StateInfo>& wanted) {
  std::set<std::string> names;
  for (const NamedValue& one : arrays) names.insert(one.first);
  federated::require_names(wanted, std::move(names));
  NamedValues result;
  for (const StateInfo& one : wanted) {
    const auto found = std::find_if(arrays.begin(), arrays.end(),
                                    [&](const NamedValue& a) { return a.first == one.name; });
    try {
      federated::require_array(found->second, one);
    } catch (const Error& error) {
      fail(error.code(), "array ", quoted(one.name), ": ", error.message());
    }
    result.push_back(*found);
  }
  return result;
}

// One that is late when the time of the request is over.
fleet::Metadata metadata_of(const FederatedRequest& request) {
  fleet::Metadata metadata;
  metadata.type = request.type;
  metadata.created = federated::seconds_now();
  metadata.seconds_to_live = request.time ? std::chrono::duration<double>(*request.time).count()
                                          : std::numeric_limits<double>::infinity();
  return metadata;
}

}  // namespace

struct ONDINE_HIDDEN FederatedWorker::Impl {
  Impl(const Model& model, const Dataset& data, FederatedOptions chosen)
      : options(std::move(chosen)), worker(model, data, options, stop) {}

  FederatedOptions options;
  federated::StopFlag stop;
  federated::Worker worker;
};

FederatedWorker::FederatedWorker(const Model& model, Dataset data, FederatedOptions options) {
  guard_memory("make a worker", [&] {
    require_no_connection(options);
    impl_ = std::make_unique<Impl>(model, data, std::move(options));
  });
}

FederatedWorker::FederatedWorker(FederatedWorker&&) noexcept = default;
FederatedWorker& FederatedWorker::operator=(FederatedWorker&&) noexcept = default;
FederatedWorker::~FederatedWorker() = default;

const std::vector<StateInfo>& FederatedWorker::arrays() const noexcept {
  return impl_->worker.wanted();
}

void FederatedWorker::on_wait(std::function<bool()> callback) {
  impl_->stop.ask(std::move(callback));
}

FederatedAnswer FederatedWorker::answer(const FederatedRequest& request) {
  return guard_memory("answer a request", [&] {
    federated::Instruction instruction;
    instruction.task = federated::task_of(request.type);
    instruction.config = request.settings;
    if (instruction.task != federated::Task::query) {
      instruction.arrays = checked(request.arrays, impl_->worker.wanted());
    }
    impl_->stop.reset();
    federated::TaskResult result = impl_->worker.run(instruction, metadata_of(request));
    return FederatedAnswer{std::move(result.content.arrays), std::move(result.content.metrics),
                           std::move(result.content.config), result.round, std::move(result.notes)};
  });
}

}  // namespace ondine
