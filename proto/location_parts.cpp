#include "proto/location_parts.h"

#include <algorithm>

#include "core/message.h"

namespace ondine {

std::vector<std::string> location_parts(const std::string& location) {
  const auto reject = [&](const char* why) {
    fail(ErrorCode::invalid_model, "location ", quoted(location), " ", why);
  };
  if (location.empty()) reject("is empty");
  if (location.find('\0') != std::string::npos) reject("has a zero byte");
  if (location.front() == '/') reject("is absolute; it must be relative to the model's folder");
  std::vector<std::string> parts;
  std::size_t start = 0;
  while (start <= location.size()) {
    const std::size_t end = std::min(location.find('/', start), location.size());
    const std::string part = location.substr(start, end - start);
    if (part == "..") reject("leaves the model's folder");
    if (!part.empty() && part != ".") parts.push_back(part);
    start = end + 1;
  }
  if (parts.empty() || location.back() == '/') reject("does not name a file");
  return parts;
}

}  // namespace ondine
