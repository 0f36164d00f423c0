// Schedules, early stopping and metrics on the command line.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>
#include <sstream>

#include <ondine/data.h>

#include "tests/system/run/cli_run.h"

using cli_test::Result;
using cli_test::Workshop;
using namespace ondine;

namespace {

const std::string prepare_adam =
    "prepare net.onnx -o train.onnx --loss softmax-cross-entropy --optimizer adam "
    "--learning-rate 0.02 --label y";
const std::string train = "train train.onnx --data data --batch-size 7 --seed 3 --initialize ";

std::vector<nlohmann::json> records(const Workshop& shop, const std::string& file) {
  std::istringstream lines(shop.read(file));
  std::vector<nlohmann::json> result;
  for (std::string line; std::getline(lines, line);) result.push_back(nlohmann::json::parse(line));
  return result;
}

}  // namespace

TEST_CASE("a schedule sets the rate of every step and reports the last one of each epoch") {
  const Workshop shop;
  shop.succeed(prepare_adam);
  shop.succeed(train +
               "--epochs 4 --schedule step --step-factor 0.5 --step-every 2 --metrics m.jsonl");
  const auto lines = records(shop, "m.jsonl");
  REQUIRE(lines.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(lines[i].at("learning_rate").get<double>() == Approx(i < 2 ? 0.02 : 0.01));
    CHECK(lines[i].contains("validation_loss"));
  }
  shop.succeed(train +
               "--epochs 3 --schedule polynomial --power 2 --final-rate 0.004 "
               "--learning-rate 0.1 --metrics m.jsonl");
  CHECK(records(shop, "m.jsonl").back().at("learning_rate").get<double>() == Approx(0.004));
}

TEST_CASE("a scheduled run that is resumed ends with the same bits, and needs the same schedule") {
  const Workshop shop;
  shop.succeed(prepare_adam);
  const std::string cosine = train + "--schedule cosine --warmup 0.1 --epochs 4 ";
  shop.succeed(cosine + "-o whole.onnx");
  const Result part = shop.succeed(cosine + "--checkpoint run.ckpt --max-time 1ms");
  CHECK_THAT(part.out, Catch::Contains("time limit"));
  shop.refuse(train + "--epochs 4 --checkpoint run.ckpt --resume", "cosine");
  shop.succeed(cosine + "--checkpoint run.ckpt --resume -o parts.onnx");
  CHECK(shop.read("whole.onnx") == shop.read("parts.onnx"));
}

TEST_CASE("options that the schedule does not have, and numbers that are none, are refused") {
  const Workshop shop;
  shop.succeed(prepare_adam);
  shop.misuse(train + "--epochs 1 --final-rate 0.1", "--final-rate");
  shop.misuse(train + "--epochs 1 --schedule cosine --power 2", "--power");
  shop.misuse(train + "--epochs 1 --schedule one-cycle --step-every 2", "--step-every");
  shop.misuse(train + "--epochs 1 --schedule cosine --step-factor 2", "--step-factor");
  shop.misuse(train + "--epochs 1 --schedule cosine --warmup 1",
              "--warmup needs a number from 0 and below 1");
  shop.misuse(train + "--epochs 1 --set learning_rate=0.1x", "'0.1x'");
}

TEST_CASE("early stopping on the loss of the validation data keeps the best epoch") {
  const Workshop shop;
  shop.succeed(prepare_adam);
  const Result result =
      shop.succeed(train +
                   "--epochs 300 --patience 2 --min-delta 0.01 --checkpoint run.ckpt "
                   "--learning-rate 0.1 --metrics m.jsonl");
  CHECK_THAT(result.out, Catch::Contains("stopped early") && Catch::Contains("restored"));
  CHECK(std::filesystem::exists(shop / "run.ckpt.best"));
  shop.refuse(train + "--epochs 1 --patience 2 --monitor val_f1", "'val_loss'");
}

