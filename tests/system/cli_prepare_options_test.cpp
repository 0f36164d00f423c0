// Each option of prepare has its effect on the model that is written.
#include <catch2/catch.hpp>

#include <ondine/data.h>

#include "tests/system/run/cli_run.h"

using Catch::Contains;
using cli_test::Workshop;

namespace {

// Text of a training model prepared with `options`, one statement a line.
std::string prepared(const Workshop& shop, const std::string& options) {
  shop.succeed("prepare net.onnx -o t.onnx --label y " + options);
  return shop.succeed("inspect t.onnx --stage model").out;
}

}  // namespace

TEST_CASE("coefficients of an optimizer are those of the options, each where it belongs") {
  const Workshop shop;
  const auto check = [&](const std::string& options, const std::vector<std::string>& lines) {
    const std::string text = prepared(shop, "--loss mse --optimizer " + options);
    for (const std::string& line : lines) CHECK_THAT(text, Contains(line));
  };
  const std::string given = " --learning-rate 0.3";
  const std::string momentum = given + " --momentum 0.7";
  const std::string adam = given + " --beta1 0.8 --beta2 0.95 --epsilon 0.001";
  const std::string rate = "initializer learning_rate: tensor(float)[] {0.3}\n";
  check("sgd" + given, {rate, "fc1.w.change = Mul-17(fc1.w.gradient, learning_rate)\n"});
  check("sgd --weight-decay 0.02",
        {"initializer learning_rate: tensor(float)[] {0.01}\n",
         "initializer decay: tensor(float)[] {0.02}\n", "fc1.w.decay = Mul-17(fc1.w, decay)\n",
         "fc1.w.decayed_gradient = Add-17(fc1.w.gradient, fc1.w.decay)\n"});
  check("momentum --weight-decay 0.02" + momentum,
        {rate, "{alpha = 0.7, beta = 1, mode = 'standard', norm_coefficient = 0.02}\n"});
  check("nesterov" + momentum,
        {rate, "{alpha = 0.7, beta = 1, mode = 'nesterov', norm_coefficient = 0}\n"});
  check("adagrad --weight-decay 0.02 --epsilon 0.001" + given,
        {rate, "{epsilon = 0.001, norm_coefficient = 0.02}\n"});
  check("adam --weight-decay 0.02" + adam,
        {rate, "{alpha = 0.8, beta = 0.95, epsilon = 0.001, norm_coefficient = 0.02}\n"});
  check("adamw --weight-decay 0.02" + adam,
        {rate, "{alpha = 0.8, beta = 0.95, epsilon = 0.001, norm_coefficient = 0}\n",
         "initializer decay: tensor(float)[] {0.02}\n",
         "decay.rate = Mul-17(learning_rate, decay)\n"});
  check("adam", {"{alpha = 0.9, beta = 0.999, epsilon = 1e-08, norm_coefficient = 0}\n"});
  const std::string betas = " --beta1 0.8 --beta2 0.95";
  check("lion --weight-decay 0.02" + given + betas,
        {rate, "initializer keep: tensor(float)[] {0.8}\n",
         "initializer keep_1: tensor(float)[] {0.95}\n",
         "initializer decay: tensor(float)[] {0.02}\n"});
  check("lion", {"initializer learning_rate: tensor(float)[] {1e-04}\n",
                 "initializer keep_1: tensor(float)[] {0.99}\n"});
  check("adafactor --weight-decay 0.02" + given,
        {rate, "initializer decay: tensor(float)[] {0.02}\n"});
  check("muon --weight-decay 0.02" + momentum + betas + " --epsilon 0.001",
        {rate, "initializer keep: tensor(float)[] {0.7}\n",
         "{alpha = 0.8, beta = 0.95, epsilon = 0.001, norm_coefficient = 0}\n"});
  check("schedule-free" + given + betas + " --epsilon 0.001",
        {rate, "initializer keep: tensor(float)[] {0.95}\n",
         "initializer epsilon: tensor(float)[] {0.001}\n",
         "initializer offset.part: tensor(float)[] {0.19999999}\n"});
  check("adamw-8bit --weight-decay 0.02" + adam,
        {rate, "{alpha = 0.8, beta = 0.95, epsilon = 0.001, norm_coefficient = 0}\n",
         "initializer decay: tensor(float)[] {0.02}\n"});
}

