#include <algorithm>

#include <ondine/text.h>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "trainer/data/open_data.h"
#include "trainer/text/pieces/piece_encoding.h"
#include "trainer/text/require_utf8.h"
#include "trainer/text/tokenizer/tokenizer.h"

namespace ondine {
namespace {

std::vector<std::int64_t> bytes_of_text(std::string_view text) {
  std::vector<std::int64_t> ids(text.size());
  std::transform(text.begin(), text.end(), ids.begin(),
                 [](char c) { return static_cast<std::int64_t>(static_cast<unsigned char>(c)); });
  return ids;
}

std::string text_of_bytes(std::span<const std::int64_t> ids) {
  std::string text;
  for (const std::int64_t id : ids) {
    if (id < 0 || id > 255) {
      fail(ErrorCode::mismatch, "id ", id, " is none of 256 of the encoding 'bytes'");
    }
    if (id != TextEncoding::padding) text += static_cast<char>(id);
  }
  return text;
}

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TextEncoding TextEncoding::open(const std::filesystem::path& file) {
  return guard_memory("read a tokenizer", [&] {
    TextEncoding encoding;
    with_data(file, {}, [&](SharedSource& source) {
      const std::span<const std::byte> bytes = source.rest();
      // Files that begin with the brace of a JSON object are no SentencePiece models.
      const bool is_json =
          file.extension() == ".json" || (!bytes.empty() && bytes[0] == std::byte{'{'});
      encoding = is_json ? tokenizer_json(bytes) : sentencepiece(bytes);
    });
    return encoding;
  });
}

TextEncoding TextEncoding::sentencepiece(std::span<const std::byte> model) {
  return guard_memory("read a SentencePiece model", [&] {
    return with_context(
        [&] {
          TextEncoding encoding;
          encoding.coder_ = std::make_shared<text::PieceEncoding>(text_of(model));
          return encoding;
        },
        [] { return "SentencePiece model"; });
  });
}

TextEncoding TextEncoding::tokenizer_json(std::span<const std::byte> file) {
  return guard_memory("read a tokenizer.json", [&] {
    return with_context(
        [&] {
          TextEncoding encoding;
          encoding.coder_ = std::make_shared<text::tokenizer::Tokenizer>(text_of(file));
          return encoding;
        },
        [] { return "tokenizer.json"; });
  });
}

std::vector<std::int64_t> TextEncoding::encode(std::string_view text) const {
  return guard_memory("encode a text", [&] {
    text::require_utf8(text);
    return coder_ ? coder_->encode(text) : bytes_of_text(text);
  });
}

std::vector<std::int64_t> TextEncoding::encode_beginning(std::string_view text) const {
  std::vector<std::int64_t> ids = encode(text);
  ids.resize(ids.size() - ending().size());
  return ids;
}

std::span<const std::int64_t> TextEncoding::beginning() const noexcept {
  return coder_ ? coder_->beginning() : std::span<const std::int64_t>();
}

std::optional<std::int64_t> TextEncoding::end_of_text() const noexcept {
  return coder_ ? coder_->end_of_text() : padding;
}

std::optional<PairTemplate> TextEncoding::pair_template() const {
  return guard_memory("join two texts", [&] {
    return coder_ ? coder_->pair_template() : std::optional<PairTemplate>();
  });
}

std::span<const std::int64_t> TextEncoding::ending() const noexcept {
  return coder_ ? coder_->ending() : std::span<const std::int64_t>();
}

std::string TextEncoding::decode(std::span<const std::int64_t> ids) const {
  return guard_memory("decode a text",
                      [&] { return coder_ ? coder_->decode(ids) : text_of_bytes(ids); });
}

std::int64_t TextEncoding::size() const noexcept { return coder_ ? coder_->size() : 256; }

std::int64_t TextEncoding::padding_id() const noexcept {
  return coder_ ? coder_->padding() : padding;
}

std::span<const std::int64_t> TextEncoding::end_ids() const noexcept {
  return coder_ ? coder_->ends() : std::span<const std::int64_t>();
}

std::string TextEncoding::name() const { return coder_ ? coder_->name() : "bytes"; }

std::span<const std::byte> TextEncoding::model() const noexcept {
  if (!coder_) return {};
  return std::as_bytes(std::span(coder_->file()));
}

bool TextEncoding::is_same(const TextEncoding& other) const noexcept {
  const auto mine = model();
  const auto others = other.model();
  return std::equal(mine.begin(), mine.end(), others.begin(), others.end());
}

}  // namespace ondine
