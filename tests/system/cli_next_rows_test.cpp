// Models of the next token trained on prompts and their completions from the command line.
#include <catch2/catch.hpp>

#include <ondine/build.h>

#include "tests/support/random_tensor.h"
#include "tests/system/run/cli_run.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;
using cli_test::Workshop;

namespace {

// Writes a decoder that tells the next id by the last one; its scores are [N, T, ids].
void write_decoder(const Workshop& shop) {
  ModelBuilder b("bigrams");
  const std::string ids = b.input("input_ids", DType::int64, {"N", "T"});
  const std::string table = b.initializer("table", random_floats({256, 16}, 1, -0.5F, 0.5F));
  const std::string head = b.initializer("head", random_floats({16, 256}, 2, -0.5F, 0.5F));
  b.node("MatMul", {b.node("Gather", {table, ids}), head}, {}, "logits");
  b.output("logits", DType::float32, {"N", "T", 256});
  const std::vector<std::byte> bytes = b.bytes();
  shop.write("net.onnx", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// Writes a decoder with one layer of causal attention, without projections.
void write_attention(const Workshop& shop) {
  ModelBuilder b("attention");
  const auto integer = [&](const char* name, std::int64_t value) {
    return b.initializer(name, Tensor::scalar(value));
  };
  const std::string ids = b.input("input_ids", DType::int64, {"N", "T"});
  const std::string table = b.initializer("table", random_floats({256, 16}, 1, -1, 1));
  const std::string head = b.initializer("head", random_floats({16, 256}, 2, -0.5F, 0.5F));
  const std::string x = b.node("Gather", {table, ids});
  const std::string length = b.node("Gather", {b.node("Shape", {ids}), integer("tokens", 1)});
  const std::string keys = b.node("Range", {integer("first", 0), length, integer("step", 1)});
  const std::string queries =
      b.node("Unsqueeze", {keys, b.initializer("axes", Tensor::of<std::int64_t>({1}, {1}))});
  const std::string scores = b.node(
      "MatMul", {x, b.node("Transpose", {x}, {{"perm", std::vector<std::int64_t>{0, 2, 1}}})});
  const std::string seen = b.node("Where", {b.node("LessOrEqual", {keys, queries}), scores,
                                            b.initializer("least", Tensor::scalar(-3e38F))});
  const std::string y = b.node("MatMul", {b.node("Softmax", {seen}), x});
  b.node("MatMul", {y, head}, {}, "logits");
  b.output("logits", DType::float32, {"N", "T", 256});
  const std::vector<std::byte> bytes = b.bytes();
  shop.write("net.onnx", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

const std::string prepare =
    "prepare net.onnx -o train.onnx --loss softmax-cross-entropy --optimizer adam "
    "--learning-rate 0.1 --init keep ";
const std::string train = "train train.onnx --data rows.jsonl --epochs 60 --batch-size 3 ";

void write_rows(const Workshop& shop) {
  std::string rows;
  for (const char* start : {"k", "qk", "wqk"}) {
    rows += std::string(R"({"prompt": ")") + start + "\", \"completion\": \"abc\"}\n";
  }
  shop.write("rows.jsonl", rows);
}

}  // namespace

TEST_CASE("prompts and completions train a decoder, which keeps how they were read") {
  const Workshop shop;
  write_decoder(shop);
  write_rows(shop);
  shop.succeed(prepare + "--ignore-index -100");
  shop.succeed(train + "-o tuned.onnx --checkpoint run.ckpt");
  // Each token of an answer follows from the one before it.
  CHECK_THAT(shop.succeed("eval tuned.onnx --data rows.jsonl --metrics accuracy").out,
             Contains("accuracy 1"));
  CHECK_THAT(shop.succeed("infer tuned.onnx --data rows.jsonl --top 1").out, Contains("a"));
  shop.refuse("eval tuned.onnx --data rows.jsonl --loss-on all",
              "--loss-on counts other tokens than the model was trained with");
  shop.refuse(train + "--checkpoint run.ckpt --resume --loss-on all", "--loss-on");
}

TEST_CASE("what follows a prompt is learnt alone, unless all tokens are to be") {
  const Workshop shop;
  write_decoder(shop);
  write_rows(shop);
  shop.succeed(prepare + "--ignore-index -100");
  shop.succeed(train + "-o answers.onnx");
  shop.succeed(train + "-o all.onnx --loss-on all");
  shop.write("all.jsonl", R"({"text": "wqkabc"})");
  const auto accuracy = [&](const std::string& model) {
    const std::string out =
        shop.succeed("eval " + model + " --data all.jsonl --metrics accuracy").out;
    return std::stod(out.substr(out.find("accuracy ") + 9));
  };
  CHECK(accuracy("all.onnx") == 1);
  CHECK(accuracy("answers.onnx") < 0.9);
}

TEST_CASE("a loss that counts every label is refused rows with labels that do not count") {
  const Workshop shop;
  write_decoder(shop);
  write_rows(shop);
  shop.succeed(prepare);
  shop.refuse(train,
              "labels of the data that do not count are -100, the model's loss leaves out none: "
              "prepare it with --ignore-index -100");
}

TEST_CASE("the label that the loss leaves out is that of the data") {
  const Workshop shop;
  write_decoder(shop);
  write_rows(shop);
  shop.succeed(prepare + "--ignore-index -1");
  shop.succeed(train + "-o tuned.onnx");
  CHECK_THAT(shop.succeed("eval tuned.onnx --data rows.jsonl --metrics accuracy").out,
             Contains("accuracy 1"));
}

TEST_CASE("rows that are cut off are said, and refused where none is left") {
  const Workshop shop;
  write_decoder(shop);
  write_rows(shop);
  shop.succeed(prepare + "--ignore-index -100");
  const std::string notes = shop.succeed(train + "--text-length 2").err;
  CHECK_THAT(notes, Contains("note: 3 of 3 rows are cut off after 2 ids") &&
                        Contains("note: 1 of 3 rows are left out: they have no token to learn"));
  shop.write("rows.jsonl", R"({"prompt": "abc", "completion": "d"})");
  shop.refuse(train + "--text-length 2", "no row has a token to learn within 2 ids");
}

TEST_CASE("finetune leaves labels that do not count out of the loss by itself") {
  const Workshop shop;
  write_decoder(shop);
  write_rows(shop);
  shop.succeed("finetune net.onnx --data rows.jsonl --epochs 2 --batch-size 3 -o tuned.onnx");
  CHECK_THAT(shop.succeed("eval tuned.onnx --data rows.jsonl --metrics perplexity").out,
             Contains("perplexity"));
}

TEST_CASE("conversations are trained by a template that the model keeps") {
  const Workshop shop;
  write_decoder(shop);
  shop.write("rows.jsonl", R"({"messages": [{"role": "user", "content": "qk"}, )"
                           R"({"role": "assistant", "content": "abc"}]})");
  shop.write("t.jinja", "{% for m in messages %}{{ m.content }}{% endfor %}");
  shop.succeed(prepare + "--ignore-index -100");
  shop.refuse(train, "conversations need a template (--chat-template)");
  shop.succeed(train + "--chat-template t.jinja -o tuned.onnx");
  CHECK_THAT(shop.succeed("eval tuned.onnx --data rows.jsonl --metrics accuracy").out,
             Contains("accuracy 1"));
  shop.refuse("eval tuned.onnx --data rows.jsonl --chat-template chatml",
              "--chat-template 'chatml' is not what the model was trained with");
}

TEST_CASE("rows of several texts train as a row for each") {
  const Workshop shop;
  write_attention(shop);
  write_rows(shop);
  shop.succeed(prepare + "--ignore-index -100 --packing");
  const std::string one = "train train.onnx --data rows.jsonl --epochs 1 --batch-size 3 ";
  const auto loss = [&](const std::string& more) {
    const std::string out = shop.succeed(one + "--text-length 12 " + more).out;
    return std::stod(out.substr(out.find("loss ") + 5));
  };
  const double alone = loss("");
  CHECK(alone > 0);
  CHECK(loss("--pack") == Approx(alone).epsilon(1e-5));
  CHECK_THAT(shop.succeed(one + "--text-length 12 --pack").err,
             Contains("note: 3 texts are packed into 2 rows of 12 ids"));
  shop.refuse(one + "--pack", "--text-length");
  // After a note on the rows.
  const auto refuse = [&](const std::string& arguments, const char* text) {
    const cli_test::Result result = shop.run(arguments);
    CHECK(result.exit_code != 0);
    CHECK_THAT(result.err, Contains(text));
  };
  refuse("eval train.onnx --data rows.jsonl --text-length 12 --pack",
         "evaluation rows of one text");
  shop.succeed(prepare + "--ignore-index -100");
  refuse(one + "--text-length 12 --pack", "a model prepared with --packing");
  write_decoder(shop);
  shop.refuse(prepare + "--ignore-index -100 --packing", "no attention is recognized");
}
