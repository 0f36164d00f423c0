// Conversations in .jsonl files.
#pragma once

#include <string>

#include <ondine/chat.h>

#include "trainer/data/text/passage.h"

namespace ondine::data {

// The text of a JSON list of messages, objects with a "role" and a "content", whose answers are
// what the template writes for the assistant's messages. Error(corrupt) for what is no such list,
// Error(limit) for more than 1,000 messages, Error(mismatch) where the template refuses them, or
// where the text of the first messages does not begin that of all of them.
Passage passage_of_messages(const std::string& json, const ChatTemplate& chat);
// Up to where the next answer begins.
std::string beginning_of_messages(const std::string& json, const ChatTemplate& chat);

}  // namespace ondine::data
