// Building error messages.
#pragma once

#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>

#include <ondine/dtype.h>
#include <ondine/error.h>
#include <ondine/shape.h>

namespace ondine {

namespace message {
inline void append(std::string& out, std::string_view text) { out += text; }
inline void append(std::string& out, char c) { out += c; }
void append(std::string& out, double value);
inline void append(std::string& out, DType dtype) { out += to_string(dtype); }
inline void append(std::string& out, const Shape& shape) { out += shape.to_string(); }
void append_integer(std::string& out, std::int64_t value);
void append_integer(std::string& out, std::uint64_t value);
template <std::integral T>
void append(std::string& out, T value) {
  using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
  append_integer(out, static_cast<Wide>(value));
}
}  // namespace message

// Concatenation of text, numbers, dtypes and shapes.
template <class... Parts>
std::string cat(const Parts&... parts) {
  std::string out;
  (message::append(out, parts), ...);
  return out;
}

template <class... Parts>
[[noreturn]] void fail(ErrorCode code, const Parts&... parts) {
  throw Error(code, cat(parts...));
}

// Text from a model or a file, for use in messages: quoted, control characters escaped, shortened.
std::string quoted(std::string_view text);
// Exact matches, so that overload resolution never picks std::quoted.
inline std::string quoted(const std::string& text) { return quoted(std::string_view(text)); }
inline std::string quoted(std::string& text) { return quoted(std::string_view(text)); }

// Runs `body`; an Error that leaves it gets the frame that `frame()` returns.
template <class Body, class Frame>
decltype(auto) with_context(Body&& body, Frame&& frame) {
  try {
    return body();
  } catch (Error& error) {
    error.add_context(frame());
    throw;
  }
}

}  // namespace ondine
