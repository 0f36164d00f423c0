// Filters, tests, methods and functions of chat templates.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer/text/chat/value.h"

namespace ondine::text::chat {

// Steps and bytes that rendering a template may take: Error(limit) beyond them.
class RenderBudget {
 public:
  void step();
  void charge(std::size_t bytes);

 private:
  std::size_t steps_ = 0;
  std::size_t bytes_ = 0;
};

struct Call {
  std::string name;
  int line = 0;
  std::vector<Value> arguments;  // of a filter or a method the first is what it is applied to
  std::vector<std::pair<std::string, Value>> named;

  // The argument at a position, or of that name; `otherwise` where it is not given.
  Value argument(std::size_t position, std::string_view keyword, Value otherwise) const;
  // Error(mismatch) unless it is a text.
  const std::string& text(std::size_t position, std::string_view what) const;
  // Error(unsupported) for more arguments or named ones that are none of these.
  void allow(std::size_t most, std::initializer_list<std::string_view> keywords = {}) const;
};

// Error(unsupported) naming line and function where it is not known; Error(mismatch) for arguments
// that it cannot take.
Value apply_filter(const Call& call, RenderBudget& budget);
Value call_method(const Call& call, RenderBudget& budget);
Value call_function(const Call& call, RenderBudget& budget);
bool apply_test(const std::string& name, const Value& value, int line);

// As a template shows it. Error(unsupported) for lists and mappings.
std::string shown(const Value& value, int line);
// The characters of a text.
std::vector<std::string_view> characters_of(std::string_view text);

}  // namespace ondine::text::chat
