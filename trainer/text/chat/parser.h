// Chat templates as trees.
#pragma once

#include <string_view>

#include "trainer/text/chat/syntax.h"

namespace ondine::text::chat {

// Error(corrupt) for what is no template, Error(unsupported) for a part of Jinja that is not known,
// Error(limit) for tags or expressions nested more than 64 deep and for more than 1 MB; all but the
// last name the line.
Block parse_template(std::string_view text);

}  // namespace ondine::text::chat
