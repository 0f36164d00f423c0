#include "ondine/standard_streams.h"

#include <cerrno>
#include <cstdio>
#include <iostream>
#include <string>
#include <system_error>

#include <ondine/printable.h>

namespace ondine::cli {
namespace {

// Bytes at the end of `text` that may be the beginning of a character.
std::size_t begun_at_end(std::string_view text) {
  for (std::size_t n = 1; n <= std::min<std::size_t>(3, text.size()); ++n) {
    const auto byte = static_cast<unsigned char>(text[text.size() - n]);
    if (byte < 0x80) return 0;
    if (byte >= 0xc0) return n < (byte < 0xe0 ? 2U : byte < 0xf0 ? 3U : 4U) ? n : 0;
  }
  return 0;
}

}  // namespace

class StandardStreams::Escaping final : public std::streambuf {
 public:
  explicit Escaping(std::ostream& stream) : stream_(stream), to_(stream.rdbuf(this)) {}
  ~Escaping() override { stream_.rdbuf(to_); }
  Escaping(const Escaping&) = delete;
  Escaping& operator=(const Escaping&) = delete;

  // Writes the bytes that were held back for the rest of a character, then flushes.
  void finish() {
    put(printable(held_));
    held_.clear();
    stream_.flush();
  }
  // errno of the first write that failed; 0 if none failed or the system gave no reason.
  int error() const noexcept { return error_; }

 protected:
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    held_.append(text, static_cast<std::size_t>(count));
    std::string escaped;
    std::string_view rest = std::string_view(held_).substr(0, held_.size() - begun_at_end(held_));
    const std::size_t taken = rest.size();
    while (!rest.empty()) {
      const std::size_t end = std::min(rest.find_first_of("\n\t"), rest.size());
      escaped += printable(rest.substr(0, end));
      if (end < rest.size()) escaped += rest[end];
      rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    held_.erase(0, taken);
    return put(escaped) ? count : 0;
  }
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    const char one = traits_type::to_char_type(c);
    return xsputn(&one, 1) == 1 ? c : traits_type::eof();
  }
  int sync() override {
    errno = 0;
    const int result = to_->pubsync();
    if (result != 0) note(errno);
    return result;
  }

 private:
  bool put(const std::string& text) {
    const auto count = static_cast<std::streamsize>(text.size());
    errno = 0;
    const bool written = to_->sputn(text.data(), count) == count;
    if (!written) note(errno);
    return written;
  }
  void note(int error) {
    if (error_ == 0) error_ = error;
  }

  std::ostream& stream_;
  std::streambuf* to_;
  std::string held_;
  int error_ = 0;
};

StandardStreams::StandardStreams()
    : out_(std::make_unique<Escaping>(std::cout)), err_(std::make_unique<Escaping>(std::cerr)) {}

StandardStreams::~StandardStreams() = default;

int StandardStreams::finish(int code) {
  out_->finish();
  err_->finish();
  errno = 0;
  const bool lost = std::fflush(stdout) != 0 || std::ferror(stdout) != 0;
  const int error = out_->error() != 0 ? out_->error() : errno;
  if (lost) {
    std::cerr << "ondine: cannot write the standard output"
              << (error == 0 ? "" : ": " + std::generic_category().message(error)) << '\n';
  }
  const bool complete = !lost && std::ferror(stderr) == 0;
  return code == 0 && !complete ? failed : code;
}

}  // namespace ondine::cli
