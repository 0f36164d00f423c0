// The commands finetune and new.
#include <catch2/catch.hpp>

#include "tests/system/run/cli_run.h"
#include "tests/trainer/finetune/sample_data.h"

using namespace ondine::test;
using Catch::Contains;
using cli_test::Workshop;

TEST_CASE("finetune says what it assumed, tunes, exports and writes a report") {
  const Workshop shop;
  const auto result = shop.succeed(
      "finetune net.onnx --data data --epochs 5 "
      "--learning-rate 0.01 -o tuned.onnx --report report.html --checkpoint run.ckpt");
  CHECK_THAT(result.out, Contains("assumed: target 'y': 3 classes") &&
                             Contains("own head is kept") && Contains("epoch 5/5: loss") &&
                             Contains("wrote tuned.onnx") && Contains("report: report.html"));
  CHECK_THAT(shop.read("report.html"), Contains("<html"));
  CHECK_THAT(shop.succeed("eval tuned.onnx --data data").out, Contains("accuracy"));
  shop.refuse("finetune net.onnx --data data -o t.onnx --checkpoint run.ckpt", "run.ckpt");
  shop.succeed(
      "finetune net.onnx --data data --epochs 6 "
      "--learning-rate 0.01 -o t.onnx --checkpoint run.ckpt --overwrite");
}

TEST_CASE("finetune without a model makes one for photos, and infer serves it by names") {
  const Workshop shop;
  write_photos(shop / "photos", 20);
  const auto result = shop.succeed("finetune --data photos -o tuned.onnx --epochs 10");
  CHECK_THAT(result.out, Contains("assumed: no model is given: a new cnn") &&
                             Contains("2 classes (dark, light)"));
  CHECK_THAT(shop.succeed("infer tuned.onnx --data photos/light/1.bmp").out, Contains("light "));
  CHECK_THAT(shop.succeed("finetune --data photos -o tuned.onnx --epochs 1 --quiet").out,
             !Contains("assumed"));
}

TEST_CASE("new writes networks that check, prepare and train by hand") {
  const Workshop shop;
  write_classes(shop / "flowers.csv", 60, {"rose", "lily"});
  const auto result = shop.succeed("new mlp --data flowers.csv -o net2.onnx --seed 3");
  CHECK_THAT(result.out, Contains("wrote net2.onnx: mlp") && Contains("2 classes (lily, rose)"));
  const std::string first = shop.read("net2.onnx");
  shop.succeed("new mlp --data flowers.csv -o net2.onnx --seed 4");
  CHECK(shop.read("net2.onnx") != first);
  shop.succeed("new mlp --data flowers.csv -o net2.onnx --seed 3");
  CHECK(shop.read("net2.onnx") == first);
  shop.succeed("check net2.onnx");
  shop.succeed("prepare net2.onnx -o train.onnx --loss softmax-cross-entropy --optimizer adamw");
  shop.succeed("train train.onnx --data flowers.csv --epochs 1 --batch-size 8 -o tuned.onnx");
  CHECK_THAT(shop.succeed("finetune net2.onnx --data flowers.csv --epochs 1 -o t.onnx").out,
             Contains("untrained weights") && Contains("preprocessing that the model has"));
}

TEST_CASE("commands refuse what they do not know") {
  const Workshop shop;
  write_classes(shop / "flowers.csv", 60, {"rose", "lily"});
  shop.misuse("new gan --data flowers.csv -o n.onnx", "KIND needs mlp, cnn, unet, text or audio");
  shop.refuse("new cnn --data flowers.csv -o n.onnx", "needs images");
  CHECK(shop.run("finetune -o t.onnx").exit_code == 2);
  CHECK(shop.run("new mlp -o t.onnx").exit_code == 2);
  shop.misuse("finetune net.onnx --network mlp --data flowers.csv -o t.onnx",
              "--network excludes MODEL");
}
