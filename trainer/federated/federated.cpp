#include <ondine/federated.h>

#include <cmath>
#include <ostream>

#include <ondine/printable.h>

#include "core/hidden.h"
#include "core/message.h"
#include "core/out_of_memory.h"
#include "trainer/federated/http_transport.h"
#include "trainer/federated/node.h"

namespace ondine {
namespace {

void require_options(const FederatedOptions& options) {
  if (options.insecure && !options.root_certificates.empty()) {
    fail(ErrorCode::mismatch, "root certificates have no effect without TLS");
  }
  if (options.heartbeat < std::chrono::seconds(1) || options.heartbeat > std::chrono::minutes(30)) {
    fail(ErrorCode::mismatch, "heartbeats must be from 1 second to 30 minutes apart");
  }
  if (options.poll.count() <= 0 || options.timeout.count() <= 0 || options.retry.count() < 0) {
    fail(ErrorCode::mismatch, "the times of a federation must be above 0");
  }
}

federated::NodeKey key_for(const FederatedOptions& options) {
  using federated::NodeKey;
  if (!options.private_key.empty()) return NodeKey::load(options.private_key);
  if (options.checkpoint.empty()) return NodeKey::make();
  return NodeKey::load_or_make(options.checkpoint.string() + ".key");
}

}  // namespace

struct ONDINE_HIDDEN FederatedNode::Impl {
  Impl(Model& trained, Dataset given, FederatedOptions chosen)
      : model(trained),
        data(std::move(given)),
        options(std::move(chosen)),
        key(key_for(options)),
        transport(federated::make_http_transport(
            {options.superlink, options.insecure, options.root_certificates, options.timeout},
            key)),
        node(model, data, options, *transport, key.public_pem(), stop, callbacks) {}

  Model& model;
  Dataset data;
  FederatedOptions options;
  federated::NodeKey key;
  std::unique_ptr<federated::Transport> transport;
  federated::StopFlag stop;
  federated::NodeCallbacks callbacks;
  federated::Node node;
};

FederatedNode::FederatedNode(Model& model, Dataset data, FederatedOptions options) {
  guard_memory("make a node", [&] {
    require_options(options);
    impl_ = std::make_unique<Impl>(model, std::move(data), std::move(options));
  });
}

FederatedNode::FederatedNode(FederatedNode&&) noexcept = default;
FederatedNode& FederatedNode::operator=(FederatedNode&&) noexcept = default;
FederatedNode::~FederatedNode() = default;

void FederatedNode::on_message(std::function<void(const FederatedMessage&)> callback) {
  impl_->callbacks.on_message = std::move(callback);
}
void FederatedNode::on_note(std::function<void(const std::string&)> callback) {
  impl_->callbacks.on_note = std::move(callback);
}
void FederatedNode::on_wait(std::function<bool()> callback) {
  impl_->stop.ask(std::move(callback));
}

FederatedReport FederatedNode::run() {
  return guard_memory("take part in a federation", [&] {
    FederatedReport report = impl_->node.run();
    impl_->stop.reset();
    return report;
  });
}

void FederatedNode::request_stop() noexcept { impl_->stop.request(); }

std::ostream& operator<<(std::ostream& out, const FederatedMessage& message) {
  if (message.round != 0) out << "round " << message.round << ": ";
  out << printable(message.type);
  if (!message.failure.empty()) return out << ", failed: " << printable(message.failure);
  if (!message.metrics.empty()) out << ", " << message.metrics;
  out << " on " << message.examples << " examples";
  const double parts = message.seconds < 1 ? 1000 : 10;  // of a second
  return out << cat(", ", std::round(message.seconds * parts) / parts, " s");
}

}  // namespace ondine