TEST_CASE("a run stops after as many epochs without improvement as --patience says") {
  const Workshop shop;
  shop.succeed(prepare_adam);
  for (const std::size_t patience : {1, 4}) {
    shop.succeed(train + "--epochs 9 --min-delta 1000 --metrics m.jsonl --patience " +
                 std::to_string(patience));
    CHECK(records(shop, "m.jsonl").size() == 1 + patience);
  }
}

TEST_CASE("a plateau is one of the metric that --plateau-monitor names") {
  const Workshop shop;
  shop.succeed(prepare_adam);
  const std::string plateau = train + "--epochs 1 --schedule plateau --plateau-monitor ";
  shop.succeed(plateau + "val_loss");
  shop.refuse(plateau + "val_nothing", "val_nothing");
}

TEST_CASE("eval prints the metrics of the loss that the model was prepared with") {
  const Workshop shop;
  // Three labels of a row, each 0 or 1.
  Tensor labels(DType::float32, {load_array(shop / "data/y_test.npy").shape()[0], 3});
  for (float& one : labels.mutable_values<float>()) one = 1;
  save_array(shop / "x.npy", load_array(shop / "data/x_test.npy"));
  save_array(shop / "label.npy", labels);
  shop.succeed("prepare net.onnx -o bce.onnx --loss bce");
  const Result all = shop.succeed("eval bce.onnx --data x.npy label.npy --json");
  const double accuracy = nlohmann::json::parse(all.out).at("accuracy").get<double>();
  for (float& one : labels.mutable_values<float>()) one = 0;
  save_array(shop / "label.npy", labels);
  const Result none = shop.succeed("eval bce.onnx --data x.npy label.npy --json");
  CHECK(nlohmann::json::parse(none.out).at("accuracy").get<double>() == Approx(1 - accuracy));
  CHECK(none.err.empty());
  shop.succeed("prepare net.onnx -o mae.onnx --loss mae");
  const auto numbers =
      nlohmann::json::parse(shop.succeed("eval mae.onnx --data x.npy label.npy --json").out);
  CHECK(numbers.contains("mse"));
  CHECK(numbers.contains("mae"));
  CHECK_THAT(shop.succeed("eval net.onnx --data x.npy label.npy").err, Catch::Contains("note: "));
}

TEST_CASE("each schedule takes the options that its description names and refuses the others") {
  const Workshop shop;
  shop.succeed(prepare_adam);
  const std::vector<std::pair<std::string, std::string>> options{
      {"--warmup 0.5", "constant step cosine polynomial one-cycle plateau"},
      {"--final-rate 0.001", "cosine polynomial one-cycle plateau"},
      {"--step-factor 0.5", "step plateau"},
      {"--step-every 2", "step"},
      {"--power 2", "polynomial"},
      {"--plateau-patience 1", "plateau"},
      {"--plateau-monitor loss", "plateau"}};
  for (const std::string kind :
       {"constant", "step", "cosine", "polynomial", "one-cycle", "plateau"}) {
    for (const auto& [option, kinds] : options) {
      CAPTURE(kind, option);
      const std::string run = train + "--epochs 1 --schedule " + kind + " " + option;
      if ((" " + kinds + " ").find(" " + kind + " ") != std::string::npos) {
        shop.succeed(run);
      } else {
        shop.misuse(run, option.substr(0, option.find(' ')) + " does not apply to ");
      }
    }
  }
}

