#include "trainer/text/tokenizer/behavior.h"

#include "core/message.h"

namespace ondine::text::tokenizer {

Behavior read_behavior(const JsonView& json) {
  const std::string_view name = json.text();
  if (name == "Removed") return Behavior::removed;
  if (name == "Isolated") return Behavior::isolated;
  if (name == "MergedWithPrevious") return Behavior::merged_with_previous;
  if (name == "MergedWithNext") return Behavior::merged_with_next;
  if (name == "Contiguous") return Behavior::contiguous;
  fail(ErrorCode::unsupported, quoted(json.path()), " ", quoted(name), " is not known");
}

// Whether a part becomes one with the part before it.
bool Splitter::joins(bool is_match) const {
  if (!has_open_) return false;
  switch (behavior_) {
    case Behavior::merged_with_previous:
      return is_match && !was_match_;
    case Behavior::merged_with_next:
      return !is_match && was_match_;
    case Behavior::contiguous:
      return is_match == was_match_;
    case Behavior::removed:
    case Behavior::isolated:
      break;
  }
  return false;
}

void Splitter::add(std::size_t begin, std::size_t end, bool is_match) {
  if (behavior_ == Behavior::removed && is_match) return flush();
  if (!joins(is_match)) {
    flush();
    has_open_ = true;
    begin_ = begin;
  }
  end_ = end;
  was_match_ = is_match;
}

void Splitter::flush() {
  if (has_open_ && end_ > begin_) {
    to_->take(text_.substr(begin_, end_ - begin_), is_first_ && begin_ == 0);
  }
  has_open_ = false;
}

}  // namespace ondine::text::tokenizer
