// Texts that a causal language model writes, token by token, with the key-value cache of its file.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ondine/chat.h>
#include <ondine/export.h>
#include <ondine/model.h>
#include <ondine/text.h>

namespace ondine {

// How a token is chosen: repeat_penalty, temperature, top_k, top_p and min_p change the scores in
// this order, each the result of the one before; a token is then drawn from their softmax. The
// smaller id comes first among tokens with equal scores. docs/generate.md has the formulas.
struct GenerateOptions {
  std::uint64_t max_tokens = 100;
  // Divides the scores; 0 takes the token with the largest score each time, and nothing is drawn:
  // top_k, top_p, min_p and seed are then an Error(invalid_option).
  double temperature = 1;
  std::optional<std::int64_t> top_k = {};  // the K tokens with the largest scores, at least 1
  // The fewest tokens whose probabilities add up to at least this, above 0 and at most 1.
  std::optional<double> top_p = {};
  // Tokens with at least this share of the largest probability, 0 to 1.
  std::optional<double> min_p = {};
  // Scores of tokens that the prompt or the text has are divided by it where they are positive and
  // multiplied by it where they are negative; above 0.
  std::optional<double> repeat_penalty = {};
  // The text ends before the first of these that it would have; none is empty.
  std::vector<std::string> stop = {};
  // Goes on after tokens that end a text (TextEncoding::end_ids).
  bool ignore_end = false;
  std::optional<std::uint64_t> seed = {};  // of the random choice; 0 if absent
  // Nothing: as text_options(model) says.
  std::optional<TextEncoding> encoding = {};
  // Jinja text of the template of conversations, for answer(); empty: as text_options(model) says.
  std::string chat_template = {};
};

// Why a text ended.
enum class GenerateEnd : std::uint8_t {
  max_tokens,
  end_token,  // which the report's tokens have as the last one
  stop_text,
  callback,  // it returned false
  context,   // as many tokens as the model's data record allows (DataRecord::Text)
};
// The enumerator's name. Static storage.
ONDINE_API const char* to_string(GenerateEnd end) noexcept;

// Where keys and values of earlier tokens come from.
enum class GenerateCache : std::uint8_t {
  none,   // computed again for each token
  exact,  // inputs and outputs of the model, which grow with each token
  // Inputs and outputs with room for the tokens to come, which the attention mask hides: a plan
  // serves many tokens.
  padded,
};
// The enumerator's name. Static storage.
ONDINE_API const char* to_string(GenerateCache cache) noexcept;

struct GenerateReport {
  std::string text;                  // what was written, without the prompt and the stop text
  std::vector<std::int64_t> tokens;  // that were chosen, those of a stop text included
  std::uint64_t prompt_tokens = 0;
  // Time for reading the prompt up to the first choice, and time for all further steps.
  double prefill_seconds = 0;
  double decode_seconds = 0;
  GenerateEnd end = GenerateEnd::max_tokens;
  GenerateCache cache = GenerateCache::none;  // of the last step
  std::string no_cache;                       // why there is none; else empty
  // What limited the text (GenerateEnd::context), or what it exceeded; else empty.
  std::string context;
};

// Writes with a model, which must outlive it and is only read: generate() may run in any number of
// threads at once. The same prompt, options, model and processor give the same text for any number
// of threads.
//
// A model without caches gets some where a proof finds that they give its scores
// (docs/generate.md).
//
// Inputs that are understood (docs/generate.md): ids [N, T]; an attention mask [N, S] of integers;
// positions [N, T]; caches, floating point inputs each of which has an output of the same dims but
// for one. The first output that is no cache has the scores of the next token at each position,
// [N, T, C], or [N, C, T] where ids are the only input; a score depends on no later position.
class ONDINE_API Generator {
 public:
  // Called with each part of the text, whole characters of UTF-8; what could yet begin a stop text
  // waits. Return false to end the text.
  using OnText = std::function<bool(std::string_view)>;

  // Error(mismatch) for a model with other inputs or outputs, naming the first that is not
  // understood with its type; Error(invalid_option) for options out of their range or without
  // effect.
  explicit Generator(const Model& model, GenerateOptions options = {});
  Generator(Generator&&) noexcept;
  Generator& operator=(Generator&&) noexcept;
  ~Generator();

  // The text after the prompt. Error(mismatch) for a prompt without a token and for one that leaves
  // no room for another; that of TextEncoding::encode, and those of Model::infer.
  GenerateReport generate(std::string_view prompt, const OnText& on_text = {}) const;
  // The text after a prompt of token ids. Error(mismatch) for a number that is no id.
  GenerateReport generate(std::span<const std::int64_t> prompt, const OnText& on_text = {}) const;
  // The assistant's next message. The template turns the messages into a prompt that ends where an
  // answer begins, and writes all special tokens. Error(mismatch) if neither options nor model have
  // a template, if there is no message, and if the template refuses the messages; the errors of
  // ChatTemplate::from_text.
  GenerateReport answer(std::span<const ChatMessage> messages, const OnText& on_text = {}) const;

  const TextEncoding& encoding() const noexcept;

 private:
  struct Impl;
  std::unique_ptr<const Impl> impl_;
};

}  // namespace ondine
