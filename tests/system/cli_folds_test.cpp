// Weights of rows, cross-validation and evaluation between steps on the command line.
#include <catch2/catch.hpp>
#include <sstream>

#include <ondine/data_record.h>
#include <ondine/model.h>

#include "tests/system/run/cli_run.h"

using Catch::Contains;
using cli_test::Workshop;
using namespace ondine;

namespace {

// y = 2 a - b; rows of weight 0 say something else.
std::string table(int rows, bool has_weights) {
  std::ostringstream text;
  text << (has_weights ? "a,b,w,y\n" : "a,b,y\n");
  for (int row = 0; row < rows; ++row) {
    const double a = row % 7 - 3;
    const double b = row % 5 - 2;
    const bool counts = row % 3 != 0;
    text << a << ',' << b << ',';
    if (has_weights) text << (counts ? "2" : "0") << ',';
    text << (counts ? 2 * a - b : 100.0) << '\n';
  }
  return text.str();
}

std::size_t count_of(const std::string& text, const std::string& word) {
  std::size_t count = 0;
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; ++at) ++count;
  return count;
}

}  // namespace

TEST_CASE("finetune learns from the rows that have weight, and eval and infer know the column") {
  const Workshop shop;
  shop.write("t.csv", table(120, true));
  const std::string out =
      shop.succeed("finetune --data t.csv --weight-column w --epochs 60 --patience 0 -o m.onnx")
          .out;
  CHECK_THAT(out, Contains("weights of rows in column 'w'"));
  const std::string score = shop.succeed("eval m.onnx --data t.csv --metrics mae").out;
  CHECK(std::stod(score.substr(score.find("mae ") + 4)) < 2);
  CHECK(recorded_options(Model::load(shop / "m.onnx"), DataUse::evaluation).weights == "w");
  shop.write("plain.csv", table(12, false));
  const auto unweighed = shop.succeed("eval m.onnx --data plain.csv --metrics mae");
  CHECK_THAT(unweighed.err, Contains("every row counts alike"));
  CHECK(std::stod(unweighed.out.substr(unweighed.out.find("mae ") + 4)) > 10);
  shop.refuse("eval m.onnx --data plain.csv --weight-column v", "there is no column 'v'");
  shop.write("new.csv", "a,b\n1,2\n");
  CHECK(shop.succeed("infer m.onnx --data new.csv").err.empty());
  CHECK(shop.succeed("infer m.onnx --data t.csv").err.empty());
}

TEST_CASE("prepare takes weights where its data have them, and train wants both or none") {
  const Workshop shop;
  shop.write("t.csv", table(60, true));
  shop.succeed("new mlp --data t.csv --weight-column w -o net.onnx");
  shop.succeed("prepare net.onnx -o weighed.onnx --loss mse --row-weights");
  shop.succeed("prepare net.onnx -o plain.onnx --loss mse");
  shop.succeed("train weighed.onnx --data t.csv --weight-column w -o tuned.onnx");
  shop.refuse("train weighed.onnx --data t.csv --drop w", "--weight-column");
  shop.refuse("train plain.onnx --data t.csv --weight-column w", "--row-weights");
  shop.succeed(
      "prepare net.onnx -o raw.onnx --loss mse --data t.csv --weight-column w --standardize all");
  const std::string raw = shop.succeed("train raw.onnx --data t.csv --weight-column w").out;
  CHECK_THAT(raw, Contains("epoch 1/1: loss "));
  shop.misuse("prepare net.onnx -o x.onnx --loss triplet --row-weights", "row-weights");
}

TEST_CASE("train prints each fold, means and deviations, and what the model was trained on") {
  const Workshop shop;
  shop.succeed("prepare net.onnx -o train.onnx --loss softmax-cross-entropy --label y");
  const std::string out = shop.succeed(
                                  "train train.onnx --data data/x_train.npy data/y_train.npy --map "
                                  "x=x --epochs 2 --folds 3 "
                                  "-o tuned.onnx")
                              .out;
  for (const char* part : {"fold 1, epoch 1/2: ", "fold 3/3: loss ", "accuracy: mean ",
                           "standard deviation ", " of 3 folds",
                           "the model itself was trained on "
                           "all "}) {
    CHECK_THAT(out, Contains(part));
  }
  CHECK(count_of(out, "epoch 2/2: ") == 4);
  const std::string data = "train train.onnx --data data/x_train.npy data/y_train.npy ";
  for (const char* other :
       {"--validation-split 0.2", "--validation-data data/x_test.npy data/y_test.npy", "--seeds 2",
        "--dry-run", "--max-time 1s"}) {
    shop.misuse(data + "--folds 3 " + other, "--folds");
  }
  shop.misuse(data + "--folds 1", "--folds");
  shop.refuse("train train.onnx --data data --folds 2", "have a validation part");
}

TEST_CASE("finetune cross-validates and says so") {
  const Workshop shop;
  shop.write("t.csv", table(60, false));
  const std::string out =
      shop.succeed("finetune --data t.csv --epochs 3 --folds 3 -o tuned.onnx").out;
  CHECK_THAT(out, Contains("assumed: ") && Contains("cross-validation in 3 folds"));
  CHECK_THAT(out, Contains("fold 3/3: rmse ") && Contains("rmse: mean "));
  CHECK_THAT(out, Contains("the mean of 3 folds; wrote tuned.onnx"));
  shop.misuse("finetune --data t.csv --folds 3 --validation-split 0.5 -o x.onnx", "--folds");
}

TEST_CASE("train evaluates after every N steps, which needs validation data") {
  const Workshop shop;
  shop.succeed("prepare net.onnx -o train.onnx --loss softmax-cross-entropy --label y");
  const std::string data =
      "train train.onnx --data data/x_train.npy data/y_train.npy --batch-size 8 ";
  const std::string out = shop.succeed(data + "--validation-split 0.2 --eval-every 2").out;
  CHECK_THAT(out, Contains("epoch 1/1, step 2: loss ") && Contains("validation accuracy "));
  shop.refuse(data + "--eval-every 2", "--eval-every");
}
