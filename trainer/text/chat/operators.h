// Operators of chat templates.
#pragma once

#include <span>
#include <string>

#include "trainer/text/chat/functions.h"

namespace ondine::text::chat {

// Errors name the line: Error(mismatch) for values that the operator does not take.
Value combine(const std::string& sign, const Value& left, const Value& right, int line,
              RenderBudget& budget);
Value negate(const std::string& sign, const Value& value, int line);
// A member by its name or an item by its number; undefined where there is none. Error(mismatch) for
// one of an undefined value.
Value member_of(const Value& value, const Value& key, int line);
// With first, end and step; none: all.
Value slice_of(const Value& value, std::span<const Value> bounds, int line, RenderBudget& budget);

}  // namespace ondine::text::chat
