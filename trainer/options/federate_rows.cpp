// FederatedOptions.
#include "trainer/options/groups.h"
#include "trainer/options/parse.h"

namespace ondine::options {
namespace {

using Federate = Rows<FederatedOptions>;
using Milliseconds = std::chrono::milliseconds;

void add_metrics(ReplyMetrics& to, const Given& given) {
  for (const std::string& text : given.texts()) {
    to.push_back(name_and_value(text, given.option(), {}));
  }
}

void add_connection(Federate& rows) {
  rows.heading("Federation");
  rows.text("superlink", "HOST:PORT", "SuperLink of Flower that the node joins",
            [](FederatedOptions& to, const Given& given) { to.superlink = given.text(); });
  rows.flag("insecure", "Use HTTP, without encryption",
            [](FederatedOptions& to, bool value) { to.insecure = value; });
  rows.text("root-certificates", "FILE",
            "Certificates in PEM that the SuperLink's must follow from; those of the system if "
            "absent",
            [](FederatedOptions& to, const Given& given) { to.root_certificates = given.text(); })
      .excludes("insecure");
  rows.text("private-key", "FILE",
            "Key of the node in PEM, ECDSA on P-384 or P-256; CHECKPOINT.key, made when it is not "
            "there, if absent",
            [](FederatedOptions& to, const Given& given) { to.private_key = given.text(); });
  rows.text("checkpoint", "FILE",
            "Holds the model after each message; key, message and reply lie beside it, so that a "
            "node that was killed finishes its round",
            [](FederatedOptions& to, const Given& given) { to.checkpoint = given.text(); })
      .letter('c');
  rows.integer("messages", "N", "End after answering this many messages",
               [](FederatedOptions& to, std::int64_t value) {
                 to.messages = static_cast<std::uint64_t>(value);
               })
      .from(1);
}

void add_rounds(Federate& rows) {
  rows.heading("Rounds");
  rows.text("train-metric", "NAME=METRIC",
            "A metric of training that replies have, and its name there; all of them if absent",
            [](FederatedOptions& to, const Given& given) { add_metrics(to.train_metrics, given); })
      .repeats();
  rows.text(
          "evaluate-metric", "NAME=METRIC", "The same for metrics of evaluations",
          [](FederatedOptions& to, const Given& given) { add_metrics(to.evaluate_metrics, given); })
      .repeats();
  rows.integer("most-epochs", "N", "Refuse rounds of more epochs",
               [](FederatedOptions& to, std::int64_t value) {
                 to.most_epochs = static_cast<std::uint64_t>(value);
               })
      .from(1)
      .by_default("1000");
}

void add_times(Federate& rows) {
  rows.heading("Times");
  rows.duration("retry", "How long the node tries to reach a SuperLink that does not answer",
                [](FederatedOptions& to, Milliseconds value) { to.retry = value; })
      .by_default("10m");
  rows.duration("timeout", "Time that one call may take",
                [](FederatedOptions& to, Milliseconds value) { to.timeout = value; })
      .by_default("60s");
  rows.duration("poll", "Time between two questions for messages",
                [](FederatedOptions& to, Milliseconds value) { to.poll = value; })
      .by_default("1s")
      .rare();
  rows.duration("heartbeat", "Time between two signs of life, from 1s to 30m",
                [](FederatedOptions& to, Milliseconds value) { to.heartbeat = value; })
      .by_default("30s")
      .rare();
}

Federate make_federate_rows() {
  Federate rows(OptionGroup::federate);
  add_connection(rows);
  add_rounds(rows);
  add_times(rows);
  return rows;
}

}  // namespace

const Rows<FederatedOptions>& federate_rows() {
  static const Federate rows = make_federate_rows();
  return rows;
}

}  // namespace ondine::options
