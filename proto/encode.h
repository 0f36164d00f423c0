// Encodes protobuf messages.
#pragma once

#include <cstddef>
#include <vector>

namespace google::protobuf {
class MessageLite;
}

namespace ondine {

// Throws Error(limit) for 2 GiB or more.
std::vector<std::byte> encode(const google::protobuf::MessageLite& message);

}  // namespace ondine
