#include <algorithm>

#include <ondine/data_record.h>
#include <ondine/text.h>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "trainer/text/text_metadata.h"

namespace ondine {
namespace {

std::int64_t length_of_input(const Model& model) {
  std::int64_t length = 0;
  for (const PortInfo& input : model.inputs()) {
    if (input.has_default || !is_integer(input.dtype)) continue;
    if (!input.dims || input.dims->size() != 2) return 0;
    const std::int64_t of_this = std::max<std::int64_t>(0, (*input.dims)[1]);
    if (length != 0 && length != of_this) return 0;
    length = of_this;
  }
  return length;
}

NextTokenOptions next_token_options(const DataRecord::Text& record) {
  NextTokenOptions next;
  next.rows = record.rows;
  next.prompt = record.prompt;
  next.completion = record.completion;
  next.messages = record.messages;
  next.loss_on = record.loss_on;
  next.chat_template = record.chat_template;
  return next;
}

}  // namespace

namespace text {

TextEncoding encoding_of(const DataRecord::Text& record) {
  if (record.encoding.empty() || record.encoding == TextEncoding().name()) return {};
  const bool is_json = record.encoding == "tokenizer.json";
  if (!is_json && record.encoding != "sentencepiece") {
    fail(ErrorCode::unsupported, "the model's texts are encoded as ", quoted(record.encoding),
         ", which is unknown; known are 'bytes', 'sentencepiece' and 'tokenizer.json'");
  }
  const auto file = std::as_bytes(std::span(record.pieces));
  return with_context(
      [&] {
        return is_json ? TextEncoding::tokenizer_json(file) : TextEncoding::sentencepiece(file);
      },
      [] { return std::string("the model's metadata (text.pieces)"); });
}

}  // namespace text

TextOptions text_options(const Model& model) {
  return guard_memory("read the metadata", [&] {
    const DataRecord whole = data_record(model);
    const DataRecord::Text& record = whole.text;
    TextOptions options;
    options.encoding = text::encoding_of(record);
    options.column = record.column;
    options.next = next_token_options(record);
    if (whole.prediction.ignored_label) {
      options.next.ignored_label = *whole.prediction.ignored_label;
    }
    options.length = record.length > 0 ? record.length : length_of_input(model);
    return options;
  });
}

}  // namespace ondine
