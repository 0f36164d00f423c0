// Replies of a node.
#pragma once

#include <optional>
#include <string>

#include <ondine/trainer.h>

#include "trainer/federated/objects.h"

namespace ondine::federated {

// The records of a reply.
struct ReplyContent {
  std::string arrays_name = {};  // empty: no arrays
  NamedValues arrays = {};
  fleet::Record metrics = {};
  fleet::Record config = {};  // empty: none
};

// Seconds since 1970.
double seconds_now();
// Whether the time of a message is over.
bool is_late(const fleet::Metadata& message);

// The reply to a message; it ends when the message does.
Parcel make_reply(const fleet::Metadata& to, const ReplyContent& content);
Parcel make_failure(const fleet::Metadata& to, const std::string& reason);

}  // namespace ondine::federated
