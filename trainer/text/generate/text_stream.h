// The text of tokens that come one after the other, in parts that do not change any more.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ondine/text.h>

namespace ondine::text {

// The parts together are what the encoding decodes of all tokens behind the prompt, with U+FFFD for
// bytes that make no character, as long as later tokens do not change the text of whole characters.
class TextStream {
 public:
  TextStream(TextEncoding encoding, std::span<const std::int64_t> prompt);

  // The whole characters that this token completes; the bytes of one that it begins wait.
  std::string add(std::int64_t token);
  // Text of the bytes that wait.
  std::string finish();

 private:
  void forget();

  TextEncoding encoding_;
  std::vector<std::int64_t> window_;  // the last tokens, enough to decode what follows
  std::string shown_;                 // of the window
  std::vector<std::size_t> borders_;  // sizes of the window that ended with a whole character
};

// A text up to the first of some stop texts; keeps what one could begin with.
class StopScanner {
 public:
  explicit StopScanner(std::span<const std::string> stops) : stops_(stops) {}

  // The part of the text that no stop text can take any more.
  std::string add(std::string_view part);
  bool found() const noexcept { return found_; }
  // At the end of the text: the part that is left.
  std::string finish();

 private:
  std::span<const std::string> stops_;
  std::string kept_;
  bool found_ = false;
};

}  // namespace ondine::text
