// The kinds of normalizers with code of their own.
#pragma once

#include <memory>

#include "trainer/text/tokenizer/normalize.h"

namespace ondine::text::tokenizer {

std::unique_ptr<const Normalizer> make_bert_normalizer(const JsonView& json);
std::unique_ptr<const Normalizer> make_precompiled(const JsonView& json);

// Calls take(c, bytes of it) for each character.
template <class Take>
void each_character(std::string_view text, const Take& take);

// Keeps the characters that keep(c) tells.
template <class Keep>
void filter(NormalText& text, const Keep& keep);

}  // namespace ondine::text::tokenizer

#include "core/stop.h"
#include "core/text/utf8.h"

namespace ondine::text::tokenizer {

template <class Take>
void each_character(std::string_view text, const Take& take) {
  while (!text.empty()) {
    checkpoint(4);
    const CodePoint c = decode_utf8(text);
    take(c.value, text.substr(0, c.bytes));
    text.remove_prefix(c.bytes);
  }
}

template <class Keep>
void filter(NormalText& text, const Keep& keep) {
  std::string kept;
  kept.reserve(text.text.size());
  bool is_first = true;
  each_character(text.text, [&](char32_t c, std::string_view bytes) {
    if (keep(c)) {
      kept += bytes;
    } else if (is_first || kept.empty()) {
      text.has_first = false;
    }
    is_first = false;
  });
  text.text = std::move(kept);
}

}  // namespace ondine::text::tokenizer
