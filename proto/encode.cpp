#include "proto/encode.h"

#include <google/protobuf/message_lite.h>

#include <limits>

#include "core/message.h"

namespace ondine {

std::vector<std::byte> encode(const google::protobuf::MessageLite& message) {
  const std::size_t size = message.ByteSizeLong();
  constexpr std::size_t largest = std::numeric_limits<int>::max();
  if (size > largest) {
    fail(ErrorCode::limit, "a message of ", size, " bytes: the format ends at ", largest);
  }
  std::vector<std::byte> bytes(size);
  if (!message.SerializeToArray(bytes.data(), static_cast<int>(size))) {
    fail(ErrorCode::internal, "a message of ", size, " bytes could not be written");
  }
  return bytes;
}

}  // namespace ondine
