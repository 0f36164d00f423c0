// Coder that cuts texts into tokens by a file: a SentencePiece model or a tokenizer.json.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ondine/text.h>

namespace ondine::text {

// Usual names of the token that ends a text, or a part of a conversation.
inline constexpr std::array<std::string_view, 10> end_names{
    "</s>",    "<|endoftext|>", "<|end_of_text|>", "<eos>",         "<|im_end|>",
    "<|end|>", "<|eot_id|>",    "<|eom_id|>",      "<end_of_turn>", "<|endofturn|>"};

// Immutable, so any number of threads may use it.
class TokenCoder {
 public:
  TokenCoder() = default;
  virtual ~TokenCoder() = default;
  TokenCoder(const TokenCoder&) = delete;
  TokenCoder& operator=(const TokenCoder&) = delete;

  // The text is UTF-8 without a zero byte.
  virtual std::vector<std::int64_t> encode(std::string_view text) const = 0;
  // UTF-8. Error(mismatch) for a number that is no id.
  virtual std::string decode(std::span<const std::int64_t> ids) const = 0;

  virtual std::int64_t size() const noexcept = 0;     // ids are below it
  virtual std::int64_t padding() const noexcept = 0;  // id of what fills short rows
  virtual const std::string& file() const noexcept = 0;
  virtual const char* name() const noexcept = 0;
  // Ids of tokens after which a model has no more to say.
  virtual std::span<const std::int64_t> ends() const noexcept = 0;
  // Ids that encode() puts before and after each text.
  virtual std::span<const std::int64_t> beginning() const noexcept { return {}; }
  virtual std::span<const std::int64_t> ending() const noexcept { return {}; }
  // The token that says that a text is over; nothing where there is none.
  virtual std::optional<std::int64_t> end_of_text() const noexcept { return {}; }
  // How two texts are joined; nothing where that is not known.
  virtual std::optional<PairTemplate> pair_template() const { return {}; }
};

}  // namespace ondine::text
