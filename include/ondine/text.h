// Texts as the ids that a model takes, and texts sampled from models of the next token.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ondine/export.h>
#include <ondine/model.h>

namespace ondine {

namespace text {
class TokenCoder;
}

// How two texts become one row: special tokens before, between and after them, each with the type
// that token_type_ids has for it, and the types of the texts' own tokens.
struct PairTemplate {
  struct Part {
    std::vector<std::int64_t> ids = {};
    std::vector<std::int64_t> types = {};  // as many
  };
  Part before = {};
  Part between = {};
  Part after = {};
  std::int64_t first_type = 0;
  std::int64_t second_type = 1;
};

// How texts become ids: one for each byte of UTF-8, 0 to 255, where id 0, which no text has, is the
// padding of a short row, the ids of a SentencePiece model's pieces, or those of the tokens of a
// tokenizer.json, the file of Hugging Face. Immutable; copies share the model.
class ONDINE_API TextEncoding {
 public:
  static constexpr std::int64_t padding = 0;  // of bytes

  TextEncoding() = default;  // bytes
  // A SentencePiece model (.model) of type unigram or BPE, from a file or its content. Ids and
  // decoded texts are those of the sentencepiece library; control pieces, such as that for the end
  // of a text, are not added. Error(corrupt), Error(unsupported) or Error(limit) for other files.
  // A file that begins with "{" or whose name ends in .json is read as a tokenizer.json.
  static TextEncoding open(const std::filesystem::path& file);
  static TextEncoding sentencepiece(std::span<const std::byte> model);
  // The content of a tokenizer.json. Ids and decoded texts are those of the `tokenizers` package,
  // with the special tokens of its post-processor around a text and without them in what is
  // decoded; its rules for cutting and padding are not followed. Error(corrupt), Error(limit), and
  // Error(unsupported) naming a part that is not known or the library that this build lacks.
  static TextEncoding tokenizer_json(std::span<const std::byte> file);

  // Error(corrupt) naming line and byte where the text is not UTF-8 or has a character U+0000.
  std::vector<std::int64_t> encode(std::string_view text) const;
  // Ids of a text that goes on: without ending().
  std::vector<std::int64_t> encode_beginning(std::string_view text) const;
  // Special tokens that encode() puts before and after each text; rows that are cut off end with
  // the latter.
  std::span<const std::int64_t> beginning() const noexcept;
  std::span<const std::int64_t> ending() const noexcept;
  // As the post-processor of a tokenizer.json joins two texts; nothing where it has no rule that
  // puts the first before the second, and for other encodings.
  std::optional<PairTemplate> pair_template() const;
  // The token that ends a text. Bytes: the padding. Pieces: the control piece for it. A
  // tokenizer.json: the last of ending(), else the added token </s>, <|endoftext|>,
  // <|end_of_text|> or <eos>. Nothing where there is none.
  std::optional<std::int64_t> end_of_text() const noexcept;
  // Error(mismatch) for a number that is no id. Bytes: leaves the padding out; a sequence of ids
  // need not make whole characters. Pieces: control pieces have no text, and bytes that make no
  // character are U+FFFD. Special tokens have no text.
  std::string decode(std::span<const std::int64_t> ids) const;
  std::int64_t size() const noexcept;  // ids are below it
  // Id that fills short rows. For pieces: the id for padding, else for the end of a text, else for
  // the unknown.
  std::int64_t padding_id() const noexcept;
  // Tokens that end a text that a model writes: the control piece of a SentencePiece model for the
  // end, and special tokens with one of the usual names, such as </s>, <|endoftext|> and
  // <|im_end|> (docs/generate.md). None of bytes.
  std::span<const std::int64_t> end_ids() const noexcept;
  // As in a model's metadata: "bytes", "sentencepiece" or "tokenizer.json".
  std::string name() const;
  // The content of the model's file; empty for bytes.
  std::span<const std::byte> model() const noexcept;

  friend bool operator==(const TextEncoding& a, const TextEncoding& b) noexcept {
    return a.is_same(b);
  }

 private:
  bool is_same(const TextEncoding& other) const noexcept;

  std::shared_ptr<const text::TokenCoder> coder_;  // none: bytes
};

// Contents of a row of a .jsonl file for a model of the next token.
enum class NextTokenRows : std::uint8_t {
  text,      // a text
  prompt,    // a prompt and its completion
  messages,  // a conversation
};

// Which tokens are labels.
enum class LossOn : std::uint8_t {
  answer,  // those of completions and of what the assistant says, with the end of the text
  all,
};

// Rows of .jsonl files for models of the next token.
struct NextTokenOptions {
  // Members of an object; empty: "prompt", "completion" and "messages".
  std::string prompt = {};
  std::string completion = {};
  std::string messages = {};
  // Tokens that the loss counts; nothing: the answer. Only for rows that have an answer, else an
  // error.
  std::optional<LossOn> loss_on = {};
  // The label of padding and of tokens that do not count.
  std::int64_t ignored_label = -100;
  // Jinja text of the template of conversations (ondine/chat.h); they need one.
  std::string chat_template = {};
  // As the rows of training were made; of data, as its rows are made. Where it is given, rows with
  // a label are such rows as well, and `loss_on` need not have an effect.
  std::optional<NextTokenRows> rows = {};
  // Puts as many texts into a row as TextOptions::length ids hold: for models prepared with
  // PrepareOptions::packing. Error(mismatch) for other data.
  bool pack = false;
};

struct TextOptions {
  // Column of a .csv, .tsv or .jsonl file, or two of them, "first,second", for pairs of texts;
  // empty: "text", and "text_pair" where there is one.
  std::string column = {};
  // Ids in a row: shorter texts are padded, longer ones cut off. 0: what the model's input asks
  // for, or the longest text. A .txt file is cut into windows of this length, which it needs.
  std::int64_t length = 0;
  TextEncoding encoding = {};
  NextTokenOptions next = {};
};

// As the metadata says that the model was trained; else the length is that of its inputs of
// integers [N, T] with the same fixed T. Error(unsupported) for an encoding of another name, and
// the errors of TextEncoding::sentencepiece and tokenizer_json.
ONDINE_API TextOptions text_options(const Model& model);

struct SampleOptions {
  std::uint64_t tokens = 100;
  // Scores are divided by it before the softmax that tokens are drawn from; 0: always the token
  // with the largest score.
  double temperature = 1;
  std::uint64_t seed = 0;
  std::optional<TextEncoding> encoding = {};  // nothing: as text_options(model) says
};

// Text after `prompt`, token by token. The model has one input of ids [N, T] and, as its first
// output, scores of the next token at each position, [N, T, C] or [N, C, T]; a score may depend on
// no later position. It reads at most T tokens, the last ones. A pure function of its arguments.
// Error(mismatch) for other models, and for a prompt without a token.
ONDINE_API std::string sample_text(const Model& model, std::string_view prompt,
                                   const SampleOptions& options = {});

}  // namespace ondine
