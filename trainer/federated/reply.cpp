#include "trainer/federated/reply.h"

#include <algorithm>
#include <chrono>

#include <ondine/printable.h>

#include "graph/record/json_value.h"
#include "trainer/federated/arrays.h"

namespace ondine::federated {
namespace {

using graph::JsonValue;

constexpr std::int64_t failed_task = 1;
constexpr std::size_t most_reason = 4096;

// A body that maps names to the ids of objects, over their trees.
fleet::Tree add_list(ObjectStore& to, std::string_view kind,
                     std::vector<std::pair<std::string, fleet::Tree>> entries) {
  JsonValue list = JsonValue::object();
  std::vector<fleet::Tree> children;
  for (auto& [name, tree] : entries) {
    list.names.push_back(name);
    list.items.push_back(JsonValue::of(tree.id));
    const bool is_new = std::none_of(children.begin(), children.end(),
                                     [&](const fleet::Tree& one) { return one.id == tree.id; });
    if (is_new) children.push_back(std::move(tree));
  }
  return to.add(kind, std::move(children), graph::dump(list));
}

fleet::Metadata metadata_of(const fleet::Metadata& to) {
  fleet::Metadata metadata;
  metadata.run = to.run;
  metadata.source = to.destination;
  metadata.destination = to.source;
  metadata.reply_to = to.id;
  metadata.group = to.group;
  metadata.type = to.type;
  metadata.created = seconds_now();
  metadata.seconds_to_live = to.created + to.seconds_to_live - metadata.created;
  metadata.source_task = to.destination_task;
  metadata.destination_task = to.source_task;
  return metadata;
}

Parcel finish(fleet::Message message, ObjectStore store, std::vector<fleet::Tree> children) {
  message.metadata.id =
      store.add("Message", std::move(children), fleet::message_bytes(message, true)).id;
  return {std::move(message), std::move(store).take()};
}

}  // namespace

double seconds_now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// A time that is NaN is over.
bool is_late(const fleet::Metadata& message) {
  return !(message.created + message.seconds_to_live > seconds_now());
}

Parcel make_reply(const fleet::Metadata& to, const ReplyContent& content) {
  ObjectStore store;
  std::vector<std::pair<std::string, fleet::Tree>> records;
  if (!content.arrays_name.empty()) {
    std::vector<std::pair<std::string, fleet::Tree>> arrays;
    for (const auto& [name, value] : content.arrays) {
      arrays.emplace_back(name, add_array(store, value.tensor()));
    }
    records.emplace_back(content.arrays_name, add_list(store, "ArrayRecord", std::move(arrays)));
  }
  records.emplace_back("metrics",
                       store.add("MetricRecord", {}, fleet::record_bytes(content.metrics)));
  if (!content.config.empty()) {
    records.emplace_back("config",
                         store.add("ConfigRecord", {}, fleet::record_bytes(content.config)));
  }
  std::vector<fleet::Tree> children{add_list(store, "RecordDict", std::move(records))};
  return finish({metadata_of(to)}, std::move(store), std::move(children));
}

Parcel make_failure(const fleet::Metadata& to, const std::string& reason) {
  fleet::Message message{metadata_of(to)};
  message.failure = fleet::Failure{failed_task, printable(reason.substr(0, most_reason))};
  return finish(std::move(message), {}, {});
}

}  // namespace ondine::federated
