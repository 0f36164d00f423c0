// Properties of texts that training remembers, and those by which text is continued.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>

#include <ondine/build.h>
#include <ondine/data_record.h>
#include <ondine/metadata.h>
#include <ondine/prepare.h>
#include <ondine/text.h>
#include <ondine/trainer.h>

#include "tests/support/random_tensor.h"
#include "tests/support/temporary_folder.h"
#include "trainer/model/model_impl.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

// ids [N, length] of bytes -> logits [N, 2] by the mean of embedded bytes.
Model classifier(ModelBuilder::Dim length, DType dtype = DType::int64) {
  ModelBuilder b("bag");
  const std::string ids = b.input("ids", dtype, {"N", length});
  const std::string table = b.initializer("table", random_floats({256, 2}, 1, -0.1F, 0.1F));
  b.node("ReduceMean", {b.node("Gather", {table, ids})},
         {{"axes", std::vector<std::int64_t>{1}}, {"keepdims", std::int64_t{0}}}, "logits");
  b.output("logits", DType::float32, {"N", 2});
  return prepare(b.bytes(), {.loss = Loss::softmax_cross_entropy, .init = WeightInit::keep});
}

// The metadata about texts after an epoch on `file`.
std::vector<std::pair<std::string, std::string>> remembered(Model& model,
                                                            const std::filesystem::path& file,
                                                            const TextOptions& text) {
  DatasetOptions options;
  options.text = text;
  Trainer(model, {.epochs = 1, .batch_size = 2}).fit(Dataset::open(file, options));
  const DataRecord::Text record = data_record(model).text;
  return {{"column", record.column},
          {"encoding", record.encoding},
          {"length", std::to_string(record.length)}};
}

using Entries = std::vector<std::pair<std::string, std::string>>;

}  // namespace

TEST_CASE("training remembers the column and the length of texts where they are chosen") {
  const TemporaryFolder folder;
  std::ofstream(folder / "mail.csv") << "message,text,label\nbuy,a,spam\nhello,b,ham\n";
  Model fixed = classifier(12);
  CHECK(remembered(fixed, folder / "mail.csv", {}) ==
        Entries{{"column", "text"}, {"encoding", "bytes"}, {"length", "0"}});
  CHECK(text_options(fixed).column == "text");
  CHECK(text_options(fixed).length == 12);
  Model chosen = classifier("T");
  CHECK(text_options(chosen).column.empty());
  CHECK(text_options(chosen).length == 0);
  TextOptions text;
  text.column = "message";
  text.length = 7;
  CHECK(remembered(chosen, folder / "mail.csv", text) ==
        Entries{{"column", "message"}, {"encoding", "bytes"}, {"length", "7"}});
  CHECK(text_options(chosen).column == "message");
  CHECK(text_options(chosen).length == 7);
  // The first run decides.
  CHECK(remembered(chosen, folder / "mail.csv", {})[0].second == "message");
  CHECK(text_options(chosen).column == "message");
}

TEST_CASE("a model that came with its tokenizer remembers how the texts of training were cut") {
  const TemporaryFolder folder;
  std::ofstream(folder / "mail.csv") << "message,text,label\nbuy,a,spam\nhello,b,ham\n";
  Model model = classifier("T");
  DataRecord given = data_record(model);
  given.text.encoding = "bytes";
  ModelAccess::set_record(model, given);
  TextOptions text;
  text.column = "message";
  text.length = 4;
  CHECK(remembered(model, folder / "mail.csv", text) ==
        Entries{{"column", "message"}, {"encoding", "bytes"}, {"length", "4"}});
  CHECK(text_options(model).length == 4);
}

TEST_CASE("a recorded length of texts counts, and without one that of the input") {
  for (const DType dtype : {DType::int64, DType::int32}) {
    for (const auto& [recorded, length] :
         std::vector<std::pair<std::int64_t, std::int64_t>>{{9, 9}, {1, 1}, {0, 12}}) {
      Model model = classifier(12, dtype);
      DataRecord record = data_record(model);
      record.text.length = recorded;
      ModelAccess::set_record(model, record);
      INFO(recorded);
      CHECK(text_options(model).length == length);
    }
  }
  CHECK(text_options(classifier("T")).length == 0);
}

TEST_CASE("what is no id is never drawn, and a recorded axis decides between two") {
  // 300 scores of 256 ids: beyond the ids the largest.
  Tensor table(DType::float32, {256, 300});
  for (std::size_t i = 0; i < 256; ++i) {
    table.mutable_values<float>()[i * 300 + 299] = 90;
    table.mutable_values<float>()[i * 300 + (i + 1) % 256] = 5;
  }
  const auto model = [&](const Tensor& scores, const std::string& axis, std::int64_t length) {
    ModelBuilder b("table");
    const std::string ids = b.input("ids", DType::int64, {"N", length});
    b.node("Gather", {b.initializer("table", scores), ids}, {}, "scores");
    b.output("scores", DType::float32, {"N", length, scores.shape()[1]});
    Model result = Model::load(b.bytes());
    if (!axis.empty()) {
      ModelAccess::set_metadata(result, "ondine.class_axis_of", "scores");
      ModelAccess::set_metadata(result, "ondine.class_axis", axis);
    }
    return result;
  };
  const SampleOptions greedy{.tokens = 4, .temperature = 0};
  CHECK(sample_text(model(table, "2", 3), "a", greedy) == "bcde");
  CHECK_THROWS_WITH(sample_text(model(table, "", 3), "a", greedy), Contains("no axis of 256"));
  Tensor square(DType::float32, {256, 256});
  for (std::size_t i = 0; i < 256; ++i) {
    square.mutable_values<float>()[i * 256 + (i + 1) % 256] = 5;
  }
  CHECK(sample_text(model(square, "2", 256), "a", greedy) == "bcde");
  CHECK_THROWS_WITH(sample_text(model(square, "", 256), "a", greedy), Contains("two axes of 256"));
}
