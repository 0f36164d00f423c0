#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>

#include <ondine/build.h>
#include <ondine/prepare.h>
#include <ondine/text.h>
#include <ondine/trainer.h>

#include "tests/support/temporary_folder.h"
#include "tests/trainer/text/pieces/piece_file.h"
#include "trainer/model/model_impl.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

// ids [N, T] -> scores [N, T, C] or [N, C, T], a row of `table` for each id.
Model table_model(const Tensor& table, ModelBuilder::Dim length, bool classes_first,
                  const char* last = "Identity") {
  ModelBuilder b("table");
  const std::string ids = b.input("ids", DType::int64, {"N", length});
  std::string x = b.node("Gather", {b.initializer("table", table), ids});
  x = b.node(last, {x});
  if (classes_first) {
    x = b.node("Transpose", {x}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}});
    b.node("Identity", {x}, {}, "scores");
    b.output("scores", DType::float32, {"N", table.shape()[1], length});
  } else {
    b.node("Identity", {x}, {}, "scores");
    b.output("scores", DType::float32, {"N", length, table.shape()[1]});
  }
  return Model::load(b.bytes());
}

// The largest score after id i has id i + 1.
Tensor successors(std::int64_t count = 256) {
  Tensor table(DType::float32, {count, count});
  const auto size = static_cast<std::size_t>(count);
  for (std::size_t i = 0; i < size; ++i) {
    table.mutable_values<float>()[i * size + (i + 1) % size] = 5;
  }
  return table;
}

// 0 to 2 <unk>, <s>, </s>; 3 "a", 4 " b", 5 a space, 6 "cd", 7 "e"; the bytes from 8 on.
TextEncoding pieces() {
  PieceFile file;
  file.add_usual()
      .add("a", -1)
      .add(
          "\xe2\x96\x81"
          "b",
          -1)
      .add("\xe2\x96\x81", -2);
  return file.add("cd", -1).add("e", -1).add_bytes().encoding();
}

}  // namespace

TEST_CASE("bytes of UTF-8 are ids and back, without padding") {
  const TextEncoding bytes;
  const std::vector<std::int64_t> ids = bytes.encode("a\xc3\xbf");
  CHECK(ids == std::vector<std::int64_t>{0x61, 0xc3, 0xbf});
  CHECK(bytes.decode(ids) == "a\xc3\xbf");
  CHECK(bytes.decode(std::vector<std::int64_t>{98, 0, 99, 0}) == "bc");
  CHECK_THROWS_WITH(bytes.decode(std::vector<std::int64_t>{256}), Contains("id 256"));
  CHECK_THROWS_WITH(bytes.encode("x\ny\xa0"), Contains("line 2, byte 2"));
}

TEST_CASE("text is continued by the largest score, along either axis, beyond the window") {
  const SampleOptions greedy{.tokens = 5, .temperature = 0};
  for (const bool classes_first : {false, true}) {
    CHECK(sample_text(table_model(successors(), "T", classes_first), "xa", greedy) == "bcdef");
    CHECK(sample_text(table_model(successors(), 3, classes_first), "a", greedy) == "bcdef");
    CHECK(sample_text(table_model(successors(), 1, classes_first), "tea", greedy) == "bcdef");
    CHECK(sample_text(table_model(successors(), 4, classes_first, "Softmax"), "a", greedy) ==
          "bcdef");
  }
}

TEST_CASE("sampled bytes have the probabilities of the softmax at the temperature") {
  Tensor table(DType::float32, {256, 256});
  for (std::size_t i = 0; i < 256; ++i) {
    for (std::size_t k = 0; k < 256; ++k) table.mutable_values<float>()[i * 256 + k] = -100;
    table.mutable_values<float>()[i * 256 + 'a'] = 0;
    table.mutable_values<float>()[i * 256 + 'b'] = 1;
  }
  const Model model = table_model(table, 2, false);
  const double p = 1 / (1 + std::exp(-2.0));  // of b at temperature 0.5
  const std::string text = sample_text(model, "a", {.tokens = 4000, .temperature = 0.5, .seed = 7});
  const auto count = static_cast<double>(std::count(text.begin(), text.end(), 'b'));
  CHECK(text.find_first_not_of("ab") == std::string::npos);
  CHECK(count / 4000 == Approx(p).margin(4 * std::sqrt(p * (1 - p) / 4000)));
  CHECK(text == sample_text(model, "a", {.tokens = 4000, .temperature = 0.5, .seed = 7}));
  CHECK(text != sample_text(model, "a", {.tokens = 4000, .temperature = 0.5, .seed = 8}));
}

TEST_CASE("text is sampled from models of the next token only") {
  const Model model = table_model(successors(), 3, false);
  CHECK_THROWS_WITH(sample_text(model, ""), Contains("prompt"));
  CHECK_THROWS_WITH(sample_text(model, "a", {.temperature = -1}), Contains("temperature"));
  ModelBuilder b("other");
  b.input("x", DType::float32, {"N", 4});
  b.node("Relu", {"x"}, {}, "y");
  b.output("y", DType::float32, {"N", 4});
  CHECK_THROWS_WITH(sample_text(Model::load(b.bytes()), "a"), Contains("ids [N, T]"));
  CHECK_THROWS_WITH(sample_text(table_model(Tensor(DType::float32, {256, 9}), "T", false), "a"),
                    Contains("no axis of 256"));
}

