#include "trainer/text/generate/text_stream.h"

#include <algorithm>

#include "trainer/text/lossy_utf8.h"

namespace ondine::text {
namespace {

// Decoding longer windows for each token would take quadratic time. Pieces of a word, and the
// space before one, depend on fewer tokens than are kept.
constexpr std::size_t longest_window = 64;
constexpr std::size_t kept_tokens = 16;

// The bytes of a decoded text that later tokens leave as they are: bytes of a character that is
// not whole are U+FFFD in most encodings.
std::string_view settled(std::string_view text) {
  text = text.substr(0, whole_characters(text));
  while (text.ends_with(replacement_character)) text.remove_suffix(replacement_character.size());
  return text;
}

}  // namespace

TextStream::TextStream(TextEncoding encoding, std::span<const std::int64_t> prompt)
    : encoding_(std::move(encoding)), window_(prompt.begin(), prompt.end()) {
  shown_ = lossy_utf8(encoding_.decode(window_));
  borders_.push_back(window_.size());
}

std::string TextStream::add(std::int64_t token) {
  window_.push_back(token);
  const std::string decoded = encoding_.decode(window_);
  const std::string_view whole = settled(decoded);
  std::string text = lossy_utf8(whole);
  if (text.size() < shown_.size() || !text.starts_with(shown_)) return {};
  std::string part = text.substr(shown_.size());
  shown_ = std::move(text);
  if (whole.size() == decoded.size()) {
    borders_.push_back(window_.size());
    if (window_.size() > longest_window) forget();
  }
  return part;
}

void TextStream::forget() {
  const auto after =
      std::upper_bound(borders_.begin(), borders_.end(), window_.size() - kept_tokens);
  if (after == borders_.begin()) return;
  const std::size_t cut = *std::prev(after);
  if (cut == 0) return;
  const std::vector<std::int64_t> rest(window_.begin() + static_cast<std::ptrdiff_t>(cut),
                                       window_.end());
  std::string shown = lossy_utf8(encoding_.decode(rest));
  // Encodings that drop spaces at the beginning of a text must not drop later ones.
  if (shown.find_first_not_of(' ') == std::string::npos) return;
  window_ = rest;
  shown_ = std::move(shown);
  borders_.erase(borders_.begin(), after);
  for (std::size_t& border : borders_) border -= cut;
}

std::string TextStream::finish() {
  const std::string text = lossy_utf8(encoding_.decode(window_));
  if (text.starts_with(shown_)) return text.substr(shown_.size());
  // The bytes at the end made the encoding give up characters before them.
  const std::size_t from = borders_.empty() ? 0 : borders_.back();
  return lossy_utf8(encoding_.decode(std::span(window_).subspan(from)));
}

std::string StopScanner::add(std::string_view part) {
  kept_ += part;
  std::size_t end = std::string::npos;
  for (const std::string& stop : stops_) end = std::min(end, kept_.find(stop));
  if (end != std::string::npos) {
    found_ = true;
    kept_.resize(end);
    return finish();
  }
  std::size_t waiting = 0;
  for (const std::string& stop : stops_) {
    for (std::size_t size = std::min(stop.size() - 1, kept_.size()); size > waiting; --size) {
      if (std::string_view(kept_).ends_with(std::string_view(stop).substr(0, size))) waiting = size;
    }
  }
  std::string free = kept_.substr(0, kept_.size() - waiting);
  kept_.erase(0, free.size());
  return free;
}

std::string StopScanner::finish() { return std::exchange(kept_, {}); }

}  // namespace ondine::text
