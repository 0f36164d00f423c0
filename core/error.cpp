#include <ondine/error.h>

#include <utility>

namespace ondine {

const char* to_string(ErrorCode code) noexcept {
  switch (code) {
    case ErrorCode::invalid_model:
      return "invalid_model";
    case ErrorCode::unsupported:
      return "unsupported";
    case ErrorCode::mismatch:
      return "mismatch";
    case ErrorCode::corrupt:
      return "corrupt";
    case ErrorCode::io:
      return "io";
    case ErrorCode::limit:
      return "limit";
    case ErrorCode::cancelled:
      return "cancelled";
    case ErrorCode::internal:
      return "internal";
    case ErrorCode::not_finite:
      return "not_finite";
    case ErrorCode::not_found:
      return "not_found";
    case ErrorCode::exists:
      return "exists";
    case ErrorCode::invalid_option:
      return "invalid_option";
  }
  return "internal";
}

Error::Error(ErrorCode code, std::string message)
    : code_(code), message_(std::move(message)), what_(message_) {}

Error::Error(const Error&) = default;
Error::Error(Error&&) noexcept = default;
Error& Error::operator=(const Error&) = default;
Error& Error::operator=(Error&&) noexcept = default;
Error::~Error() = default;

void Error::add_context(std::string frame) {
  if (!context_.empty() && context_.back() == frame) return;
  what_ += "\n  in " + frame;
  context_.push_back(std::move(frame));
}

}  // namespace ondine
