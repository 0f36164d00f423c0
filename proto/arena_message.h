// A protobuf message in an arena. Without one, protobuf leaks the element of a repeated field when
// memory runs out while it is added.
#pragma once

#include <google/protobuf/arena.h>

namespace ondine {

template <class Message>
class ArenaMessage {
 public:
  ArenaMessage() : message_(google::protobuf::Arena::CreateMessage<Message>(&arena_)) {}

  Message& operator*() const noexcept { return *message_; }
  Message* operator->() const noexcept { return message_; }

 private:
  google::protobuf::Arena arena_;
  Message* message_;
};

}  // namespace ondine
