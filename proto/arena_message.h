// A message whose parts lie in an arena: nothing leaks when memory runs out inside protobuf,
// whose repeated fields lose an element that they cannot store.
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
