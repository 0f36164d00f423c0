// A message whose parts lie in an arena: nothing is lost when memory runs out within protobuf,
// whose repeated fields forget an element that they have no room for.
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
