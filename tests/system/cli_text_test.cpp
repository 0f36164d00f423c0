// Texts from the command line.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdio>
#include <filesystem>

#include <ondine/build.h>

#include "tests/support/random_tensor.h"
#include "tests/system/run/cli_run.h"
#include "tests/trainer/text/pieces/piece_file.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;
using cli_test::Workshop;

namespace {

void write_model(const Workshop& shop, const ModelBuilder& builder) {
  const std::vector<std::byte> bytes = builder.bytes();
  shop.write("net.onnx", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// The next id by the last one: a square of scores.
void write_bigrams(const Workshop& shop, std::int64_t size = 256) {
  ModelBuilder b("bigrams");
  const std::string ids = b.input("ids", DType::int64, {"N", 8});
  const std::string table = b.initializer("table", random_floats({size, size}, 1, -0.1F, 0.1F));
  b.node("Transpose", {b.node("Gather", {table, ids})},
         {{"perm", std::vector<std::int64_t>{0, 2, 1}}}, "logits");
  b.output("logits", DType::float32, {"N", size, 8});
  write_model(shop, b);
}

// Classes by the mean of embedded bytes.
void write_classifier(const Workshop& shop) {
  ModelBuilder b("bag");
  const std::string ids = b.input("ids", DType::int64, {"N", 12});
  const std::string table = b.initializer("table", random_floats({256, 2}, 1, -0.1F, 0.1F));
  b.node("ReduceMean", {b.node("Gather", {table, ids})},
         {{"axes", std::vector<std::int64_t>{1}}, {"keepdims", std::int64_t{0}}}, "logits");
  b.output("logits", DType::float32, {"N", 2});
  write_model(shop, b);
  std::string lines;
  for (int i = 0; i < 24; ++i) {
    lines += i % 4 == 0 ? "{\"text\": \"buy buy buy\", \"label\": \"spam\"}\n"
                        : "{\"text\": \"see you soon\", \"label\": \"ham\"}\n";
  }
  shop.write("mail.jsonl", lines);
}

std::vector<std::string> files_of(const Workshop& shop) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(shop / ".")) {
    if (entry.path().filename().string().starts_with("std")) continue;  // of the run itself
    const auto time = entry.last_write_time().time_since_epoch().count();
    names.push_back(entry.path().string() + std::to_string(time));
  }
  std::sort(names.begin(), names.end());
  return names;
}

constexpr const char* prepare_classifier =
    "prepare net.onnx -o train.onnx --loss softmax-cross-entropy --optimizer adam "
    "--learning-rate 0.05 --init keep";

}  // namespace

TEST_CASE("a model of the next byte is trained on text, evaluated and sampled from") {
  const Workshop shop;
  write_bigrams(shop);
  std::string text;
  for (int i = 0; i < 100; ++i) text += "abcd";
  shop.write("text_train.txt", text);
  shop.write("text_val.txt", text.substr(0, 81));
  shop.succeed(
      "prepare net.onnx -o train.onnx --loss softmax-cross-entropy --optimizer adam "
      "--learning-rate 0.3 --init keep");
  const auto trained = shop.succeed(
      "train train.onnx --data text_train.txt text_val.txt --epochs 8 --batch-size 10 "
      "-o tuned.onnx");
  CHECK_THAT(trained.out, Contains("validation accuracy 1"));
  // The table has learnt that b follows a, and so on: a perplexity of nearly 1.
  const auto eval = shop.succeed("eval tuned.onnx --data text_val.txt --metrics perplexity");
  CHECK_THAT(eval.out, Contains("perplexity 1.0") && Contains("over 10 rows"));
  CHECK(shop.succeed("infer tuned.onnx --prompt ab --sample 10 --temperature 0").out ==
        "abcdabcdabcd\n");
  shop.succeed("infer tuned.onnx --prompt d --sample 3 --temperature 0.2 --seed 5 -o out.txt");
  CHECK(shop.read("out.txt") == "dabc");
  shop.refuse("train train.onnx --data text_train.txt --text-length 7 --epochs 1 --batch-size 10",
              "windows have 7 ids");
  shop.write("bad.txt", "fine\nb\xe4se");
  shop.refuse("eval tuned.onnx --data bad.txt", "line 2, byte 2: not UTF-8");
  CHECK(shop.run("infer tuned.onnx --prompt a --data text_val.txt").exit_code == 2);
}

