// Options of train and eval against numbers that are computed from plain inference.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include <ondine/build.h>
#include <ondine/data.h>
#include <ondine/model.h>

#include "tests/system/run/cli_run.h"

using Catch::Contains;
using cli_test::Result;
using cli_test::Workshop;
using namespace ondine;
using nlohmann::json;

namespace {

const std::string prepare =
    "prepare net.onnx -o train.onnx --loss softmax-cross-entropy --optimizer adam --label y "
    "--learning-rate 0.02";
const std::string train = "train train.onnx --data data --batch-size 7 --seed 3 ";

struct Score {
  double loss = 0;  // mean cross-entropy of softmax
  double accuracy = 0;
};

Score score_of(const Workshop& shop, const std::string& model, const Tensor& x, const Tensor& y) {
  const auto results = Model::load(shop / model).infer({{"x", x}});
  const Tensor& logits = results[0].second.tensor();
  const auto values = logits.values<float>();
  const auto labels = y.values<std::int64_t>();
  const std::size_t classes = values.size() / labels.size();
  Score score;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const auto row = values.subspan(i * classes, classes);
    double sum = 0;
    for (const float one : row) sum += std::exp(static_cast<double>(one));
    const auto label = static_cast<std::size_t>(labels[i]);
    score.loss += std::log(sum) - static_cast<double>(row[label]);
    const auto best = std::max_element(row.begin(), row.end()) - row.begin();
    score.accuracy += best == static_cast<std::ptrdiff_t>(label) ? 1 : 0;
  }
  score.loss /= static_cast<double>(labels.size());
  score.accuracy /= static_cast<double>(labels.size());
  return score;
}

Score score_of(const Workshop& shop, const std::string& model, const std::string& part) {
  return score_of(shop, model, load_array(shop / ("data/x_" + part + ".npy")),
                  load_array(shop / ("data/y_" + part + ".npy")));
}

// Scores of four values of an image, NCHW, by a layer that no permutation leaves as it is.
void write_image_model(const Workshop& shop) {
  ModelBuilder b("images");
  b.input("x", DType::float32, {"N", std::int64_t{2}, std::int64_t{1}, std::int64_t{2}});
  Tensor w(DType::float32, {4, 3});
  float next = -0.5F;
  for (float& one : w.mutable_values<float>()) {
    one = next;
    next = next > 0.6F ? next - 1.3F : next + 0.4F;
  }
  const auto flat = b.node("Flatten", {"x"});
  b.node("MatMul", {flat, b.initializer("w", w)}, {}, "scores");
  b.output("scores", DType::float32, {"N", std::int64_t{3}});
  b.save(shop / "images.onnx");
}

}  // namespace

TEST_CASE("a run whose rate is 0 reports the loss and the accuracy of plain inference") {
  const Workshop shop;
  shop.succeed(prepare);
  shop.succeed(train + "--epochs 1 --set learning_rate=0 --metrics log.jsonl -o same.onnx");
  const json line = json::parse(shop.read("log.jsonl"));
  const Score training = score_of(shop, "net.onnx", "train");
  const Score validation = score_of(shop, "net.onnx", "test");
  CHECK(line["loss"].get<double>() == Approx(training.loss).epsilon(1e-5));
  CHECK(line["accuracy"].get<double>() == Approx(training.accuracy).epsilon(1e-5));
  CHECK(line["validation_loss"].get<double>() == Approx(validation.loss).epsilon(1e-5));
  CHECK(line["validation_accuracy"].get<double>() == Approx(validation.accuracy).epsilon(1e-5));
  CHECK(score_of(shop, "same.onnx", "test").loss == validation.loss);
  shop.misuse(train + "--epochs 1 --set learning_rate=", "--set");
  shop.misuse(train + "--epochs 1 --set learning_rate=fast", "'fast'");
}

