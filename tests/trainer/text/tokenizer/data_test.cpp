// Data and models whose texts are cut by a tokenizer.json.
#include <catch2/catch.hpp>
#include <fstream>

#include <ondine/build.h>
#include <ondine/data.h>
#include <ondine/data_record.h>
#include <ondine/prepare.h>
#include <ondine/trainer.h>

#include "tests/support/temporary_folder.h"
#include "tests/trainer/text/tokenizer/tokenizer_file.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;
using Ids = std::vector<std::int64_t>;

namespace {

// [UNK] 0, a 1, b 2, c 3, [CLS] 4, [SEP] 5, [PAD] 6.
TextEncoding letters() {
  TokenizerFile file{word_pieces({"[UNK]", "a", "b", "c", "[CLS]", "[SEP]", "[PAD]"})};
  file.pre_tokenizer = R"({"type":"WhitespaceSplit"})";
  file.decoder = R"({"type":"WordPiece","prefix":"##","cleanup":true})";
  file.post_processor = R"({"type":"BertProcessing","sep":["[SEP]",5],"cls":["[CLS]",4]})";
  file.added_tokens = R"([{"content":"[PAD]","special":true},{"content":"[CLS]","special":true},)"
                      R"({"content":"[SEP]","special":true}])";
  return file.encoding();
}

// Scores of the next letter: b after a, c after b, a after all others.
Model next_letter() {
  Tensor table(DType::float32, {7, 7});
  for (std::int64_t from = 0; from < 7; ++from) {
    const std::int64_t to = from == 1 ? 2 : from == 2 ? 3 : 1;
    table.mutable_values<float>()[static_cast<std::size_t>(from * 7 + to)] = 5;
  }
  ModelBuilder b("next");
  const std::string ids = b.input("ids", DType::int64, {"N", "T"});
  b.node("Transpose", {b.node("Gather", {b.initializer("table", table), ids})},
         {{"perm", std::vector<std::int64_t>{0, 2, 1}}}, "logits");
  b.output("logits", DType::float32, {"N", 7, "T"});
  return Model::load(b.bytes());
}

}  // namespace

TEST_CASE("rows that are cut off end with the special tokens of a whole text") {
  const TemporaryFolder folder;
  std::ofstream(folder / "a.jsonl") << R"({"text":"a b c","label":"x"})"
                                    << "\n"
                                    << R"({"text":"a","label":"y"})"
                                    << "\n";
  DatasetOptions options;
  options.text.encoding = letters();
  const Dataset data = Dataset::open(folder / "a.jsonl", options);
  const auto row = [&](std::int64_t length, std::uint64_t at) {
    PortInfo port;
    port.name = "text";
    port.dtype = DType::int64;
    port.dims = {-1, length};
    Feeder feeder(std::vector{port}, data);
    const std::vector<std::uint64_t> rows{at};
    const auto feeds = feeder.take(rows);
    const auto values = feeds[0].second.tensor().values<std::int64_t>();
    return Ids(values.begin(), values.end());
  };
  CHECK(row(5, 0) == Ids{4, 1, 2, 3, 5});
  CHECK(row(4, 0) == Ids{4, 1, 2, 5});
  CHECK(row(1, 0) == Ids{5});
  CHECK(row(4, 1) == Ids{4, 1, 5, 6});
}

TEST_CASE("training records the tokenizer, and the exported model takes and makes texts by it") {
  const TemporaryFolder folder;
  std::string text;
  for (int i = 0; i < 20; ++i) text += "a b c ";
  std::ofstream(folder / "a.txt") << text;
  Model model =
      prepare(next_letter(), {.loss = Loss::softmax_cross_entropy, .init = WeightInit::keep});
  DatasetOptions options;
  options.text.length = 6;
  options.text.encoding = letters();
  const auto train = [&] {
    Trainer trainer(model, {.epochs = 1, .batch_size = 4});
    trainer.fit(Dataset::open(folder / "a.txt", options));
  };
  train();
  model.export_inference(folder / "out.onnx");
  const Model exported = Model::load(folder / "out.onnx");
  CHECK(data_record(exported).text.encoding == "tokenizer.json");
  CHECK(text_options(exported).encoding == letters());
  // No special token ends the prompt.
  CHECK(sample_text(exported, "c a", {.tokens = 3, .temperature = 0}) == " b c a");
  options.text.encoding = {};
  CHECK_THROWS_WITH(train(), Contains("'bytes'") && Contains("'tokenizer.json'"));
}

TEST_CASE("a file is read as a tokenizer.json by its name or its first character") {
  const TemporaryFolder folder;
  const TextEncoding encoding = letters();
  const auto bytes = encoding.model();
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  std::ofstream(folder / "named") << text;
  std::ofstream(folder / "named.json") << "\n" << text;
  CHECK(TextEncoding::open(folder / "named") == encoding);
  CHECK(TextEncoding::open(folder / "named.json").encode("a") == Ids{4, 1, 5});
  std::ofstream(folder / "bad.json") << "no JSON";
  CHECK_THROWS_WITH(TextEncoding::open(folder / "bad.json"),
                    Contains("no JSON") && Contains("in tokenizer.json") && Contains("bad.json"));
}
