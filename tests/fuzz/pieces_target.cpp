// Bytes of a SentencePiece model or of a tokenizer.json -> read -> encode and decode: ids of the
// model, and UTF-8.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <ondine/text.h>

#include "core/text/utf8.h"
#include "tests/fuzz/try_model.h"

namespace {

using namespace ondine;
using Ids = std::vector<std::int64_t>;

// A tokenizer.json may have no token for a character, and patterns that take too long.
bool may_refuse(const TextEncoding& encoding) { return encoding.name() == "tokenizer.json"; }

void require_text(const TextEncoding& encoding, const Ids& ids) {
  std::string text;
  const auto decode = [&] { text = encoding.decode(ids); };
  if (may_refuse(encoding)) {
    test::refuses(decode);
  } else {
    decode();
  }
  if (!is_utf8(text)) throw test::Fault("decoded ids are not UTF-8");
}

void try_text(const TextEncoding& encoding, const std::string& text) {
  if (may_refuse(encoding) && test::refuses([&] { encoding.encode(text); })) return;
  const Ids ids = encoding.encode(text);
  const bool are_ids = std::all_of(
      ids.begin(), ids.end(), [&](std::int64_t id) { return id >= 0 && id < encoding.size(); });
  if (!are_ids) throw test::Fault("an id is none of the model's");
  if (encoding.encode(text) != ids) throw test::Fault("encoded again, the ids differ");
  require_text(encoding, ids);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto bytes = std::as_bytes(std::span(data, size));
  TextEncoding encoding;
  const bool is_json = size > 0 && data[0] == '{';
  const auto read = is_json ? TextEncoding::tokenizer_json : TextEncoding::sentencepiece;
  if (test::refuses([&] { encoding = read(bytes); })) return 0;
  std::string long_text;
  for (int i = 0; i < 300; ++i) long_text += " aaab ABC... straße";
  for (const std::string& text :
       {std::string(), std::string("  "), std::string("Hello  world\n"), std::string("...12 aß"),
        std::string("e\xcc\x81 \xe6\x97\xa5\xe6\x9c\xac \xf0\x9f\x98\x80 \xe2\x96\x81"),
        long_text}) {
    try_text(encoding, text);
  }
  Ids all;
  for (std::int64_t id = encoding.size(); id-- > 0;) all.push_back(id);
  require_text(encoding, all);
  if (encoding.padding_id() < 0 || encoding.padding_id() >= encoding.size()) {
    throw test::Fault("the padding is no id");
  }
  return 0;
}