TEST_CASE("validation data of its own takes the place of that of the training data") {
  const Workshop shop;
  shop.succeed(prepare);
  Tensor x = load_array(shop / "data/x_test.npy");
  for (float& one : x.mutable_values<float>()) one = 3 * one + 0.5F;
  save_array(shop / "x_other.npy", x);
  const Tensor y = load_array(shop / "data/y_test.npy");
  save_array(shop / "y_other.npy", y);
  shop.succeed(train +
               "--epochs 1 --set learning_rate=0 --metrics log.jsonl "
               "--validation-data x_other.npy y_other.npy");
  const Score other = score_of(shop, "net.onnx", x, y);
  REQUIRE(std::fabs(other.loss - score_of(shop, "net.onnx", "test").loss) > 0.01);
  const json line = json::parse(shop.read("log.jsonl"));
  CHECK(line["validation_loss"].get<double>() == Approx(other.loss).epsilon(1e-5));
}

TEST_CASE("eval takes arrays by other names, any batch size, threads and a checkpoint") {
  const Workshop shop;
  const Tensor x = load_array(shop / "data/x_test.npy");
  const Tensor y = load_array(shop / "data/y_test.npy");
  save_array(shop / "points.npy", x);
  save_array(shop / "kinds.npy", y);
  const auto accuracy = [&](const std::string& arguments) {
    const json score = json::parse(shop.succeed("eval " + arguments + " --json").out);
    CHECK(score["rows"] == y.size());
    return score["accuracy"].get<double>();
  };
  const std::string data = " --data points.npy kinds.npy --map x=points --label kinds";
  const double before = score_of(shop, "net.onnx", x, y).accuracy;
  CHECK(accuracy("net.onnx" + data) == Approx(before));
  CHECK(accuracy("net.onnx --batch-size 7 --threads 2" + data) == Approx(before));
  CHECK(accuracy("net.onnx --model-output logits" + data) == Approx(before));
  // --map tells which of two arrays that fit is meant.
  Tensor far = x.clone();
  for (float& one : far.mutable_values<float>()) one = 0.75F - 2 * one;
  save_array(shop / "far.npy", far);
  const std::string both = "net.onnx --data points.npy far.npy kinds.npy --label kinds --map x=";
  REQUIRE(score_of(shop, "net.onnx", far, y).accuracy != before);
  CHECK(accuracy(both + "points") == Approx(before));
  CHECK(accuracy(both + "far") == Approx(score_of(shop, "net.onnx", far, y).accuracy));
  shop.refuse("eval net.onnx --model-output scores" + data, "'scores'");
  shop.refuse("eval net.onnx --data points.npy kinds.npy --map x=points --label none", "--label");
  shop.succeed(prepare);
  shop.succeed(train + "--initialize --epochs 6 --checkpoint run.ckpt -o trained.onnx");
  const double after = score_of(shop, "trained.onnx", x, y).accuracy;
  REQUIRE(after > before);
  CHECK(accuracy("train.onnx --checkpoint run.ckpt" + data) == Approx(after));
  shop.refuse("eval train.onnx --checkpoint none.ckpt" + data, "none.ckpt");
}

TEST_CASE("a command that takes the checkpoint before a damaged one says so") {
  const Workshop shop;
  shop.succeed(prepare);
  shop.succeed(train + "--epochs 2 --checkpoint run.ckpt");
  const std::string input = " --checkpoint run.ckpt --input x=data/x_test.npy";
  CHECK(shop.succeed("infer train.onnx" + input).err.empty());
  shop.write("run.ckpt", "damaged");
  for (const std::string& command :
       {"infer train.onnx" + input,
        std::string("eval train.onnx --checkpoint run.ckpt --data data --label y"),
        std::string("export train.onnx --checkpoint run.ckpt -o before.onnx"),
        train + "--epochs 2 --checkpoint run.ckpt --resume"}) {
    CAPTURE(command);
    CHECK_THAT(shop.succeed(command).err,
               Catch::StartsWith("note: restored from 'run.ckpt.prev': ") &&
                   Contains("checkpoint 'run.ckpt'"));
    shop.write("run.ckpt", "damaged");
  }
}

