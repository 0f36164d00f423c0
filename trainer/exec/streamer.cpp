#include "trainer/exec/streamer.h"

namespace ondine::trainer {

Streamer::Streamer(const Streaming& streaming)
    : streaming_(&streaming), held_(streaming.constants.size(), false) {
  // Releases the parts of the constants that have been read so far.
  for (const StreamedConstant& constant : streaming.constants) {
    constant.file->release(constant.stored);
  }
}

void Streamer::enter(std::size_t node) noexcept {
  if (node == 0) {
    drop_all();
    next_ = 0;
  }
  const auto& events = streaming_->events;
  for (; next_ < events.size() && events[next_].node <= node; ++next_) {
    const std::size_t c = events[next_].constant;
    const StreamedConstant& constant = streaming_->constants[c];
    switch (events[next_].kind) {
      case StreamEvent::Kind::drop:
        drop(c);
        break;
      case StreamEvent::Kind::announce:
        constant.file->announce(constant.stored);
        break;
      case StreamEvent::Kind::hold:
        if (constant.copy != nullptr) constant.copy->hold();
        held_[c] = true;
        break;
    }
  }
}

void Streamer::drop(std::size_t c) noexcept {
  const StreamedConstant& constant = streaming_->constants[c];
  held_[c] = false;
  if (constant.copy != nullptr) {
    constant.copy->drop();
  } else {
    constant.file->release(constant.stored);
  }
}

void Streamer::drop_all() noexcept {
  for (std::size_t c = 0; c < held_.size(); ++c) {
    if (held_[c]) drop(c);
  }
}

}  // namespace ondine::trainer