TEST_CASE("a model of the next piece is trained by a tokenizer, which it keeps") {
  const Workshop shop;
  write_bigrams(shop, 7);
  PieceFile file;
  file.add_usual()
      .add(
          "\xe2\x96\x81"
          "the",
          -1)
      .add(
          "\xe2\x96\x81"
          "cat",
          -2);
  file.add(
          "\xe2\x96\x81"
          "sat",
          -3)
      .add("s", -4);
  shop.write("small.model", file.file());
  std::string text;
  for (int i = 0; i < 120; ++i) text += "the cats sat ";
  shop.write("text_train.txt", text);
  shop.write("text_val.txt", text.substr(0, 13 * 21));
  shop.succeed(
      "prepare net.onnx -o train.onnx --loss softmax-cross-entropy --optimizer adam "
      "--learning-rate 0.3 --init keep");
  shop.succeed(
      "train train.onnx --data text_train.txt text_val.txt --tokenizer small.model --epochs 8 "
      "--batch-size 10 -o tuned.onnx --report report.html");
  CHECK_THAT(shop.read("report.html"), Contains("sentencepiece") && !Contains("text_pieces"));
  // 84 pieces, of which each one says the next: 10 windows of 8.
  const auto eval = shop.succeed("eval tuned.onnx --data text_val.txt --metrics perplexity");
  CHECK_THAT(eval.out, Contains("perplexity 1.0") && Contains("over 10 rows"));
  CHECK(shop.succeed("infer tuned.onnx --prompt the --sample 5 --temperature 0").out ==
        "the cats sat the cat\n");
  CHECK(shop.succeed("infer tuned.onnx --prompt 'the  cat' --sample 1 --temperature 0 --tokenizer "
                     "small.model")
            .out == "the  cats\n");
  shop.write("other.model", file.add("t", -9).file());
  shop.refuse("eval tuned.onnx --data text_val.txt --tokenizer other.model",
              "--tokenizer 'other.model' is not what the model was trained with");
  shop.write("bad.model", "no model");
  shop.refuse(
      "train train.onnx --data text_train.txt --tokenizer bad.model --epochs 1 --batch-size 10",
      "in SentencePiece model");
}

TEST_CASE("texts are classified with balanced weights of classes") {
  const Workshop shop;
  write_classifier(shop);
  // 18 and 6 of 24 rows: 24 / (2 18) and 24 / (2 6).
  const auto prepared =
      shop.succeed(std::string(prepare_classifier) + " --class-weights balanced --data mail.jsonl");
  CHECK_THAT(prepared.out, Contains("class weights: ham 0.666667, spam 2"));
  // A third of each class is set apart: 12 and 4 rows stay.
  CHECK_THAT(shop.succeed(std::string(prepare_classifier) +
                          " --class-weights balanced --data mail.jsonl --validation-split 0.333")
                 .out,
             Contains("class weights: ham 0.666667, spam 2"));
  shop.succeed("train train.onnx --data mail.jsonl --epochs 20 --batch-size 8 -o tuned.onnx");
  CHECK_THAT(shop.succeed("eval tuned.onnx --data mail.jsonl").out,
             Contains("accuracy 1 over 24 rows"));
  shop.write("new.jsonl", "{\"text\": \"buy it\"}\n{\"text\": \"soon you see\"}\n");
  const auto found = shop.succeed("infer tuned.onnx --data new.jsonl");
  CHECK_THAT(found.out, Contains("0  spam ") && Contains("1  ham "));
  shop.write("other.csv", "message,kind\nsee you soon,ham\n");
  shop.refuse("eval tuned.onnx --data other.csv", "");
  CHECK_THAT(
      shop.succeed("eval tuned.onnx --data other.csv --text-column message --label kind").out,
      Contains("accuracy 1 over 1 rows"));
  CHECK(shop.run(std::string(prepare_classifier) + " --class-weights balanced").exit_code == 2);
  CHECK(shop.run(std::string(prepare_classifier) + " --data mail.jsonl").exit_code == 2);
  shop.write("one.jsonl", "{\"text\": \"a\", \"label\": 1}\n");
  shop.refuse(std::string(prepare_classifier) + " --class-weights balanced --data one.jsonl",
              "class '0' has no rows");
}

TEST_CASE("classes of the data that a model is tried on are those that it was trained with") {
  const Workshop shop;
  write_classifier(shop);
  shop.succeed(prepare_classifier);
  shop.succeed("train train.onnx --data mail.jsonl --epochs 30 --batch-size 4 -o tuned.onnx");
  std::istringstream lines(shop.read("mail.jsonl"));
  std::string spam;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("\"spam\"") != std::string::npos) spam += line + "\n";
  }
  shop.write("spam.jsonl", spam);
  // Alone, "spam" would be the first class in the data.
  CHECK_THAT(shop.succeed("eval tuned.onnx --data spam.jsonl").out, Contains("accuracy 1 "));
}

