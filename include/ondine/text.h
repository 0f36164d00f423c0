// Texts as the ids that a model takes, and texts sampled from models of the next token.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <ondine/export.h>
#include <ondine/model.h>

namespace ondine {

// How texts become ids. One id for each byte of UTF-8, 0 to 255; id 0, which no text has, is the
// padding of a short row.
class ONDINE_API TextEncoding {
 public:
  static constexpr std::int64_t padding = 0;

  // Error(corrupt) naming line and byte where the text is not UTF-8 or has a character U+0000.
  std::vector<std::int64_t> encode(std::string_view text) const;
  // Leaves the padding out. Error(mismatch) for a number that is no id. A sequence of ids need not
  // make whole characters.
  std::string decode(std::span<const std::int64_t> ids) const;
  std::int64_t size() const noexcept { return 256; }  // ids are below it
  std::string name() const { return "bytes"; }        // as in a model's metadata
};

struct TextOptions {
  // Column of a .csv, .tsv or .jsonl file; empty: "text".
  std::string column = {};
  // Ids in a row: shorter texts are padded, longer ones cut off. 0: what the model's input asks
  // for, or the longest text. A .txt file is cut into windows of this length, which it needs.
  std::int64_t length = 0;
};

// As the metadata says that the model was trained; else the length is that of the only input of
// integers [N, T] with a fixed T.
ONDINE_API TextOptions text_options(const Model& model);

struct SampleOptions {
  std::uint64_t tokens = 100;
  // Scores are divided by it before the softmax that tokens are drawn from; 0: always the token
  // with the largest score.
  double temperature = 1;
  std::uint64_t seed = 0;
};

// Text after `prompt`, token by token. The model has one input of ids [N, T] and, as its first
// output, scores of the next token at each position, [N, T, C] or [N, C, T]; a score may depend on
// no later position. It reads at most T tokens, the last ones. A pure function of its arguments.
// Error(mismatch) for other models, and for a prompt without a token.
ONDINE_API std::string sample_text(const Model& model, std::string_view prompt,
                                   const SampleOptions& options = {});

}  // namespace ondine