TEST_CASE("projections and distances are those of the options") {
  const Workshop shop;
  const std::string projection =
      " --learning-rate 0.3 --projection-rank 2 --projection-every 7 --projection-scale 0.5";
  for (const char* name : {"galore", "apollo"}) {
    const std::string text =
        prepared(shop, "--loss mse --optimizer " + std::string(name) + projection);
    CHECK_THAT(text, Contains("initializer learning_rate: tensor(float)[] {0.3}\n") &&
                         Contains("initializer basis.every: tensor(int64)[] {7}\n") &&
                         Contains("initializer step.scale: tensor(float)[] {0.5}\n") &&
                         Contains("fc1.w.basis <- "));
  }
  const std::string mezo =
      prepared(shop, "--loss mse --optimizer mezo --learning-rate 0.3 --distance 0.25");
  CHECK_THAT(mezo, Contains("initializer learning_rate: tensor(float)[] {0.3}\n") &&
                       Contains("scale = 0.25") &&
                       Contains("initializer slope.width: tensor(float)[] {0.125}\n"));
}

TEST_CASE("the weight decay acts on the parameters that the options say") {
  const Workshop shop;
  const std::string sgd = "--loss mse --optimizer sgd --weight-decay 0.02";
  CHECK_THAT(prepared(shop, sgd), Contains("Mul-17(fc1.b, decay)\n"));
  const std::string matrices = prepared(shop, sgd + " --decay matrices");
  CHECK_THAT(matrices, Contains("Mul-17(fc1.w, decay)\n") && !Contains("Mul-17(fc1.b, decay"));
  const std::string scaled =
      prepared(shop, sgd + " --decay-scale 'fc1.*=0.5' --decay-scale fc1.b=0");
  CHECK_THAT(scaled, Contains("initializer decay: tensor(float)[] {0.01}\n"));
  CHECK_THAT(scaled, Contains("Mul-17(fc1.w, decay)\n") && !Contains("(fc1.b, decay"));
  CHECK_THAT(scaled, Contains("Mul-17(fc2.b, decay_1)\n"));
  const auto said = shop.succeed("prepare net.onnx -o t.onnx " + sgd + " --decay matrices").out;
  CHECK_THAT(said, Contains("  decay   0.02 on 2 parameters, none on 2 vectors\n"));
  shop.misuse("prepare net.onnx -o t.onnx " + sgd + " --decay-scale fc1.w",
              "--decay-scale needs PATTERN=NUMBER, found fc1.w");
}

TEST_CASE("bounds, factors, delays and averages of updates are those of the options") {
  const Workshop shop;
  const std::string text =
      prepared(shop,
               "--loss softmax-cross-entropy --clip-norm 2 --clip-value 0.5 --lr-scale "
               "'fc1.*=0.25' --unfreeze-at fc2.b=7 --ema 0.75 --average-from 5 --loss-scale 128");
  for (const char* line : {"initializer loss_scale: tensor(float)[] {128}\n",
                           "initializer clip.upper: tensor(float)[] {0.5}\n",
                           "initializer clip.lower: tensor(float)[] {-0.5}\n",
                           "initializer clip.bound: tensor(float)[] {2}\n",
                           "initializer learning_rate.scale: tensor(float)[] {0.25}\n",
                           "initializer step.from: tensor(float)[] {6.5}\n",
                           "initializer average.from: tensor(float)[] {5}\n",
                           "initializer average.least: tensor(float)[] {0.25}\n",
                           "clip.square = ReduceSumSquare-17(fc1.w.bounded)",
                           "fc1.w.change = Mul-17(fc1.w.clipped, learning_rate.scaled)\n",
                           "fc2.w.change = Mul-17(fc2.w.clipped, learning_rate)\n",
                           "fc2.b.change = Mul-17(fc2.b.clipped, learning_rate.waiting)\n"}) {
    CHECK_THAT(text, Contains(line));
  }
  const std::string swa = prepared(shop, "--loss mse --swa");
  CHECK_THAT(swa, Contains("initializer average.least: tensor(float)[] {0}\n"));
  const std::string plain = prepared(shop, "--loss mse");
  for (const char* part : {"average", "clip", "loss_scale", "step.from"}) {
    CHECK_THAT(plain, !Contains(part));
  }
  CHECK_THAT(prepared(shop, "--loss mse --loss-scale dynamic"), Contains("loss_scale"));
  CHECK_THAT(prepared(shop, "--loss mse --loss-scale none"), !Contains("loss_scale"));
}

