// Model of a tokenizer.json, which cuts words into tokens.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "trainer/text/tokenizer/json_tree.h"
#include "trainer/text/tokenizer/vocabulary.h"

namespace ondine::text::tokenizer {

using Ids = std::vector<std::int64_t>;

// Immutable.
class Model {
 public:
  virtual ~Model() = default;
  // Memory that calls one after the other use again.
  struct Scratch {
    virtual ~Scratch() = default;
  };
  virtual std::unique_ptr<Scratch> make_scratch() const { return std::make_unique<Scratch>(); }

  // Appends the ids of a word, which is not empty. Error(mismatch) for a word with what no token
  // stands for, where the model has no token for the unknown.
  virtual void append(std::string_view word, Scratch& scratch, Ids& ids) const = 0;
  virtual const Vocabulary& vocabulary() const noexcept = 0;
  virtual Id unknown() const noexcept = 0;  // may be none
  // Whether a text can be cut before each run of U+2581 after another character, since no token
  // lies across.
  virtual bool stays_in_words() const noexcept { return false; }
};

// Errors: see Tokenizer.
std::unique_ptr<const Model> read_model(const JsonView& json);

std::unique_ptr<const Model> make_bpe(const JsonView& json);
std::unique_ptr<const Model> make_wordpiece(const JsonView& json);
std::unique_ptr<const Model> make_unigram(const JsonView& json);

}  // namespace ondine::text::tokenizer
