// Findings: collects all defects of a model, to be reported as one error.
#pragma once

#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "core/message.h"

namespace ondine::graph {

// Treatment of violations that do not keep a model from being used.
enum class Rigor { strict, lenient };

class Findings {
 public:
  // Keeps the text of the first `max_texts` findings and counts the others.
  explicit Findings(std::size_t max_texts = 100) : max_texts_(max_texts) {}
  explicit Findings(Rigor rigor) : rigor_(rigor) {}

  // Strings from the model must go through quoted().
  template <class... Parts>
  void add(ErrorCode code, const Parts&... parts) {
    count(code);
    if (count_ <= max_texts_) texts_.push_back(cat(parts...));
  }
  // Puts message and context in one line.
  void add(const Error& error);
  // Unless it is known, as from a graph that is part of several.
  void add_once(const Error& error);
  // A finding when strict, otherwise a warning.
  template <class... Parts>
  void warn(ErrorCode code, const Parts&... parts) {
    if (rigor_ == Rigor::strict) {
      add(code, parts...);
    } else {
      keep_warning(cat(parts...));
    }
  }
  void warn(const Error& error);
  Rigor rigor() const noexcept { return rigor_; }
  // Each once, at most as many as findings.
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }

  // Runs `body`. Turns an Error about the model into a finding and returns false; io, cancelled and
  // internal errors propagate.
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
  // One line per finding; if some were dropped, a last line with their number.
  std::vector<std::string> texts() const;
  // Throws one Error with all lines and the gravest code: violations of the standard before limits,
  // limits before unsupported features.
  void throw_if_any() const;

 private:
  static bool about_model(ErrorCode code) noexcept;
  void keep_warning(std::string text);
  void count(ErrorCode code) noexcept;

  Rigor rigor_ = Rigor::strict;
  std::size_t max_texts_ = 100;
  std::size_t count_ = 0;
  std::vector<std::string> texts_;
  std::vector<std::string> warnings_;
  ErrorCode gravest_ = ErrorCode::unsupported;
};

}  // namespace ondine::graph