TEST_CASE("coefficients of losses are those of the options") {
  const Workshop shop;
  const auto check = [&](const std::string& options, const std::vector<std::string>& lines) {
    const std::string text = prepared(shop, "--loss " + options);
    for (const std::string& line : lines) CHECK_THAT(text, Contains(line));
  };
  check("huber --huber-delta 0.75", {"initializer loss.delta: tensor(float)[] {0.75}\n"});
  check("focal --focal-gamma 0.5", {"initializer loss.gamma: tensor(float)[] {0.5}\n"});
  check("triplet --margin 0.25", {"initializer loss.margin: tensor(float)[] {0.25}\n"});
  check("contrastive --margin 0.5", {"initializer loss.margin: tensor(float)[] {0.5}\n"});
  check("softmax-cross-entropy --label-smoothing 0.1 --ignore-index -1 --class-weights 1,0.5,2",
        {"initializer loss.ignored: tensor(int64)[] {-1}\n",
         "initializer loss.class_weights: tensor(float)[3] {1, 0.5, 2}\n",
         "initializer loss.rest: tensor(float)[] {0.9}\n", "ignore_index = -1}\n"});
  check("softmax-cross-entropy --soft-labels", {"input y: tensor(float)[N, 3]\n"});
  check("softmax-cross-entropy", {"input y: tensor(int64)[N]\n", "output accuracy"});
  CHECK_THAT(prepared(shop, "--loss softmax-cross-entropy --no-accuracy"), !Contains("accuracy"));
}

TEST_CASE("weights begin as --init says, and accumulated batches are counted") {
  const Workshop shop;
  CHECK_THAT(prepared(shop, "--loss mae --init he-normal"),
             Contains("fc1.w.init: tensor(float)[4, 8] = RandomNormal-17() {shape = {4, 8}, dtype "
                      "= 1, mean = 0, scale = 0.70710677}\n") &&
                 Contains("initialization binding fc1.w <- fc1.w.init\n") &&
                 Contains("fc2.w.init: tensor(float)[8, 3] = RandomNormal-17() {shape = {8, 3}, "
                          "dtype = 1, mean = 0, scale = 0.5}\n"));
  CHECK_THAT(prepared(shop, "--loss mae --init zeros"), !Contains("Random"));
  CHECK_THAT(prepared(shop, "--loss mae"), !Contains("initialization"));
  const std::string accumulated = prepared(shop, "--loss mae --accumulate 3");
  CHECK_THAT(accumulated, Contains("  training_info 1\n    algorithm update\n") &&
                              Contains("fc1.w.gradient.part = Mul-17(fc1.w.gradient, "
                                       "accumulated.rows.number)\n"));
  CHECK_THAT(shop.succeed("info t.onnx").out, Contains("training algorithm 1: updates "));
}

TEST_CASE("prepare prints why weights are kept and how the loss is scaled") {
  const Workshop shop;
  const std::string prepare = "prepare net.onnx -o t.onnx --loss mse ";
  CHECK_THAT(shop.succeed(prepare).out,
             Catch::StartsWith("t.onnx: loss 'loss', trains 4 parameters, 0 frozen\n"
                               "  loss    reads 'logits': output 'logits'\n"
                               "  init    keep, because the model has been trained: elements of "
                               "'fc1.w' differ\n"
                               "  train   fc1.w  [4, 8]  read by Gemm ") &&
                 Contains("\n  train   fc1.b  [8]     read by Gemm ") &&
                 Contains("\n  train   fc2.w  [8, 3]  read by Gemm ") && !Contains("  scale "));
  CHECK_THAT(shop.succeed(prepare + "--loss-scale 64").out,
             Contains("\n  scale   of the loss, 64\n"));
  CHECK_THAT(shop.succeed(prepare + "--loss-scale dynamic").out,
             Contains("\n  scale   of the loss, dynamic from 65536"));
  CHECK_THAT(shop.succeed(prepare + "--freeze 'fc1.*'").out,
             Catch::StartsWith("t.onnx: loss 'loss', trains 2 parameters, 2 frozen\n") &&
                 Contains("\n  freeze  fc1.b  [8]     "));
  CHECK_THAT(shop.succeed(prepare + "--last-layers 1").out,
             Contains("\n  freeze  fc1.w  [4, 8]  ") && Contains("\n  train   fc2.b  [3]     "));
  CHECK_THAT(shop.succeed(prepare + "--qat int8").out,
             Contains("  qat     rounds weights and activations of 2 layers to 8 bits; "));
}

