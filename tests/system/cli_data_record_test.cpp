// Knowledge of training about its data reaches every later command: through -o, through a
// checkpoint and an export in another process, and without options.
#include <catch2/catch.hpp>
#include <sstream>

#include <ondine/build.h>
#include <ondine/data.h>
#include <ondine/export.h>

#include "tests/support/models.h"
#include "tests/support/tensors.h"
#include "tests/system/run/cli_run.h"

using cli_test::Workshop;
using namespace ondine;
using Catch::Contains;

namespace {

// Rows of two classes that column a tells apart; column b is noise, 50 times as large.
std::string table(const std::vector<std::string>& columns, int rows, const std::string& second) {
  std::ostringstream text;
  for (std::size_t i = 0; i < columns.size(); ++i) text << (i == 0 ? "" : ",") << columns[i];
  text << '\n';
  for (int row = 0; row < rows; ++row) {
    for (std::size_t i = 0; i < columns.size(); ++i) {
      text << (i == 0 ? "" : ",");
      if (columns[i] == "a") text << (row % 2 == 0 ? -1.0 - row % 7 * 0.1 : 1.0 + row % 5 * 0.1);
      if (columns[i] == "b") text << (row * 37 % 100 - 50) * 0.02;
      if (columns[i] == "kind") text << (row % 2 == 0 ? "low" : second);
      if (columns[i] == "when") text << "2020-01-0" << 1 + row % 9;
    }
    text << '\n';
  }
  return text.str();
}

void write_model(const Workshop& shop) {
  ModelBuilder b("table");
  const std::string x = b.input("x", DType::float32, {"N", 2});
  b.node("Gemm",
         {x, b.initializer("w", Tensor::of(Shape{2, 2}, std::vector<float>{0, 0, 0, 0.01F}))}, {},
         "logits");
  b.output("logits", DType::float32, {"N", 2});
  const std::vector<std::byte> bytes = b.bytes();
  shop.write("m.onnx", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  shop.succeed("prepare m.onnx -o t.onnx --loss softmax-cross-entropy --init keep");
}

constexpr const char* train =
    "train t.onnx --epochs 3 --batch-size 10 --quiet --learning-rate 0.5 ";

double accuracy(const Workshop& shop, const std::string& arguments) {
  const std::string out = shop.succeed("eval " + arguments).out;
  CHECK_THAT(out, Contains("accuracy "));
  return std::stod(out.substr(out.find("accuracy ") + 9));
}

}  // namespace

TEST_CASE("a trained file and one exported from the checkpoint say the same of every table") {
  const Workshop shop;
  write_model(shop);
  shop.write("train.csv", table({"a", "b", "kind"}, 60, "high"));
  shop.succeed(std::string(train) +
               "--data train.csv --target kind --checkpoint r.ckpt -o kept.onnx");
  shop.succeed("export t.onnx --checkpoint r.ckpt -o exported.onnx");
  shop.write("same.csv", table({"a", "b", "kind"}, 40, "high"));
  shop.write("shuffled.csv", table({"kind", "b", "a"}, 40, "high"));
  shop.write("more.csv", table({"when", "b", "kind", "a"}, 40, "high"));
  shop.write("features.csv", table({"b", "a"}, 40, "high"));
  shop.write("unknown.csv", table({"b", "a", "kind"}, 40, "never seen"));
  for (const char* model : {"kept.onnx", "exported.onnx"}) {
    INFO(model);
    const std::string eval = std::string(model) + " --data ";
    const double wanted = accuracy(shop, eval + "same.csv");
    CHECK(wanted > 0.9);
    CHECK(accuracy(shop, eval + "shuffled.csv") == wanted);
    CHECK(accuracy(shop, eval + "more.csv") == wanted);
    CHECK(accuracy(shop, std::string("t.onnx --checkpoint r.ckpt --data shuffled.csv")) == wanted);
    const std::string infer = "infer " + std::string(model) + " --top 2 --data ";
    const std::string rows = shop.succeed(infer + "same.csv").out;
    CHECK_THAT(rows, Contains("low 0.") && Contains("high 0."));
    for (const char* other : {"shuffled.csv", "more.csv", "features.csv", "unknown.csv"}) {
      INFO(other);
      CHECK(shop.succeed(infer + other).out == rows);
    }
    shop.refuse("eval " + eval + "unknown.csv", "class 'never seen'");
    shop.write("other.csv", "b,c,kind\n1,2,low\n");
    shop.refuse("eval " + eval + "other.csv", "there is no column 'a'");
    shop.refuse(infer + "other.csv", "there is no column 'a'");
  }
}

TEST_CASE("columns of validation data are matched by name") {
  const Workshop shop;
  write_model(shop);
  shop.write("train.csv", table({"a", "b", "kind"}, 60, "high"));
  shop.write("v.csv", table({"a", "b", "kind"}, 40, "high"));
  shop.write("w.csv", table({"kind", "b", "a"}, 40, "high"));
  const auto metrics = [&](const std::string& file) {
    shop.succeed(
        "train t.onnx --epochs 2 --batch-size 10 --quiet --data train.csv --target kind "
        "--validation-data " +
        file + " --metrics " + file + ".jsonl");
    const std::string text = shop.read(file + ".jsonl");
    return text.substr(text.rfind("\"validation_accuracy"));
  };
  CHECK(metrics("v.csv") == metrics("w.csv"));
}

TEST_CASE("a run does not resume with other classes, columns, rows or another seed unnoticed") {
  const Workshop shop;
  write_model(shop);
  shop.write("train.csv", table({"a", "b", "kind"}, 60, "high"));
  const std::string start = std::string(train) + "--target kind --checkpoint r.ckpt --data ";
  shop.succeed(start + "train.csv --seed 3");
  const std::string more =
      "train t.onnx --epochs 4 --batch-size 10 --quiet "
      "--checkpoint r.ckpt --resume --data ";
  shop.write("renamed.csv", table({"a", "b", "kind"}, 60, "another"));
  shop.refuse(more + "renamed.csv", "class 'another'");
  shop.write("columns.csv", table({"b", "c", "kind"}, 60, "high"));
  shop.refuse(more + "columns.csv", "there is no column 'a'");
  shop.refuse(more + "train.csv --seed 4", "the seed 3, now it is 4");
  shop.write("fewer.csv", table({"a", "b", "kind"}, 50, "high"));
  CHECK_THAT(shop.succeed(more + "fewer.csv").err,
             Contains("the data has 50 training rows, that of the checkpoint has 60"));
}

TEST_CASE("a run that stands in the midst of an epoch resumes with the same rows only") {
  const Workshop shop;
  write_model(shop);
  shop.write("train.csv", table({"a", "b", "kind"}, 60, "high"));
  shop.succeed(std::string(train) + "--target kind --checkpoint r.ckpt --data train.csv");
  shop.write("fewer.csv", table({"a", "b", "kind"}, 50, "high"));
  // A time limit of a millisecond stops within the next epoch.
  shop.succeed(
      "train t.onnx --epochs 100000 --batch-size 1 --quiet --target kind --checkpoint "
      "s.ckpt --max-time 30ms --data train.csv");
  const auto resumed = shop.run(
      "train t.onnx --epochs 100000 --batch-size 1 --quiet --checkpoint "
      "s.ckpt --resume --max-time 1ms --data fewer.csv");
  CHECK((resumed.exit_code == 0 || resumed.err.find("of an epoch") != std::string::npos));
  CHECK_THAT(resumed.err, Contains("the data has 50 training rows"));
}

TEST_CASE("numbers are shown under the name of the target, also where the table lacks it") {
  const Workshop shop;
  ModelBuilder b("line");
  const std::string x = b.input("x", DType::float32, {"N", 1});
  b.node("Gemm", {x, b.initializer("w", Tensor::of(Shape{1, 1}, std::vector<float>{2}))}, {}, "y");
  b.output("y", DType::float32, {"N", 1});
  const std::vector<std::byte> bytes = b.bytes();
  shop.write("m.onnx", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  shop.succeed("prepare m.onnx -o t.onnx --loss mse --init keep");
  shop.write("d.csv", "size,price\n1,2\n2,4\n3,6\n4,8\n");
  shop.succeed("train t.onnx --data d.csv --epochs 1 --batch-size 2 --quiet -o tuned.onnx");
  shop.write("new.csv", "size\n1\n5\n");
  shop.succeed("infer tuned.onnx --data new.csv -o out.csv");
  CHECK(shop.read("out.csv") == "file,price\n0,2\n1,10\n");
  shop.refuse("infer tuned.onnx --data m.onnx -o out.csv", "m.onnx");
  CHECK(shop.read("out.csv") == "file,price\n0,2\n1,10\n");
}