TEST_CASE("a dry run prints data, plan and times and changes no file") {
  const Workshop shop;
  write_classifier(shop);
  shop.succeed(prepare_classifier);
  const auto before = files_of(shop);
  const auto run = shop.succeed(
      "train train.onnx --data mail.jsonl --validation-split 0.25 --epochs 5 --batch-size 4 "
      "--dry-run --checkpoint run.ckpt --checkpoint-every 1 --log-dir logs --report r.html "
      "-o out.onnx "
      "--metrics m.jsonl");
  CHECK(files_of(shop) == before);
  CHECK_THAT(run.out, Contains("training    18 rows: text texts[24, 12]") &&
                          Contains("2 classes: ham 13, spam 5") && Contains("validation  6 rows"));
  CHECK_THAT(run.out, Contains("nodes for batches of 4") && Contains("memory      arena ") &&
                          Contains("steps       5 in an epoch, 5 epochs") &&
                          Contains("nothing was written"));
  const std::string times = run.out.substr(run.out.find("time  "));
  std::size_t count = 0;
  for (std::size_t at = 0; (at = times.find(" ms", at)) != std::string::npos; ++at) ++count;
  CHECK(count == 3);
}

TEST_CASE("a dry run tries every output as a real run does, and leaves nothing behind") {
  const Workshop shop;
  write_classifier(shop);
  shop.succeed(prepare_classifier);
  shop.write("old.ckpt", "a run");
  std::filesystem::create_directory(shop / "old");
  shop.write("old/steps.csv", "another");
  const auto count = [&] {
    const std::filesystem::recursive_directory_iterator entries(shop / ".");
    return std::distance(begin(entries), end(entries));
  };
  shop.run("info");  // leaves what it prints
  const auto before = count();
  const std::string train = "train train.onnx --data mail.jsonl --epochs 1 --batch-size 4 ";
  for (const std::string& dry : {std::string("--dry-run "), std::string()}) {
    CAPTURE(dry);
    shop.refuse(train + dry + "-o missing/out.onnx", "cannot write 'missing/out.onnx'");
    shop.refuse(train + dry + "--metrics missing/m.jsonl", "cannot write 'missing/m.jsonl'");
    shop.refuse(train + dry + "--report missing/r.html", "cannot write 'missing/r.html'");
    shop.refuse(train + dry + "--checkpoint missing/run.ckpt", "cannot write 'missing/run.ckpt'");
    shop.refuse(train + dry + "--checkpoint old.ckpt", "(--resume)");
    shop.refuse(train + dry + "--log-dir old", "has records of another run");
    shop.refuse(train + dry + "--log-dir mail.jsonl/logs", "cannot make the folder");
  }
  shop.succeed(train + "--dry-run --checkpoint old.ckpt --log-dir old --overwrite");
  shop.succeed(train + "--dry-run --log-dir new/logs");
  CHECK(count() == before);
  CHECK(shop.read("old.ckpt") == "a run");
  CHECK(shop.read("old/steps.csv") == "another");
  shop.succeed(train + "--log-dir new/logs");
  CHECK(std::filesystem::exists(shop / "new/logs/steps.csv"));
}

TEST_CASE("several seeds give the mean and the standard deviation of the last metrics") {
  const Workshop shop;
  write_classifier(shop);
  shop.succeed(prepare_classifier);
  const std::string train = "train train.onnx --data mail.jsonl --epochs 2 --batch-size 5 ";
  std::vector<double> losses;
  for (const char* seed : {"3", "4"}) {
    const std::string out = shop.succeed(train + "--metrics m.jsonl --seed " + seed).out;
    const std::string log = shop.read("m.jsonl");
    losses.push_back(std::stod(log.substr(log.rfind("\"loss\":") + 7)));
  }
  const auto both = shop.succeed(train + "--seed 3 --seeds 2").out;
  const std::string line = both.substr(both.find("loss: mean "));
  double mean = 0;
  double deviation = 0;
  REQUIRE(std::sscanf(line.c_str(), "loss: mean %lf, standard deviation %lf", &mean, &deviation) ==
          2);
  CHECK(mean == Approx((losses[0] + losses[1]) / 2).epsilon(1e-5));
  // The deviation of two numbers is their distance over the root of 2.
  CHECK(deviation == Approx(std::abs(losses[0] - losses[1]) / std::sqrt(2.0)).epsilon(1e-4));
  CHECK(shop.run(train + "--seeds 2 -o out.onnx").exit_code == 2);
}