TEST_CASE("an option of prepare that would change nothing is wrong usage") {
  const Workshop shop;
  struct Case {
    std::string options;
    std::string message;
  };
  for (const Case& one :
       {Case{"--loss mse --optimizer adam --momentum 0.9",
             "--momentum does not apply to adam; use --optimizer sgd, momentum, nesterov or muon"},
        {"--loss mse --optimizer adagrad --momentum 0.9",
         "--momentum does not apply to adagrad; use --optimizer sgd, momentum, nesterov or muon"},
        {"--loss mse --optimizer momentum --beta1 0.9",
         "--beta1 does not apply to momentum; use --optimizer adam, adamw, lion, muon, "
         "schedule-free, adamw-8bit, galore or apollo"},
        {"--loss mse --optimizer adagrad --beta2 0.9",
         "--beta2 does not apply to adagrad; use --optimizer adam, adamw, lion, muon, "
         "schedule-free, adamw-8bit, galore or apollo"},
        {"--loss mse --optimizer nesterov --epsilon 1e-8",
         "--epsilon does not apply to nesterov; use --optimizer adagrad, adam, adamw, muon, "
         "schedule-free or adamw-8bit"},
        {"--loss mse --optimizer lion --epsilon 1e-8", "--epsilon does not apply to lion"},
        {"--loss mse --optimizer adafactor --beta1 0.9", "--beta1 does not apply to adafactor"},
        {"--loss mse --optimizer adamw --projection-rank 4",
         "--projection-rank does not apply to adamw; use --optimizer galore or apollo"},
        {"--loss mse --optimizer adamw --projection-every 4",
         "--projection-every does not apply to adamw; use --optimizer galore or apollo"},
        {"--loss mse --optimizer adamw --projection-scale 4",
         "--projection-scale does not apply to adamw; use --optimizer galore or apollo"},
        {"--loss mse --optimizer adam --distance 0.1",
         "--distance does not apply to adam; use --optimizer mezo"},
        {"--loss mse --optimizer galore --epsilon 1e-8", "--epsilon does not apply to galore"},
        {"--loss mse --decay all", "--decay needs --weight-decay"},
        {"--loss mse --decay-scale fc1.w=0", "--decay-scale needs --weight-decay"},
        // Given as it is without the option, too.
        {"--loss mse --huber-delta 1", "--huber-delta does not apply to mse; use --loss huber"},
        {"--loss bce --focal-gamma 2", "--focal-gamma does not apply to bce; use --loss focal"},
        {"--loss cross-entropy --margin 2",
         "--margin does not apply to softmax-cross-entropy; use --loss triplet or contrastive"},
        {"--loss nll --ctc-blank 0", "--ctc-blank does not apply to nll; use --loss ctc"},
        {"--loss focal --label-smoothing 0.1",
         "--label-smoothing does not apply to focal; use --loss softmax-cross-entropy"},
        {"--loss focal --ignore-index 0", "--ignore-index does not apply to focal"},
        {"--loss kl --soft-labels", "--soft-labels does not apply to kl"},
        {"--loss mse --no-accuracy",
         "--no-accuracy does not apply to mse; use --loss softmax-cross-entropy, nll, kl or focal"},
        {"--loss-model net.onnx --huber-delta 2", "--huber-delta needs --loss huber"},
        {"--loss mse --average-from 3", "--average-from needs --ema or --swa"}}) {
    CAPTURE(one.options);
    const auto result = shop.run("prepare net.onnx -o t.onnx " + one.options);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.err, Contains(one.message));
    CHECK_FALSE(std::filesystem::exists(shop / "t.onnx"));
  }
  for (const char* epsilon : {"0", "-1e-8", "nan", "inf"}) {
    CAPTURE(epsilon);
    shop.misuse(
        "prepare net.onnx -o t.onnx --loss mse --optimizer adam --epsilon " + std::string(epsilon),
        "--epsilon needs a number above 0, found '" + std::string(epsilon) + "'");
  }
}

TEST_CASE("numbers that an option does not take are refused in a short sentence") {
  const Workshop shop;
  shop.succeed("prepare net.onnx -o t.onnx --loss mse");
  for (const auto& [arguments, message] :
       {std::pair<std::string, std::string>{
            "train t.onnx --data . --epochs 1 --batch-size 0",
            "--batch-size needs a whole number from 1 on, found '0'\n"},
        {"bench t.onnx --dim-size -3", "--dim-size needs a whole number from 1 on, found '-3'\n"},
        {"infer net.onnx --deadline nan",
         "--deadline needs a time such as 90s, 10m or 1.5h, found 'nan'\n"},
        {"bench t.onnx --threads 0",
         "--threads needs auto or a whole number from 1 to 1024, found '0'\n"},
        {"bench t.onnx --threads 5000",
         "--threads needs auto or a whole number from 1 to 1024, found '5000'\n"}}) {
    const auto result = shop.run(arguments);
    CHECK(result.exit_code == 2);
    CHECK_THAT(result.err, Catch::StartsWith(message));
  }
}

TEST_CASE("prepare prints the noise that it computed for an epsilon, and writes it") {
  const Workshop shop;
  const std::string options =
      "--loss softmax-cross-entropy --dp-clip 1 --dp-batch 256 --dp-epsilon 2 --dp-delta 1e-5 "
      "--dp-rows 60000 --dp-epochs 10";
  CHECK_THAT(shop.succeed("prepare net.onnx -o t.onnx --label y " + options).out,
             Contains("  privacy clip 1, noise 0.855"));
  CHECK_THAT(shop.succeed("inspect t.onnx --stage model").out, Contains("scale = 0.855"));
}