TEST_CASE("a confusion matrix in JSON names the classes where the data has names") {
  const Workshop shop;
  shop.write("rows.csv", "a,b,c,d,kind\n1,0,0,0,ant\n0,1,0,0,bee\n0,0,1,0,cow\n");
  const std::string metrics = " --metrics confusion_matrix --json";
  const json named = json::parse(shop.succeed("eval net.onnx --data rows.csv" + metrics).out);
  CHECK(named["classes"] == json::parse(R"(["ant", "bee", "cow"])"));
  const json numbered = json::parse(shop.succeed("eval net.onnx --data data" + metrics).out);
  CHECK(numbered.contains("confusion_matrix"));
  CHECK_FALSE(numbered.contains("classes"));
}

TEST_CASE("images with channels last are transposed when --layout says so") {
  const Workshop shop;
  write_image_model(shop);
  const Tensor nchw = [] {
    Tensor x(DType::float32, {60, 2, 1, 2});
    auto values = x.mutable_values<float>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(i * 7919 % 101) / 50 - 1;
    }
    return x;
  }();
  Tensor nhwc(DType::float32, {60, 1, 2, 2});
  for (std::size_t i = 0; i < 60; ++i) {
    for (std::size_t c = 0; c < 2; ++c) {
      for (std::size_t w = 0; w < 2; ++w) {
        nhwc.mutable_values<float>()[i * 4 + w * 2 + c] = nchw.values<float>()[i * 4 + c * 2 + w];
      }
    }
  }
  Tensor y(DType::int64, {60});
  for (std::size_t i = 0; i < 60; ++i) {
    y.mutable_values<std::int64_t>()[i] = static_cast<std::int64_t>(i % 3);
  }
  const double wanted = score_of(shop, "images.onnx", nchw, y).accuracy;
  save_array(shop / "label.npy", y);
  const auto accuracy = [&](const Tensor& x, const std::string& layout) {
    save_array(shop / "x.npy", x);
    const std::string out =
        shop.succeed("eval images.onnx --data x.npy label.npy --json " + layout).out;
    return json::parse(out)["accuracy"].get<double>();
  };
  CHECK(accuracy(nchw, "") == Approx(wanted));
  CHECK(accuracy(nchw, "--layout nchw") == Approx(wanted));
  CHECK(accuracy(nhwc, "--layout nhwc") == Approx(wanted));
}

TEST_CASE("a time limit has a unit, and ends the run when it is over") {
  const Workshop shop;
  shop.succeed(prepare);
  const std::string start = train + "--initialize --epochs ";
  const std::string run = start + "2 --max-time ";
  for (const char* time : {"1ms", "0.001", "0.001s", "0.00002m", "0.00002min", "3e-7h"}) {
    CAPTURE(time);
    // No processor trains 400 epochs in a millisecond.
    CHECK_THAT(shop.succeed(start + "400 --max-time " + time).out, Contains("time limit"));
  }
  for (const char* time : {"600000ms", "600", "600s", "10m", "10min", "0.5h"}) {
    CAPTURE(time);
    CHECK_THAT(shop.succeed(run + time).out, Contains("epoch 2/2") && !Contains("time limit"));
  }
  for (const char* time : {"0", "-1s", "5y", "s", "soon", "1e300h", "10mm"}) {
    shop.misuse(run + time, "--max-time needs a time such as 90s, 10m or 1.5h");
  }
}

