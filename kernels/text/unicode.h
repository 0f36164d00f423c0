// White space and case conversion for the text operators (StringNormalizer, StringSplit). Bytes
// that are not UTF-8 are left unchanged.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace ondine::kernels {

// Bytes of the white space character at the front of `text`; 0 when there is none.
std::size_t leading_space(std::string_view text) noexcept;

enum class Case { keep, lower, upper };

// Changes case character by character by the rules of a locale of the system. A locale that the
// system does not have means language-independent rules, except for languages with rules of their
// own (Azerbaijani, Lithuanian, Turkish): Error(unsupported).
class CaseChange {
 public:
  explicit CaseChange(const std::string& locale);
  std::string apply(Case wanted, std::string_view text) const;

 private:
  std::shared_ptr<void> locale_;
};

}  // namespace ondine::kernels
