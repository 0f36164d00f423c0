#include <algorithm>

#include <ondine/text.h>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "trainer/data/open_data.h"
#include "trainer/text/pieces/piece_encoding.h"
#include "trainer/text/require_utf8.h"

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

}  // namespace

TextEncoding TextEncoding::open(const std::filesystem::path& file) {
  return guard_memory("read a SentencePiece model", [&] {
    TextEncoding encoding;
    with_data(file, {}, [&](SharedSource& source) { encoding = sentencepiece(source.rest()); });
    return encoding;
  });
}

TextEncoding TextEncoding::sentencepiece(std::span<const std::byte> model) {
  return guard_memory("read a SentencePiece model", [&] {
    return with_context(
        [&] {
          TextEncoding encoding;
          encoding.pieces_ = std::make_shared<text::PieceEncoding>(
              std::string(reinterpret_cast<const char*>(model.data()), model.size()));
          return encoding;
        },
        [] { return "SentencePiece model"; });
  });
}

std::vector<std::int64_t> TextEncoding::encode(std::string_view text) const {
  return guard_memory("encode a text", [&] {
    text::require_utf8(text);
    return pieces_ ? pieces_->encode(text) : bytes_of_text(text);
  });
}

std::string TextEncoding::decode(std::span<const std::int64_t> ids) const {
  return guard_memory("decode a text",
                      [&] { return pieces_ ? pieces_->decode(ids) : text_of_bytes(ids); });
}

std::int64_t TextEncoding::size() const noexcept { return pieces_ ? pieces_->size() : 256; }

std::int64_t TextEncoding::padding_id() const noexcept {
  return pieces_ ? pieces_->padding() : padding;
}

std::string TextEncoding::name() const { return pieces_ ? "sentencepiece" : "bytes"; }

std::span<const std::byte> TextEncoding::model() const noexcept {
  if (!pieces_) return {};
  return std::as_bytes(std::span(pieces_->file()));
}

bool TextEncoding::is_same(const TextEncoding& other) const noexcept {
  const auto mine = model();
  const auto others = other.model();
  return std::equal(mine.begin(), mine.end(), others.begin(), others.end());
}

}  // namespace ondine