TEST_CASE("a plateau falls by its factor after epochs without improvement, to its least rate") {
  const Workshop shop;
  shop.succeed(prepare_adam);
  // No data is better than the first epoch's at a rate that does nothing.
  const auto rates = [&](const std::string& options) {
    shop.succeed(train + "--epochs 7 --schedule plateau --learning-rate 1e-30 --metrics m.jsonl " +
                 options);
    std::vector<double> result;
    for (const auto& line : records(shop, "m.jsonl")) {
      result.push_back(line.at("learning_rate").get<double>() * 1e30);
    }
    return result;
  };
  const auto check = [](const std::vector<double>& got, const std::vector<double>& want) {
    REQUIRE(got.size() == want.size());
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == Approx(want[i]));
  };
  check(rates(""), {1, 1, 1, 0.1, 0.1, 0.01, 0.01});
  check(rates("--plateau-patience 1"), {1, 1, 0.1, 0.01, 0.001, 1e-4, 1e-5});
  check(rates("--plateau-patience 3 --step-factor 0.5"), {1, 1, 1, 1, 0.5, 0.5, 0.5});
  check(rates("--plateau-patience 1 --final-rate 2e-32"), {1, 1, 0.1, 0.02, 0.02, 0.02, 0.02});
}

TEST_CASE("a schedule of the model sets the rates of a run that names none") {
  const Workshop shop;
  // 43 steps an epoch.
  const std::string options = "--schedule cosine --warmup 0.1 --final-rate 0.001 ";
  const Result made =
      shop.succeed(prepare_adam + " " + options + "--schedule-steps 129 --init keep");
  CHECK_THAT(made.out, Catch::Contains("cosine to 0.001 over 129 steps, warm-up of 13 steps"));
  CHECK_THAT(shop.succeed("info train.onnx").out, Catch::Contains("learning_rate.scheduled"));
  const std::string epochs = train + "--epochs 3 ";
  const Result run = shop.succeed(epochs + "--metrics m.jsonl");
  CHECK_THAT(run.out, Catch::Contains(", learning rate 0.001, "));
  const auto in_model = records(shop, "m.jsonl");
  shop.refuse(epochs + "--schedule cosine", "schedule of its own (cosine to 0.001 over 129");
  shop.refuse(epochs + "--schedule constant", "schedule of its own");
  shop.refuse(epochs + "--warmup 0.1", "schedule of its own");
  shop.succeed(prepare_adam + " --init keep");
  shop.succeed(epochs + options + "--metrics m.jsonl");
  const auto by_trainer = records(shop, "m.jsonl");
  REQUIRE(in_model.size() == 3);
  for (std::size_t i = 0; i < 3; ++i) {
    for (const char* key : {"learning_rate", "loss", "validation_loss"}) {
      CHECK(in_model[i].at(key).get<double>() ==
            Approx(by_trainer[i].at(key).get<double>()).epsilon(1e-3));
    }
  }
}

TEST_CASE("a schedule in a model asks for the steps that it needs") {
  const Workshop shop;
  const std::string with = prepare_adam + " ";
  shop.refuse(with + "--schedule cosine", "--schedule-steps");
  shop.refuse(with + "--schedule step --schedule-steps 10", "--epoch-steps");
  CHECK(shop.run(with + "--schedule plateau --schedule-steps 10").exit_code == 2);
  shop.misuse(with + "--schedule-steps 10", "--schedule-steps needs --schedule");
  shop.misuse(with + "--epoch-steps 10", "--epoch-steps needs --schedule");
  shop.misuse(with + "--schedule cosine --power 2 --schedule-steps 9", "--power");
  CHECK(shop.run(with + "--warmup 0.1 --warmup-steps 3 --schedule-steps 9").exit_code == 2);
  CHECK(shop.run(with + "--schedule cosine --schedule-steps 0").exit_code == 2);
  CHECK_FALSE(std::filesystem::exists(shop / "train.onnx"));
  CHECK_THAT(shop.succeed(with + "--warmup-steps 3").out, Catch::Contains("warm-up of 3 steps"));
  shop.succeed(with + "--schedule step --epoch-steps 43 --step-every 2 --step-factor 0.5");
  shop.succeed(train + "--epochs 3 --metrics m.jsonl");
  CHECK(records(shop, "m.jsonl").back().at("learning_rate").get<double>() == Approx(0.01));
}
