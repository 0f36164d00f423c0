// Rendering of chat templates.
#pragma once

#include <string>

#include "trainer/text/chat/functions.h"
#include "trainer/text/chat/syntax.h"

namespace ondine::text::chat {

// The text that the template makes of the variables. Error(mismatch) naming the line where a value
// is not what an operator takes, and with its message where raise_exception is called;
// Error(unsupported) naming the line for a function that is not known; Error(limit) for more than
// 10 million steps or 256 MB of text.
std::string render(const Block& block, Map variables);

}  // namespace ondine::text::chat
