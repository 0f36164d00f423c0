// Characters replaced before a text is cut into words: the normalizers of a tokenizer.json.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/text/tokenizer/json_tree.h"

namespace ondine::text::tokenizer {

// A text that normalizers change.
struct NormalText {
  std::string text;
  bool has_first = true;  // its first character comes from the first one of the source
};

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  virtual void run(NormalText& text) const = 0;
};

using Normalizers = std::vector<std::unique_ptr<const Normalizer>>;

// Appends what `json`, a normalizer, does, sequences flattened. Errors: see Tokenizer.
void read_normalizer(const JsonView& json, Normalizers& steps);

// Error(limit) where the steps make more of a text than those of a language do.
void normalize(const Normalizers& steps, NormalText& text);

}  // namespace ondine::text::tokenizer