TEST_CASE("training records how texts were read") {
  const TemporaryFolder folder;
  std::ofstream(folder / "a.txt") << std::string(60, 'a') + std::string(60, 'b');
  Model model = prepare(table_model(successors(), "T", true),
                        {.loss = Loss::softmax_cross_entropy, .init = WeightInit::keep});
  CHECK(text_options(model).length == 0);
  DatasetOptions options;
  options.text.length = 6;
  Trainer trainer(model, {.epochs = 1, .batch_size = 4});
  trainer.fit(Dataset::open(folder / "a.txt", options));
  CHECK(text_options(model).length == 6);
  model.export_inference(folder / "out.onnx");
  const Model exported = Model::load(folder / "out.onnx");
  CHECK(text_options(exported).length == 6);
  CHECK(text_options(table_model(successors(), 5, true)).length == 5);
}

TEST_CASE("text is continued piece by piece, with the spaces and characters that pieces make") {
  const TextEncoding encoding = pieces();
  const Model model = table_model(successors(encoding.size()), "T", false);
  SampleOptions greedy{.tokens = 4, .temperature = 0, .encoding = encoding};
  CHECK(sample_text(model, "a", greedy) == " b cde");
  // The first piece of a text loses its space; the same one after a prompt does not.
  greedy.tokens = 1;
  CHECK(sample_text(model, "aa", greedy) == " b");
  CHECK(sample_text(model, "b cd", greedy) == "e");
  // Bytes 0xc3 and 0xa9 are one character only together.
  Tensor table(DType::float32, {encoding.size(), encoding.size()});
  const auto put = [&](std::int64_t from, std::int64_t to) {
    table.mutable_values<float>()[static_cast<std::size_t>(from * encoding.size() + to)] = 5;
  };
  put(3, 8 + 0xc3);
  put(8 + 0xc3, 8 + 0xa9);
  put(8 + 0xa9, 2);
  put(2, 8 + 0xc3);
  const Model accents = table_model(table, 3, true);
  greedy.tokens = 2;
  CHECK(sample_text(accents, "a", greedy) == "\xc3\xa9");
  greedy.tokens = 4;
  CHECK(sample_text(accents, "a", greedy) == "\xc3\xa9\xef\xbf\xbd");
  CHECK_THROWS_WITH(sample_text(accents, "  ", greedy), Contains("prompt"));
}

TEST_CASE("training records the pieces, and the exported model takes texts by them") {
  const TemporaryFolder folder;
  std::ofstream(folder / "a.txt") << std::string(30, 'a') + std::string(30, 'e');
  const TextEncoding encoding = pieces();
  Model model = prepare(table_model(successors(encoding.size()), "T", true),
                        {.loss = Loss::softmax_cross_entropy, .init = WeightInit::keep});
  CHECK(text_options(model).encoding == TextEncoding());
  DatasetOptions options;
  options.text.length = 6;
  options.text.encoding = encoding;
  const auto train = [&] {
    Trainer trainer(model, {.epochs = 1, .batch_size = 4});
    trainer.fit(Dataset::open(folder / "a.txt", options));
  };
  train();
  train();
  CHECK(text_options(model).encoding == encoding);
  model.export_inference(folder / "out.onnx");
  const Model exported = Model::load(folder / "out.onnx");
  CHECK(text_options(exported).encoding == encoding);
  CHECK(sample_text(exported, "a", {.tokens = 4, .temperature = 0}) == " b cde");
  // Another encoding is another vocabulary.
  options.text.encoding = {};
  CHECK_THROWS_WITH(train(), Contains("'bytes'") && Contains("'sentencepiece'"));
  options.text.encoding = PieceFile().add_usual().add("a").encoding();
  CHECK_THROWS_WITH(train(), Contains("with other pieces"));
}

TEST_CASE("metadata that holds no pieces is refused") {
  const auto with = [](const std::string& name, const std::string& pieces) {
    ModelBuilder b("metadata");
    b.input("ids", DType::int64, {"N", 4});
    b.node("Identity", {"ids"}, {}, "y");
    b.output("y", DType::int64, {"N", 4});
    Model model = Model::load(b.bytes());
    ModelAccess::set_metadata(model, "ondine.text_encoding", name);
    if (!pieces.empty()) ModelAccess::set_metadata(model, "ondine.text_pieces", pieces);
    return text_options(model);
  };
  CHECK(with("bytes", "").encoding == TextEncoding());
  CHECK_THROWS_WITH(with("words", ""), Contains("'words'"));
  CHECK_THROWS_WITH(with("sentencepiece", ""), Contains("no pieces") && Contains("text.pieces"));
  CHECK_THROWS_WITH(with("sentencepiece", "?"), Contains("no base64"));
}
