// The data record as JSON.
#include <cmath>
#include <limits>

#include "core/message.h"
#include "core/text/base64.h"
#include "core/text/utf8.h"
#include "graph/record/json_reader.h"
#include "graph/record/json_value.h"
#include "graph/record/names.h"
#include "graph/record/record.h"

namespace ondine::graph {
namespace {

using Json = JsonValue;
using Kind = JsonValue::Kind;
using Reader = JsonReader;

constexpr std::int64_t format_version = 1;

// JSON has no infinite numbers.
Json number_json(double value) {
  if (std::isfinite(value)) return Json::of(value);
  return Json::of(std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
}

// A name that is not UTF-8 is an object with its bytes in base64.
Json text_json(const std::string& text) {
  if (is_utf8(text)) return Json::of(text);
  Json bytes = Json::object();
  bytes.set("base64", Json::of(to_base64(text)));
  return bytes;
}

// A member is left out where it has nothing to say.
void set(Json& object, const char* name, Json value) {
  if (value.is_empty()) {
    object.erase(name);
  } else {
    object.set(name, std::move(value));
  }
}

template <class T>
Json unless(const T& value, const T& neutral) {
  return value == neutral ? Json() : Json::of(value);
}

Json of(const std::optional<std::int64_t>& value) { return value ? Json::of(*value) : Json(); }

Json size_json(const std::optional<ImageSize>& size) {
  if (!size) return {};
  Json list = Json::list();
  list.items = {Json::of(size->height), Json::of(size->width)};
  return list;
}

Json texts_json(const std::vector<std::string>& texts) {
  Json list = Json::list();
  for (const std::string& text : texts) list.items.push_back(text_json(text));
  return list;
}

// The member as it was, for its unknown members; an empty object where it was none.
Json member(const Json& object, const char* name) {
  const Json* found = object.find(name);
  return found != nullptr && found->kind == Kind::object ? *found : Json::object();
}

void write_prediction(Json& to, const DataRecord::Prediction& from) {
  set(to, "output", text_json(from.output));
  set(to, "value", text_json(from.value));
  set(to, "meaning",
      from.meaning == OutputMeaning::unknown ? Json() : Json::of(to_string(from.meaning)));
  set(to, "loss", text_json(from.loss));
  set(to, "label", text_json(from.label));
  set(to, "weights", text_json(from.weights));
  set(to, "class_axis", of(from.class_axis));
  set(to, "class_axis_of", text_json(from.class_axis_of));
  set(to, "ignored_label", of(from.ignored_label));
  set(to, "ctc_blank", unless(from.ctc_blank, std::int64_t{0}));
}

void write_table(Json& to, const TableColumns& from) {
  set(to, "features", texts_json(from.features));
  set(to, "target", text_json(from.target));
  set(to, "fill", from.fill ? number_json(*from.fill) : Json());
}

void write_images(Json& to, const DataRecord::Images& from) {
  set(to, "size", size_json(from.size));
  to.set("fit", Json::of(name_in(fit_names, from.fit)));
  to.set("layout", Json::of(name_in(layout_names, from.layout)));
  to.set("upright", Json::of(from.upright));
}

void write_context(Json& to, const char* name, const DataRecord::Context& from) {
  Json object = member(to, name);
  set(object, "tokens", unless(from.tokens, std::int64_t{0}));
  set(object, "source", text_json(from.source));
  set(object, "is_limit", unless(from.is_limit, true));
  set(to, name, std::move(object));
}

void write_text(Json& to, const DataRecord::Text& from) {
  write_context(to, "context", from.context);
  write_context(to, "generated", from.generated);
  set(to, "column", text_json(from.column));
  set(to, "encoding", text_json(from.encoding));
  set(to, "pieces", from.pieces.empty() ? Json() : Json::of(to_base64(from.pieces)));
  set(to, "length", unless(from.length, std::int64_t{0}));
  set(to, "rows", from.rows ? Json::of(name_in(next_rows_names, *from.rows)) : Json());
  set(to, "prompt", text_json(from.prompt));
  set(to, "completion", text_json(from.completion));
  set(to, "messages", text_json(from.messages));
  set(to, "loss_on", from.loss_on ? Json::of(name_in(loss_on_names, *from.loss_on)) : Json());
  set(to, "chat_template", text_json(from.chat_template));
}

// Objects in a list, found again by one of their members.
template <class Items, class Write>
void write_list(Json& to, const char* name, const char* key, const Items& items, Write write) {
  Json list = Json::list();
  const Json* before = to.find(name);
  for (const auto& item : items) {
    Json object = Json::object();
    const Json id = write.id(item);
    for (std::size_t i = 0; before != nullptr && i < before->items.size(); ++i) {
      const Json& one = before->items[i];
      const Json* known = one.kind == Kind::object ? one.find(key) : nullptr;
      if (known != nullptr && *known == id) object = one;
    }
    object.set(key, id);
    write(object, item);
    list.items.push_back(std::move(object));
  }
  set(to, name, std::move(list));
}

struct WriteInput {
  Json id(const DataRecord::Input& from) const { return text_json(from.name); }
  void operator()(Json& to, const DataRecord::Input& from) const {
    set(to, "column", text_json(from.column));
    set(to, "type",
        from.dtype == DType::undefined ? Json() : Json::of(std::string(to_string(from.dtype))));
    set(to, "scale", unless(from.scale, 1.0));
  }
};

struct WritePreprocessing {
  Json id(const DataRecord::Preprocessing& from) const { return text_json(from.input); }
  void operator()(Json& to, const DataRecord::Preprocessing& from) const {
    set(to, "description", text_json(from.description));
    set(to, "resize", size_json(from.resize));
    set(to, "antialias", unless(from.antialias, false));
  }
};

struct WriteColumn {
  Json id(const TableColumn& from) const { return text_json(from.name); }
  void operator()(Json& to, const TableColumn& from) const {
    const Json number = from.fill ? number_json(*from.fill) : Json();
    to.set("kind", Json::of(name_in(column_kind_names, from.kind)));
    set(to, "fill", from.is_category() ? text_json(from.fill_value) : number);
    set(to, "mean", unless(from.mean, 0.0));
    set(to, "deviation", unless(from.deviation, 1.0));
    set(to, "values", texts_json(from.values));
    set(to, "size", unless(from.size, std::int64_t{0}));
  }
};

Json parse(const std::string& text) {
  Json json = parse_json(text);
  if (json.kind != Kind::object) fail(ErrorCode::corrupt, "no JSON object");
  return json;
}

void read_prediction(const Reader& from, DataRecord::Prediction& to) {
  from.text("output", to.output);
  from.text("value", to.value);
  std::string meaning;
  from.text("meaning", meaning);
  to.meaning = find_in<OutputMeaning>(meaning_names, meaning).value_or(OutputMeaning::unknown);
  from.text("loss", to.loss);
  from.text("label", to.label);
  from.text("weights", to.weights);
  to.class_axis = from.integer("class_axis");
  from.text("class_axis_of", to.class_axis_of);
  to.ignored_label = from.integer("ignored_label");
  to.ctc_blank = from.count("ctc_blank");
}

void read_images(const Reader& from, DataRecord::Images& to) {
  to.size = from.size("size");
  std::string name;
  from.text("fit", name);
  const auto fit = find_in<ImageFit>(fit_names, name);
  if (!name.empty() && !fit) fail(ErrorCode::unsupported, "fit of images ", quoted(name));
  to.fit = fit.value_or(ImageFit::crop);
  name.clear();
  from.text("layout", name);
  const auto layout = find_in<Layout>(layout_names, name);
  if (!name.empty() && !layout) fail(ErrorCode::unsupported, "layout of images ", quoted(name));
  to.layout = layout.value_or(Layout::nchw);
  to.upright = from.flag("upright", true);
}

void read_context(const Reader& from, const char* name, DataRecord::Context& to) {
  from.object(name, [&](const Reader& one) {
    to.tokens = one.count("tokens");
    one.text("source", to.source);
    to.is_limit = one.flag("is_limit", true);
  });
}

void read_text(const Reader& from, DataRecord::Text& to) {
  read_context(from, "context", to.context);
  read_context(from, "generated", to.generated);
  from.text("column", to.column);
  from.text("encoding", to.encoding);
  std::string pieces;
  from.text("pieces", pieces);
  to.pieces = from_base64(pieces);
  to.length = from.count("length");
  std::string name;
  from.text("rows", name);
  to.rows = find_in<NextTokenRows>(next_rows_names, name);
  from.text("prompt", to.prompt);
  from.text("completion", to.completion);
  from.text("messages", to.messages);
  name.clear();
  from.text("loss_on", name);
  to.loss_on = find_in<LossOn>(loss_on_names, name);
  from.text("chat_template", to.chat_template);
}

DataRecord::Input read_input(const Reader& from) {
  DataRecord::Input input;
  from.text("name", input.name);
  from.text("column", input.column);
  std::string type;
  from.text("type", type);
  input.dtype = dtype_from_string(type);
  input.scale = from.number("scale").value_or(1);
  return input;
}

DataRecord::Preprocessing read_preprocessing(const Reader& from) {
  DataRecord::Preprocessing one;
  from.text("input", one.input);
  from.text("description", one.description);
  one.resize = from.size("resize");
  one.antialias = from.flag("antialias", false);
  return one;
}

TableColumn read_column(const Reader& from) {
  TableColumn column;
  from.text("name", column.name);
  std::string kind;
  from.text("kind", kind);
  const auto known = find_in<TableColumn::Kind>(column_kind_names, kind);
  if (!known) fail(ErrorCode::unsupported, "kind ", quoted(kind), " of a column");
  column.kind = *known;
  if (column.is_category()) {
    from.text("fill", column.fill_value);
  } else {
    column.fill = from.number("fill");
  }
  column.mean = from.number("mean").value_or(0);
  column.deviation = from.number("deviation").value_or(1);
  from.texts("values", column.values);
  column.size = from.count("size");
  return column;
}

}  // namespace

std::string to_json(const DataRecord& record) {
  Json json = record.source.empty() ? Json::object() : parse(record.source);
  json.set("version", Json::of(format_version));
  const auto add = [&](const char* name, const auto& from, const auto& write) {
    Json object = member(json, name);
    write(object, from);
    set(json, name, std::move(object));
  };
  add("prediction", record.prediction, write_prediction);
  set(json, "class_count", unless(static_cast<std::int64_t>(record.class_count), std::int64_t{0}));
  set(json, "classes", texts_json(record.classes));
  write_list(json, "inputs", "name", record.inputs, WriteInput());
  if (record.table) add("table", *record.table, write_table);
  if (record.images) add("images", *record.images, write_images);
  add("audio", record.audio, [](Json& to, const DataRecord::Audio& from) {
    set(to, "rate", unless(from.rate, std::int64_t{0}));
    set(to, "seconds", unless(from.seconds, 0.0));
  });
  add("text", record.text, write_text);
  write_list(json, "preprocessing", "input", record.preprocessing, WritePreprocessing());
  add("table_plan", record.table_plan.value_or(TablePlan()), [](Json& to, const TablePlan& from) {
    set(to, "input", text_json(from.input));
    write_list(to, "columns", "name", from.columns, WriteColumn());
    set(to, "rows", unless(static_cast<std::int64_t>(from.rows), std::int64_t{0}));
    set(to, "fingerprint", text_json(from.fingerprint));
  });
  add("data", record.data, [](Json& to, const DataRecord::Data& from) {
    set(to, "rows", unless(static_cast<std::int64_t>(from.rows), std::int64_t{0}));
    set(to, "fingerprint", text_json(from.fingerprint));
  });
  if (!record.table) json.erase("table");
  if (!record.images) json.erase("images");
  if (!record.table_plan) json.erase("table_plan");
  return dump(json);
}

DataRecord from_json(const std::string& text) {
  const Json json = parse(text);
  const Reader reader(json, "");
  const std::int64_t version = reader.integer("version").value_or(0);
  if (version < 1) fail(ErrorCode::corrupt, "member 'version' is not above 0");
  if (version > format_version) {
    fail(ErrorCode::unsupported, "version ", version, " of the data record; this library reads ",
         format_version);
  }
  DataRecord record;
  reader.object("prediction", [&](const Reader& one) { read_prediction(one, record.prediction); });
  record.class_count = static_cast<std::uint64_t>(reader.count("class_count"));
  reader.texts("classes", record.classes);
  reader.objects("inputs", [&](const Reader& one) { record.inputs.push_back(read_input(one)); });
  reader.object("table", [&](const Reader& one) {
    TableColumns& table = record.table.emplace();
    one.texts("features", table.features);
    one.text("target", table.target);
    table.fill = one.number("fill");
  });
  reader.object("images", [&](const Reader& one) { read_images(one, record.images.emplace()); });
  reader.object("audio", [&](const Reader& one) {
    record.audio.rate = one.count("rate");
    record.audio.seconds = one.number("seconds").value_or(0);
  });
  reader.object("text", [&](const Reader& one) { read_text(one, record.text); });
  reader.objects("preprocessing", [&](const Reader& one) {
    record.preprocessing.push_back(read_preprocessing(one));
  });
  reader.object("table_plan", [&](const Reader& one) {
    TablePlan& plan = record.table_plan.emplace();
    one.text("input", plan.input);
    one.objects("columns", [&](const Reader& from) { plan.columns.push_back(read_column(from)); });
    plan.rows = static_cast<std::uint64_t>(one.count("rows"));
    one.text("fingerprint", plan.fingerprint);
    if (record.table) plan.target = record.table->target;
  });
  reader.object("data", [&](const Reader& one) {
    record.data.rows = static_cast<std::uint64_t>(one.count("rows"));
    one.text("fingerprint", record.data.fingerprint);
  });
  record.source = text;
  return record;
}

}  // namespace ondine::graph
