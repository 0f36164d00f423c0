#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>

#include <ondine/build.h>
#include <ondine/prepare.h>
#include <ondine/text.h>
#include <ondine/trainer.h>

#include "tests/support/temporary_folder.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

// ids [N, T] -> scores [N, T, 256] or [N, 256, T], a row of `table` for each id.
Model table_model(const Tensor& table, ModelBuilder::Dim length, bool classes_first,
                  const char* last = "Identity") {
  ModelBuilder b("table");
  const std::string ids = b.input("ids", DType::int64, {"N", length});
  std::string x = b.node("Gather", {b.initializer("table", table), ids});
  x = b.node(last, {x});
  if (classes_first) {
    x = b.node("Transpose", {x}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}});
    b.node("Identity", {x}, {}, "scores");
    b.output("scores", DType::float32, {"N", 256, length});
  } else {
    b.node("Identity", {x}, {}, "scores");
    b.output("scores", DType::float32, {"N", length, 256});
  }
  return Model::load(b.bytes());
}

// The largest score after byte i has byte i + 1.
Tensor successors() {
  Tensor table(DType::float32, {256, 256});
  for (std::size_t i = 0; i < 256; ++i) {
    table.mutable_values<float>()[i * 256 + (i + 1) % 256] = 5;
  }
  return table;
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
