// The text that tokens make: the decoders of a tokenizer.json.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "trainer/text/tokenizer/json_tree.h"

namespace ondine::text::tokenizer {

using Tokens = std::vector<std::string>;

class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual void run(Tokens& tokens) const = 0;
};

using Decoders = std::vector<std::unique_ptr<const Decoder>>;

// Appends what `json`, a decoder, does, sequences flattened. Errors: see Tokenizer.
void read_decoder(const JsonView& json, Decoders& steps);

}  // namespace ondine::text::tokenizer
