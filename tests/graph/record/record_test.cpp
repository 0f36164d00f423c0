#include "graph/record/record.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include <ondine/error.h>

using namespace ondine;
using namespace ondine::graph;
using Catch::Contains;
using Json = nlohmann::json;

namespace {

DataRecord full() {
  DataRecord record;
  record.prediction = {"p",
                       "logits",
                       OutputMeaning::probabilities,
                       "softmax-cross-entropy",
                       "label",
                       "label_weights",
                       2,
                       "p",
                       -100,
                       3};
  record.class_count = 2;
  record.classes = {"cat", "dog\n\"quoted\""};
  record.inputs = {{"x", "features", DType::uint8, 1.0 / 255}, {"label", "y", DType::int64, 1}};
  record.table = TableColumns{{"a", "b"}, "y", 0.5};
  record.images = DataRecord::Images{ImageSize{5, 7}, ImageFit::stretch, Layout::nhwc, true};
  record.audio = {16000, 1.5};
  record.text = {{512, "config.json", false},
                 {64, "genai_config.json"},
                 "message",
                 "sentencepiece",
                 std::string("\0\xff piece", 8),
                 12,
                 NextTokenRows::messages,
                 "p",
                 "c",
                 "m",
                 LossOn::all,
                 "{{ 1 }}"};
  record.preprocessing = {{"x", "uint8 nhwc resize 5x7", ImageSize{5, 7}, true}};
  record.table_plan =
      TablePlan{.input = "x",
                .columns = {{.name = "a", .fill = 2.5, .mean = -1e300, .deviation = 0.125},
                            {.name = "b",
                             .kind = TableColumn::Kind::embedding,
                             .values = {"\xe4", "z"},
                             .fill_value = "z",
                             .size = 4}},
                .target = "y",
                .rows = 120,
                .fingerprint = "fedcba9876543210"};
  record.data = {150, "0123456789abcdef"};
  return record;
}

std::string error_of(const std::string& text) {
  try {
    read_record({{"ondine.data", text}});
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("a data record comes back as it was written") {
  Metadata metadata{{"author", "someone"}};
  write_record(metadata, full());
  REQUIRE(metadata.size() == 2);
  CHECK(metadata[0].first == "author");
  CHECK(metadata[1].first == "ondine.data");
  const DataRecord back = read_record(metadata);
  CHECK(to_json(back) == metadata[1].second);
  CHECK(back.prediction.output == "p");
  CHECK(back.prediction.value == "logits");
  CHECK(back.prediction.meaning == OutputMeaning::probabilities);
  CHECK(back.prediction.class_axis == 2);
  CHECK(back.prediction.ignored_label == -100);
  CHECK(back.prediction.ctc_blank == 3);
  CHECK(back.classes == full().classes);
  REQUIRE(back.inputs.size() == 2);
  CHECK(back.inputs[0].dtype == DType::uint8);
  CHECK(back.inputs[0].scale == 1.0 / 255);
  CHECK(back.table == full().table);
  CHECK(back.images->size->width == 7);
  CHECK(back.images->fit == ImageFit::stretch);
  CHECK(back.images->layout == Layout::nhwc);
  CHECK(back.audio.rate == 16000);
  CHECK(back.audio.seconds == 1.5);
  CHECK(back.text.pieces == full().text.pieces);
  CHECK(back.text.length == 12);
  CHECK(back.text.rows == NextTokenRows::messages);
  CHECK(back.text.prompt == "p");
  CHECK(back.text.completion == "c");
  CHECK(back.text.messages == "m");
  CHECK(back.text.loss_on == LossOn::all);
  CHECK(back.text.chat_template == "{{ 1 }}");
  CHECK(back.text.context.tokens == 512);
  CHECK(back.text.context.source == "config.json");
  CHECK_FALSE(back.text.context.is_limit);
  CHECK(back.text.generated.tokens == 64);
  CHECK(back.text.generated.is_limit);
  CHECK(back.preprocessing[0].antialias);
  CHECK(back.table_plan == full().table_plan);
  CHECK(back.data.rows == 150);
  CHECK(back.data.fingerprint == "0123456789abcdef");
}

TEST_CASE("an empty record is empty when it comes back") {
  Metadata metadata;
  write_record(metadata, {});
  const DataRecord back = read_record(metadata);
  CHECK(to_json(back) == R"({"version":1})");
  CHECK_FALSE(back.table);
  CHECK_FALSE(back.images);
  CHECK(back.prediction.meaning == OutputMeaning::unknown);
}

TEST_CASE("names that are no UTF-8 and fills that are no numbers survive") {
  DataRecord record;
  record.classes = {"\xe4pfel", "\xff\xfe", "plain"};
  record.table = TableColumns{{"\x80"}, "t", std::numeric_limits<double>::quiet_NaN()};
  const DataRecord back = from_json(to_json(record));
  CHECK(back.classes == record.classes);
  CHECK(back.table->features == record.table->features);
  CHECK(std::isnan(*back.table->fill));
  record.table->fill = -std::numeric_limits<double>::infinity();
  CHECK(*from_json(to_json(record)).table->fill == -std::numeric_limits<double>::infinity());
}

TEST_CASE("members that this version does not know survive a round trip at every level") {
  Json json = Json::parse(to_json(full()));
  json["new"] = {1, 2, {{"deep", "er"}}};
  for (const char* name : {"prediction", "table", "images", "audio", "text", "data"}) {
    json[name]["new"] = name;
  }
  for (const char* name : {"inputs", "preprocessing"}) json[name][0]["new"] = name;
  DataRecord record = from_json(json.dump());
  record.classes = {"changed"};
  record.data.rows = 7;
  const Json back = Json::parse(to_json(record));
  json["classes"] = {"changed"};
  json["data"]["rows"] = 7;
  CHECK(back == json);
  CHECK_THAT(error_of(R"({"version":1,"version":1})"), Contains("two members"));
}

TEST_CASE("an unknown meaning is unknown, and is kept only until it is replaced") {
  const DataRecord record =
      from_json(R"({"version":1,"prediction":{"output":"y","meaning":"of a later version"}})");
  CHECK(record.prediction.meaning == OutputMeaning::unknown);
  CHECK(record.prediction.output == "y");
}

TEST_CASE("what is no data record is refused, naming the member") {
  CHECK_THAT(error_of("{"), Contains("no JSON") && Contains("metadata 'ondine.data'"));
  CHECK_THAT(error_of("[]"), Contains("no JSON object"));
  CHECK_THAT(error_of("{}"), Contains("member 'version'"));
  CHECK_THAT(error_of(R"({"version":2})"), Contains("version 2 of the data record"));
  CHECK_THAT(error_of(R"({"version":1,"classes":"a"})"), Contains("'classes' is not a list"));
  CHECK_THAT(error_of(R"({"version":1,"classes":[1]})"), Contains("'classes' is not a text"));
  CHECK_THAT(error_of(R"({"version":1,"text":{"length":-1}})"), Contains("'text.length'"));
  CHECK_THAT(error_of(R"({"version":1,"text":{"length":1e3}})"), Contains("not an integer"));
  CHECK_THAT(error_of(R"({"version":1,"data":{"rows":18446744073709551615}})"),
             Contains("not an integer"));
  CHECK_THAT(error_of(R"({"version":1,"images":{"size":[0,4]}})"), Contains("'images.size'"));
  CHECK_THAT(error_of(R"({"version":1,"images":{"fit":"letterbox"}})"), Contains("'letterbox'"));
  CHECK_THAT(error_of(R"({"version":1,"text":{"pieces":"?"}})"), Contains("base64"));
  CHECK_THAT(error_of(R"({"version":1,"new":)" + std::string(100'000, '[') +
                      std::string(100'000, ']') + "}"),
             Contains("levels of JSON"));
}

TEST_CASE("separate entries of earlier versions are read, and go when a record is written") {
  Metadata metadata{{"ondine.loss", "ctc"},
                    {"ondine.prediction", "logits"},
                    {"ondine.label", "truth"},
                    {"ondine.ctc_blank", "4"},
                    {"ondine.class_axis", "2"},
                    {"ondine.class_axis_of", "out"},
                    {"ondine.classes", "2"},
                    {"ondine.class_names", "a\nb"},
                    {"ondine.sample_rate", "8000"},
                    {"ondine.text_encoding", "sentencepiece"},
                    {"ondine.text_pieces", "cGllY2U="},
                    {"ondine.text_column", "message"},
                    {"ondine.text_length", "9"},
                    {"ondine.preprocess", "x: uint8 nhwc resize 5x6 scale 1/4\ny: float"},
                    {"ondine.learning_rate", "rate"}};
  CHECK(has_record(metadata));
  const DataRecord record = read_record(metadata);
  CHECK(record.prediction.loss == "ctc");
  CHECK(record.prediction.value == "logits");
  CHECK(record.prediction.label == "truth");
  CHECK(record.prediction.ctc_blank == 4);
  CHECK(record.prediction.class_axis == 2);
  CHECK(record.prediction.class_axis_of == "out");
  CHECK(record.class_count == 2);
  CHECK(record.classes == std::vector<std::string>{"a", "b"});
  CHECK(record.audio.rate == 8000);
  CHECK(record.text.encoding == "sentencepiece");
  CHECK(record.text.pieces == "piece");
  CHECK(record.text.column == "message");
  CHECK(record.text.length == 9);
  REQUIRE(record.preprocessing.size() == 2);
  CHECK(record.preprocessing[0].resize->height == 5);
  CHECK(record.preprocessing[0].resize->width == 6);
  CHECK(record.preprocessing[1].input == "y");
  CHECK(record.preprocessing[1].description == "float");
  write_record(metadata, record);
  REQUIRE(metadata.size() == 2);
  CHECK(metadata[0].first == "ondine.learning_rate");
  CHECK(read_record(metadata).text.pieces == "piece");
}
