// A tokenizer.json from the command line.
#include <catch2/catch.hpp>

#include <ondine/build.h>

#include "tests/support/random_tensor.h"
#include "tests/system/run/cli_run.h"
#include "tests/trainer/text/tokenizer/tokenizer_file.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;
using cli_test::Workshop;

namespace {

// The next id by the last one: a square of scores.
void write_bigrams(const Workshop& shop, std::int64_t size) {
  ModelBuilder b("bigrams");
  const std::string ids = b.input("ids", DType::int64, {"N", 8});
  const std::string table = b.initializer("table", random_floats({size, size}, 1, -0.1F, 0.1F));
  b.node("Transpose", {b.node("Gather", {table, ids})},
         {{"perm", std::vector<std::int64_t>{0, 2, 1}}}, "logits");
  b.output("logits", DType::float32, {"N", size, 8});
  const std::vector<std::byte> bytes = b.bytes();
  shop.write("net.onnx", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

TEST_CASE("a model of the next token is trained by a tokenizer.json, which it keeps") {
  const Workshop shop;
  write_bigrams(shop, 8);
  TokenizerFile file{
      byte_pairs({"Ġ", "t", "h", "e", "c", "Ġt", "Ġth", "Ġthe"}, {"Ġ t", "Ġt h", "Ġth e"})};
  file.pre_tokenizer = R"({"type":"ByteLevel","add_prefix_space":true})";
  file.decoder = R"({"type":"ByteLevel"})";
  shop.write("tokenizer.json", file.text());
  std::string text;
  for (int i = 0; i < 120; ++i) text += " the c";
  shop.write("text_train.txt", text);
  shop.write("text_val.txt", text.substr(0, 6 * 30));
  shop.succeed(
      "prepare net.onnx -o train.onnx --loss softmax-cross-entropy --optimizer adam "
      "--learning-rate 0.3 --init keep");
  shop.succeed(
      "train train.onnx --data text_train.txt text_val.txt --tokenizer tokenizer.json --epochs 8 "
      "--batch-size 10 -o tuned.onnx --report report.html");
  CHECK_THAT(shop.read("report.html"), Contains("tokenizer.json"));
  CHECK(shop.succeed("infer tuned.onnx --prompt ' the' --sample 4 --temperature 0").out ==
        " the c the \n");
  file.added_tokens = R"([{"content":"<x>"}])";
  shop.write("other.json", file.text());
  shop.refuse("eval tuned.onnx --data text_val.txt --tokenizer other.json",
              "--tokenizer 'other.json' is not what the model was trained with");
  shop.write("bad.json", R"({"model":{"type":"WordLevel","vocab":{}}})");
  shop.refuse(
      "train train.onnx --data text_train.txt --tokenizer bad.json --epochs 1 --batch-size 10",
      "'model' is of type 'WordLevel', which is not supported");
}