TEST_CASE("a run that fails says in which epoch and step") {
  const Workshop shop;
  shop.succeed(prepare);
  Tensor labels = load_array(shop / "data/y_train.npy");
  labels.mutable_values<std::int64_t>()[17] = 3;
  save_array(shop / "data/y_train.npy", labels);
  const auto order = shuffled(300, 3, 0);
  const auto at = std::find(order.begin(), order.end(), 17) - order.begin();
  const Result result = shop.run(train + "--epochs 2");
  CHECK(result.exit_code == 1);
  CHECK_THAT(result.out + result.err,
             Contains("stopped in epoch 1, step " + std::to_string(at / 7 + 1) + "\n"));
}

TEST_CASE("of the names within reach the nearest is suggested, and none for a word far from all") {
  const Workshop shop;
  const auto said = [&](const std::string& word) { return shop.run(word + " net.onnx").err; };
  CHECK_THAT(said("inffo"), Contains("Did you mean 'ondine info'?"));
  CHECK_THAT(said("imfer"), Contains("Did you mean 'ondine infer'?"));
  CHECK_THAT(said("exprot"), Contains("Did you mean 'ondine export'?"));
  CHECK_THAT(said("evla"), Contains("Did you mean 'ondine eval'?"));
  CHECK_THAT(said("differentiaet"), Contains("Did you mean 'ondine differentiate'?"));
  // Three letters short of doctor and of gradcheck's beginning.
  CHECK_THAT(said("tor"), !Contains("Did you mean"));
  CHECK_THAT(said("ck"), !Contains("Did you mean"));
}

TEST_CASE("of two algorithms each is planned, timed and described on its own") {
  const Workshop shop;
  shop.succeed(prepare + " --accumulate 2");
  const auto plan = [&](const std::string& arguments) {
    return json::parse(shop.succeed("inspect train.onnx --stage plan --format json " + arguments)
                           .out)["nodes"]
        .dump();
  };
  CHECK_THAT(plan("--shape x=6x4"), !Contains("Adam"));
  CHECK_THAT(plan("--shape x=6x4 --algorithm 1"), Contains("Adam"));
  const auto operators = [&](const std::string& arguments) {
    return json::parse(shop.succeed("bench train.onnx --steps 1 --json " + arguments).out)
        .at("operators")
        .dump();
  };
  CHECK_THAT(operators(""), !Contains("Adam"));
  CHECK_THAT(operators("--algorithm 1"), Contains("Adam"));
  const json info = json::parse(shop.succeed("info train.onnx --json").out);
  REQUIRE(info["algorithms"].size() == 2);
  CHECK(info["algorithms"][0]["updates"] != info["algorithms"][1]["updates"]);
  const std::string text = shop.succeed("info train.onnx").out;
  CHECK_THAT(text, Contains("training algorithm 0: updates ") &&
                       Contains("training algorithm 1: updates ") &&
                       Contains("  learning_rate  tensor(float)[]  (default)\n"));
  shop.refuse("bench train.onnx --steps 1 --algorithm 2", "2");
  const auto step_bytes = [&](const std::string& arguments) {
    const std::string out =
        shop.succeed("info train.onnx --layers --json --shape x=6x4 " + arguments).out;
    return json::parse(out).at("step").at("arena_bytes").get<std::uint64_t>();
  };
  CHECK(step_bytes("--algorithm 0") == step_bytes(""));
  CHECK(step_bytes("--algorithm 1") != step_bytes(""));
  shop.refuse("info train.onnx --layers --algorithm 2", "2");
  CHECK_FALSE(json::parse(shop.succeed("info net.onnx --layers --json").out).contains("step"));
}

TEST_CASE("a training run says once that the processor lacks its precision") {
  const Workshop shop;
  shop.succeed(prepare);
  const auto run = [&](const std::string& precision) {
    const Result result =
        shop.run(train + "--epochs 1 --precision " + precision, "ONDINE_ISA=avx2 %");
    CHECK(result.exit_code == 0);
    return result.err;
  };
  CHECK_THAT(run("bf16"), Contains("no products in bfloat16"));
  CHECK(run("float32").empty());
}
