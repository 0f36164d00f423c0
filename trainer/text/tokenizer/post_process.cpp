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
void wrap(Frame& frame, Ids before, const Ids& after, std::optional<PairTemplate> pair) {
  append(before, frame.before);
  frame.before = std::move(before);
  append(frame.after, after);
  frame.pair = frame.has_template ? std::nullopt : std::move(pair);
  frame.has_template = true;
}

// All tokens have the same type.
PairTemplate::Part special(Ids ids, std::int64_t type) {
  std::vector<std::int64_t> types(ids.size(), type);
  return {std::move(ids), std::move(types)};
}

Ids special_ids(const JsonView& tokens, std::string_view name) {
  Ids ids;
  const JsonView token = tokens.at(name);
  token.allow_only({"id", "ids", "tokens"});
  token.at("ids").each_item([&](const JsonView& id) { ids.push_back(id.integer(most_ids - 1)); });
  return ids;
}

// Nothing unless the texts are there once each, in their order.
std::optional<PairTemplate> read_pair(const JsonView& json, const JsonView& tokens) {
  PairTemplate pair;
  PairTemplate::Part* part = &pair.before;
  bool is_known = true;
  json.each_item([&](const JsonView& piece) {
    piece.allow_only({"Sequence", "SpecialToken"});
    const bool is_special = piece.has("SpecialToken");
    const JsonView one = piece.at(is_special ? "SpecialToken" : "Sequence");
    one.allow_only({"id", "type_id"});
    const std::int64_t type = one.has("type_id") ? one.at("type_id").integer(most_ids) : 0;
    if (is_special) {
      append(part->ids, special_ids(tokens, one.at("id").text()));
      part->types.resize(part->ids.size(), type);
      return;
    }
    const std::string_view text = one.at("id").text();
    if (text == "A" && part == &pair.before) {
      pair.first_type = type;
      part = &pair.between;
    } else if (text == "B" && part == &pair.between) {
      pair.second_type = type;
      part = &pair.after;
    } else {
      is_known = false;
    }
  });
  return is_known && part == &pair.after ? std::optional(std::move(pair)) : std::nullopt;
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
  std::optional<PairTemplate> pair;
  if (json.has("pair")) pair = read_pair(json.at("pair"), tokens);
  wrap(frame, std::move(before), after, std::move(pair));
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
    const std::int64_t cls = token_id(json.at("cls"));
    const std::int64_t sep = token_id(json.at("sep"));
    const bool is_bert = type == "BertProcessing";
    const std::int64_t second = is_bert ? 1 : 0;
    wrap(frame, {cls}, {sep},
         PairTemplate{special({cls}, 0), special(is_bert ? Ids{sep} : Ids{sep, sep}, 0),
                      special({sep}, second), 0, second});
  } else if (type == "ByteLevel") {
    json.allow_only({"add_prefix_space", "trim_offsets", "use_regex"});  // of positions in the text
  } else {
    fail(ErrorCode::unsupported, quoted(json.path()), " is of type ", quoted(type),
         ", which is not supported");
  }
}

}  // namespace ondine::text::tokenizer
