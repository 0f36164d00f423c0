// Regular expressions of RE2's syntax. The only user of RE2.
#pragma once

#include <memory>
#include <string_view>

namespace ondine::kernels {

// Immutable and safe to use from several threads.
class Regex {
 public:
  // Error(invalid_model) for a pattern that RE2 rejects or that needs too much memory,
  // Error(unsupported) in a build without RE2.
  explicit Regex(std::string_view pattern);
  bool matches_all_of(std::string_view text) const;

 private:
  struct Impl;
  std::shared_ptr<const Impl> impl_;
};

}  // namespace ondine::kernels
