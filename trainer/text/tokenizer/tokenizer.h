// Texts as ids of the tokens of a tokenizer.json, the file of Hugging Face, and back.
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "trainer/text/token_coder.h"
#include "trainer/text/tokenizer/added_tokens.h"
#include "trainer/text/tokenizer/decode.h"
#include "trainer/text/tokenizer/model.h"
#include "trainer/text/tokenizer/normalize.h"
#include "trainer/text/tokenizer/post_process.h"
#include "trainer/text/tokenizer/split.h"
#include "trainer/text/tokenizer/word_cache.h"

namespace ondine::text::tokenizer {

class Tokenizer final : public TokenCoder {
 public:
  // The content of the file. Error(corrupt) naming what breaks the format, Error(unsupported)
  // naming a type or member that is not known, or the library that this build lacks, and
  // Error(limit) for a file above 64 MiB, 2^21 ids, a token above 4096 bytes, and 32 steps of one
  // kind.
  explicit Tokenizer(std::string file);
  ~Tokenizer() override;

  // Ids as the `tokenizers` package gives them, with special tokens and without the file's rules
  // for cutting and padding.
  std::vector<std::int64_t> encode(std::string_view text) const override;
  // Special tokens have no text.
  std::string decode(std::span<const std::int64_t> ids) const override;

  std::int64_t size() const noexcept override { return size_; }
  // As the file's padding says, else that of a token with a usual name, else the token after a
  // text, else the unknown one.
  std::int64_t padding() const noexcept override { return padding_; }
  const std::string& file() const noexcept override { return file_; }
  std::span<const std::int64_t> ends() const noexcept override { return ends_; }
  const char* name() const noexcept override { return "tokenizer.json"; }
  std::span<const std::int64_t> beginning() const noexcept override { return frame_.before; }
  std::span<const std::int64_t> ending() const noexcept override { return frame_.after; }
  // The last token after a text, else that of a usual name.
  std::optional<std::int64_t> end_of_text() const noexcept override;
  std::optional<PairTemplate> pair_template() const override { return frame_.pair; }

 private:
  // Memory that one call at a time works with, kept for the next ones.
  struct Workspace {
    std::unique_ptr<Model::Scratch> scratch;
    WordCache cache;
  };
  class Lease;
  class Writer;

  void read(const JsonView& json);
  std::int64_t find_padding(const JsonView& json) const;
  void encode_text(std::string_view text, bool is_first, Writer& writer) const;

  std::string file_;
  std::unique_ptr<const Model> model_;
  Normalizers normalizers_;
  PreTokenizers pre_tokenizers_;
  Decoders decoders_;
  std::unique_ptr<const AddedTokens> added_;
  Frame frame_;
  bool has_decoder_ = false;
  std::int64_t size_ = 0;
  std::int64_t padding_ = 0;
  Ids ends_;

  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Workspace>> workspaces_;  // that no call uses
};

}  // namespace ondine::text::tokenizer
