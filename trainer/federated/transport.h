// How bytes reach a SuperLink and come back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <ondine/error.h>

namespace ondine::federated {

struct Answer {
  int status = 0;  // of HTTP
  std::string body = {};
};

class Transport {
 public:
  virtual ~Transport() = default;
  // Posts the body to /v1/fleet/NAME. Error(io) where no whole answer came in time, Error(limit)
  // for an answer of more than `most` bytes. Any number of threads may call it.
  virtual Answer post(std::string_view name, const std::string& body, std::uint64_t most) = 0;
};

// Error that keeps a node from talking to the SuperLink, as opposed to an error in a message.
class LinkError final : public Error {
 public:
  enum class Kind : std::uint8_t {
    unreachable,  // there was no answer for as long as a node tries
    refused,      // the SuperLink said no
    interrupted,  // the node is to end
  };

  LinkError(Kind kind, ErrorCode code, std::string message, int status = 0, std::string answer = {})
      : Error(code, std::move(message)), kind_(kind), status_(status), answer_(std::move(answer)) {}

  Kind kind() const noexcept { return kind_; }
  int status() const noexcept { return status_; }  // of a refusal
  const std::string& answer() const noexcept { return answer_; }

 private:
  Kind kind_;
  int status_;
  std::string answer_;
};

}  // namespace ondine::federated
