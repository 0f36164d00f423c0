// A protobuf message in an arena. Without one, protobuf leaks the element of a repeated field when
// memory runs out while it is added.
#pragma once

#include <google/protobuf/arena.h>

#include <cstddef>

namespace ondine {

template <class Message>
class ArenaMessage {
 public:
  ArenaMessage()
      : arena_(with_large_blocks()),
        message_(google::protobuf::Arena::CreateMessage<Message>(&arena_)) {}

  Message& operator*() const noexcept { return *message_; }
  Message* operator->() const noexcept { return message_; }

 private:
  // Each block is twice as large as the one before. Large ones are given back to the system; many
  // small ones would lie between what is made of the message, and stay with the process.
  static google::protobuf::ArenaOptions with_large_blocks() {
    google::protobuf::ArenaOptions options;
    options.max_block_size = std::size_t{1} << 20;
    return options;
  }

  google::protobuf::Arena arena_;
  Message* message_;
};

}  // namespace ondine
