// Metrics, records and reports on the command line.
#include <algorithm>
#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/data.h>

#include "tests/system/run/cli_run.h"

using namespace ondine;
using Catch::Contains;
using cli_test::Result;
using cli_test::Workshop;

namespace {

const std::string prepare =
    "prepare net.onnx -o train.onnx --loss softmax-cross-entropy --optimizer adam "
    "--learning-rate 0.02 --label y";
const std::string train = "train train.onnx --data data --batch-size 7 --seed 3 --initialize ";

}  // namespace

TEST_CASE("eval prints the metrics asked for, as text and as JSON") {
  const Workshop shop;
  shop.succeed(prepare);
  shop.succeed(train + "--epochs 4 -o trained.onnx");
  const std::string eval = "eval trained.onnx --data data ";
  const std::string usual = shop.succeed(eval).out;
  CHECK(usual.rfind("accuracy ", 0) == 0);
  CHECK(std::count(usual.begin(), usual.end(), '\n') == 1);
  const Result text = shop.succeed(eval + "--metrics accuracy,f1 --metrics confusion_matrix");
  CHECK_THAT(text.out, Contains(usual) && Contains("\nf1 ") && Contains("confusion matrix"));
  const std::string json = shop.succeed(eval + "--json --metrics top2,confusion_matrix").out;
  CHECK_THAT(json, Contains("\"confusion_matrix\":[[") && Contains("\"top2\":"));
  shop.refuse(eval + "--metrics acuracy", "did you mean 'accuracy'");
  shop.refuse(eval + "--metrics rmse", "softmax-cross-entropy");
  shop.misuse(eval + "--metrics accuracy,,f1", "NAME,NAME");
  CHECK(shop.succeed(eval + "--class-axis -1").out == usual);
  shop.refuse(eval + "--class-axis 2", "axis 2");
}

TEST_CASE(
    "a confusion matrix is printed with a column for each class, as wide as its widest word") {
  const Workshop shop;
  ModelBuilder b("scores");
  b.input("x", DType::float32, {"N", std::int64_t{3}});
  b.node("Identity", {"x"}, {}, "y");
  b.output("y", DType::float32, {"N", std::int64_t{3}});
  b.save(shop / "scores.onnx");
  save_array(shop / "x.npy",
             Tensor::of<float>({5, 3}, {3, 1, 0, 0, 5, 1, 9, 1, 2, 0, 0, 1, 0, 1, 0}));
  save_array(shop / "label.npy", Tensor::of<std::int64_t>({5}, {0, 1, 1, 2, 1}));
  const std::string eval = "eval scores.onnx --metrics confusion_matrix,accuracy --data ";
  CHECK(shop.succeed(eval + "x.npy label.npy").out ==
        "accuracy 0.8 over 5 rows\n"
        "confusion matrix, a row for each label, a column for each prediction\n"
        "             0      1      2\n"
        "      0      1      0      0\n"
        "      1      1      2      0\n"
        "      2      0      0      1\n");
  shop.write("rows.csv", "a,b,c,kind\n3,1,0,ant\n0,5,1,bumblebee\n9,1,2,bumblebee\n0,0,1,cow\n");
  CHECK(shop.succeed(eval + "rows.csv").out ==
        "accuracy 0.75 over 4 rows\n"
        "confusion matrix, a row for each label, a column for each prediction\n"
        "                   ant  bumblebee        cow\n"
        "        ant          1          0          0\n"
        "  bumblebee          1          1          0\n"
        "        cow          0          0          1\n");
  CHECK(shop.succeed(eval + "x.npy label.npy --json").out ==
        "{\"accuracy\":0.8,\"confusion_matrix\":[[1,0,0],[1,2,0],[0,0,1]],\"rows\":5}\n");
}

TEST_CASE("train validates by metrics and writes lines of JSON to a file, both by --metrics") {
  const Workshop shop;
  shop.succeed(prepare);
  const Result result = shop.succeed(
      "train --metrics metrics.jsonl train.onnx --data data "
      "--batch-size 7 --epochs 2 --metrics f1,confusion_matrix");
  CHECK_THAT(result.out, Contains("epoch 2/2") && Contains("validation f1"));
  CHECK_THAT(shop.read("metrics.jsonl"),
             Contains("\"validation_f1\":") && Contains("\"validation_confusion_matrix\":[["));
  shop.refuse(train + "--epochs 1 --metrics r2", "r2");
  CHECK(shop.run(train + "--epochs 1 --metrics a.json --metrics b.json").exit_code == 2);
}

TEST_CASE("a run leaves its log folder and report, and goes on in the log when resumed") {
  const Workshop shop;
  shop.succeed(prepare);
  const std::string records = "--log-dir log --report report.html --checkpoint run.ckpt ";
  shop.succeed(train + records + "--epochs 2 --metrics accuracy,confusion_matrix");
  const std::string epochs = shop.read("log/epochs.csv");
  CHECK(std::count(epochs.begin(), epochs.end(), '\n') == 3);
  CHECK_THAT(shop.read("log/steps.csv"), Contains(",0.0199999"));  // 0.02 as float
  CHECK_THAT(shop.read("report.html"), Contains("learning rate") && Contains("Confusion matrix") &&
                                           Contains("instruction set"));
  shop.refuse(train + "--log-dir log --epochs 1", "--overwrite");
  shop.succeed(train + records + "--epochs 3 --resume");
  const std::string more = shop.read("log/epochs.csv");
  CHECK(more.rfind(epochs, 0) == 0);
  CHECK(std::count(more.begin(), more.end(), '\n') == 4);
  shop.succeed(train + "--log-dir log --epochs 1 --overwrite");
  const std::string anew = shop.read("log/epochs.csv");
  CHECK(std::count(anew.begin(), anew.end(), '\n') == 2);
}

TEST_CASE("a full disk for records is a note, and the trained model is written") {
  if (!std::filesystem::exists("/dev/full")) return;
  const Workshop shop;
  shop.succeed(prepare);
  std::filesystem::create_directory(shop / "log");
  std::filesystem::create_symlink("/dev/full", shop / "log/log.jsonl");
  const Result result = shop.succeed(
      train + "--epochs 1 --log-dir log --overwrite --checkpoint run.ckpt -o trained.onnx");
  CHECK_THAT(result.err, Contains("note: records") && Contains("log.jsonl"));
  shop.succeed("eval trained.onnx --data data");
}
