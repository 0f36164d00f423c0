#include "trainer/text/tokenizer/post_process.h"

#include "core/message.h"

namespace ondine::text::tokenizer {
namespace {

constexpr std::size_t most_special = 1024;

void append(Ids& to, const Ids& ids) {
  to.insert(to.end(), ids.begin(), ids.end());
  if (to.size() > most_special) {
    fail(ErrorCode::limit, "post_processor adds more than ", most_special, " tokens");
  }
}

// Around what is there already.
void wrap(Frame& frame, Ids before, const Ids& after) {
  append(before, frame.before);
  frame.before = std::move(before);
  append(frame.after, after);
}

Ids special_ids(const JsonView& tokens, std::string_view name) {
  Ids ids;
  const JsonView token = tokens.at(name);
  token.allow_only({"id", "ids", "tokens"});
  token.at("ids").each_item([&](const JsonView& id) { ids.push_back(id.integer(most_ids - 1)); });
  return ids;
}

void read_template(const JsonView& json, Frame& frame) {
  json.allow_only({"single", "pair", "special_tokens"});
  const JsonView tokens = json.at("special_tokens");
  Ids before;
  Ids after;
  std::size_t texts = 0;
  json.at("single").each_item([&](const JsonView& piece) {
    piece.allow_only({"Sequence", "SpecialToken"});
    if (piece.has("SpecialToken")) {
      const JsonView token = piece.at("SpecialToken");
      token.allow_only({"id", "type_id"});
      append(texts == 0 ? before : after, special_ids(tokens, token.at("id").text()));
      return;
    }
    const JsonView sequence = piece.at("Sequence");
    sequence.allow_only({"id", "type_id"});
    if (sequence.at("id").text() == "A") ++texts;
  });
  if (texts != 1) {
    fail(ErrorCode::unsupported, quoted(json.path() + ".single"),
         " does not have the text, A, exactly once");
  }
  wrap(frame, std::move(before), after);
}

std::int64_t token_id(const JsonView& json) {
  std::int64_t id = -1;
  json.require(JsonKind::list);
  json.each_item([&](const JsonView& one) {
    if (one.kind() == JsonKind::number) id = one.integer(most_ids - 1);
  });
  if (id < 0) fail(ErrorCode::corrupt, quoted(json.path()), " is no token with its id");
  return id;
}

}  // namespace

void read_post_processor(const JsonView& json, Frame& frame) {
  const std::string_view type = json.type();
  if (type == "Sequence") {
    json.allow_only({"processors"});
    json.at("processors").each_item([&](const JsonView& one) { read_post_processor(one, frame); });
  } else if (type == "TemplateProcessing") {
    read_template(json, frame);
  } else if (type == "BertProcessing" || type == "RobertaProcessing") {
    json.allow_only({"sep", "cls", "trim_offsets", "add_prefix_space"});
    wrap(frame, {token_id(json.at("cls"))}, {token_id(json.at("sep"))});
  } else if (type == "ByteLevel") {
    json.allow_only({"add_prefix_space", "trim_offsets", "use_regex"});  // of positions in the text
  } else {
    fail(ErrorCode::unsupported, quoted(json.path()), " is of type ", quoted(type),
         ", which is not supported");
  }
}

}  // namespace ondine::text::tokenizer
