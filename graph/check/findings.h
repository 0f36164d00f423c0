// Everything that is wrong with a model, collected so that one error can tell it all.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "core/message.h"

namespace ondine::graph {

class Findings {
 public:
  // Keeps the text of the first `most` findings and counts the others.
  explicit Findings(std::size_t most = 100) : most_(most) {}

  // Text from the model only through quoted().
  template <class... Parts>
  void add(ErrorCode code, const Parts&... parts) {
    count(code);
    if (count_ <= most_) texts_.push_back(cat(parts...));
  }
  // Message and context in one line.
  void add(const Error& error);

  // Runs `body` and turns an Error about the model into a finding; io, cancelled and internal
  // errors pass through. False when there was one.
  template <class Body>
  bool collect(Body&& body) {
    try {
      body();
      return true;
    } catch (const Error& error) {
      if (!about_model(error.code())) throw;
      add(error);
      return false;
    }
  }

  bool empty() const noexcept { return count_ == 0; }
  std::size_t count() const noexcept { return count_; }
  // One line each; the last one says how many more there are, if there are.
  std::vector<std::string> texts() const;
  // One Error with all lines. Its code is the gravest: a broken rule of the standard comes before a
  // limit, and a limit before something that is merely not supported.
  void throw_if_any() const;

 private:
  static bool about_model(ErrorCode code) noexcept;
  void count(ErrorCode code) noexcept;

  std::size_t most_;
  std::size_t count_ = 0;
  std::vector<std::string> texts_;
  ErrorCode gravest_ = ErrorCode::unsupported;
};

}  // namespace ondine::graph
