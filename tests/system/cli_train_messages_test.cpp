// Messages of a training run about models, about data, and about where it stopped, word by word.
#include <catch2/catch.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <set>

#include <ondine/data.h>

#include "tests/support/models.h"
#include "tests/system/run/cli_run.h"

using Catch::Contains;
using Catch::EndsWith;
using Catch::StartsWith;
using cli_test::Result;
using cli_test::Workshop;
using namespace ondine;
using nlohmann::json;

namespace {

const std::string prepare =
    "prepare net.onnx -o train.onnx --loss softmax-cross-entropy --optimizer adam "
    "--learning-rate 0.02 --label y";
const std::string train = "train train.onnx --data data --batch-size 7 --seed 3 --initialize ";

void write_model(const Workshop& shop, const std::string& name, const graph::ModelDef& model) {
  const std::vector<std::byte> bytes = test::encode(model);
  shop.write(name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

// Linear regression, with a dim that is tolerated with a warning.
void write_sloppy(const Workshop& shop) {
  graph::ModelDef model = test::linear_regression(0.1F);
  model.graph.inputs[0].type.dims->front() = std::int64_t{-1};
  write_model(shop, "sloppy.onnx", model);
  graph::ModelDef plain = model;
  plain.training.clear();
  write_model(shop, "plain.onnx", plain);
  save_array(shop / "x.npy", Tensor::of<float>({3, 2}, {1, 2, -1, 0.5F, 0.25F, -2}));
  save_array(shop / "t.npy", Tensor::of<float>({3, 1}, {1, 0, 2}));
}

// v <- v - `rate` in every step, where `rate` is an input without a default; loss is v.
graph::ModelDef falling(const std::string& rate) {
  graph::ModelDef model = test::linear_regression(0);
  model.graph.inputs.clear();
  model.graph.initializers = {{"v", Tensor::scalar(8.0F), "", {}}};
  model.graph.nodes = {test::node("Identity", {"v"}, {"y"})};
  model.graph.outputs = {test::tensor_value("y", DType::float32, {})};
  model.training.resize(1);
  graph::TrainingInfoDef info;
  info.algorithm.emplace();
  info.algorithm->name = "step";
  info.algorithm->inputs = {test::tensor_value(rate, DType::float32, {})};
  info.algorithm->nodes = {test::node("Sub", {"v", rate}, {"v_new"}),
                           test::node("Identity", {"v"}, {"loss"})};
  info.algorithm->outputs = {test::tensor_value("v_new", DType::float32, {}),
                             test::tensor_value("loss", DType::float32, {})};
  info.update_binding = {{"v", "v_new"}};
  model.training[0] = info;
  return model;
}

struct Stop {
  unsigned long epoch = 0;
  unsigned long rows = 0;
};

Stop stop_of(const Result& result, const std::string& rest) {
  INFO(result.out << result.err);
  Stop stop;
  REQUIRE(std::sscanf(result.err.c_str(), "ondine: interrupted in epoch %lu after %lu of 300 rows",
                      &stop.epoch, &stop.rows) == 2);
  CHECK(result.err == "ondine: interrupted in epoch " + std::to_string(stop.epoch) + " after " +
                          std::to_string(stop.rows) + " of 300 rows" + rest);
  CHECK(stop.epoch >= 2);
  CHECK((stop.rows == 300 || (stop.rows < 300 && stop.rows % 7 == 0)));
  return stop;
}

}  // namespace

TEST_CASE("every command that runs or rewrites a model prints its warnings once") {
  const Workshop shop;
  write_sloppy(shop);
  const std::string warning = "warning: dimension -1 is negative, in value 'x', in graph '";
  for (const char* command :
       {"info sloppy.onnx", "info sloppy.onnx --layers", "inspect sloppy.onnx --stage graph",
        "inspect sloppy.onnx --stage plan --shape x=3x2 --shape t=3x1",
        "train sloppy.onnx --data x.npy t.npy --batch-size 2 --epochs 1",
        "train sloppy.onnx --data x.npy t.npy --batch-size 2 --epochs 1 --quiet",
        "train sloppy.onnx --data x.npy t.npy --batch-size 2 --epochs 1 --dry-run",
        "eval sloppy.onnx --data x.npy t.npy --label t", "infer sloppy.onnx --input x=x.npy",
        "infer sloppy.onnx --data x.npy", "export sloppy.onnx -o out.onnx",
        "bench sloppy.onnx --steps 1 --shape x=3x2 --shape t=3x1",
        "prepare plain.onnx -o trained.onnx --loss mse"}) {
    CAPTURE(command);
    const std::string text = shop.succeed(command).err;
    CHECK_THAT(text, StartsWith(warning));
    CHECK(text.find("warning: ", 1) == std::string::npos);
  }
}

TEST_CASE("an interrupted run says in which epoch and after how many rows, and goes on there") {
  const Workshop shop;
  shop.succeed(prepare);
  const std::string interrupt = "; do sleep 0.01; done; kill -INT $pid; wait $pid";
  const Result saved =
      shop.run(train + "--epochs 100000 --checkpoint run.ckpt",
               "env --default-signal=INT % & pid=$!; while ! test -e run.ckpt" + interrupt);
  CHECK(saved.exit_code == 130);
  const Stop stop = stop_of(saved, "; saved to 'run.ckpt', go on with --resume\n");
  const std::string epochs = std::to_string(stop.epoch);
  CHECK_THAT(saved.out, EndsWith("\n\n") &&
                            Contains("epoch " + std::to_string(stop.epoch - 1) + "/100000: ") &&
                            !Contains("epoch " + epochs + "/100000: ") && !Contains("wrote"));
  CHECK_THAT(shop.succeed(train + "--checkpoint run.ckpt --resume --epochs " + epochs).out,
             StartsWith("epoch " + epochs + "/" + epochs + ": ") && !Contains("nothing to do"));
  CHECK(shop.succeed(train + "--checkpoint run.ckpt --resume --epochs " + epochs).out ==
        "nothing to do: the run of 'run.ckpt' has " + epochs + " of " + epochs +
            " epochs and is finished\n");
  const Result lost =
      shop.run(train + "--epochs 100000 --metrics m.jsonl -o none.onnx",
               "env --default-signal=INT % & pid=$!; while ! test -s m.jsonl; do sleep 0.01; done; "
               "kill -TERM $pid; wait $pid");
  CHECK(lost.exit_code == 143);
  stop_of(lost, "; nothing was saved (no --checkpoint)\n");
  CHECK_FALSE(exists(shop / "none.onnx"));
}

TEST_CASE("a second interrupt ends a run at once, in the middle of a step") {
  const Workshop shop;
  graph::GraphDef body;
  body.name = "body";
  body.inputs = {test::tensor_value("i", DType::int64, {}),
                 test::tensor_value("go", DType::boolean, {}),
                 test::tensor_value("n", DType::float32, {})};
  body.nodes = {test::node("Identity", {"go"}, {"go_on"}), test::node("Neg", {"n"}, {"next"})};
  body.outputs = {test::tensor_value("go_on", DType::boolean, {}),
                  test::tensor_value("next", DType::float32, {})};
  graph::ModelDef model = falling("rate");
  model.graph.initializers.push_back(
      {"count", Tensor::scalar(std::int64_t{1'000'000'000}), "", {}});
  graph::GraphDef& step = *model.training[0].algorithm;
  step.nodes = {test::node("Loop", {"count", "", "v"}, {"far"},
                           {{"body", std::make_shared<const graph::GraphDef>(body)}}),
                test::node("Sub", {"far", "rate"}, {"v_new"}),
                test::node("Identity", {"v"}, {"loss"})};
  write_model(shop, "long.onnx", model);
  const Result result =
      shop.run("train long.onnx --epochs 1 --set rate=1 --deadline 100 --metrics m.jsonl",
               "env --default-signal=INT % & pid=$!; while ! test -e m.jsonl; do sleep 0.01; done; "
               "sleep 0.1; "
               "while kill -INT $pid 2>none; do sleep 0.05; done; wait $pid");
  CHECK(result.exit_code == 130);
  CHECK_THAT(result.err, !Contains("ondine: "));
}

TEST_CASE("a step that fails is told apart from data that nothing was done with") {
  const Workshop shop;
  shop.succeed(prepare);
  Tensor labels = load_array(shop / "data/y_train.npy");
  labels.mutable_values<std::int64_t>()[17] = 3;
  save_array(shop / "data/y_train.npy", labels);
  const Result first =
      shop.run("train train.onnx --data data --batch-size 300 --epochs 2 -o out.onnx");
  CHECK(first.exit_code == 1);
  CHECK(first.out.empty());
  CHECK_THAT(first.err, StartsWith("ondine: ") && !Contains("stopped in"));
  CHECK_FALSE(exists(shop / "out.onnx"));
}

TEST_CASE("a line of metrics has these numbers and no others, and follows those of the run") {
  const Workshop shop;
  shop.succeed(prepare);
  const auto lines = [&] {
    const std::string text = shop.read("m.jsonl");
    std::vector<json> result;
    for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
      result.push_back(json::parse(text.substr(at, text.find('\n', at) - at)));
    }
    return result;
  };
  const std::string run = train + "--metrics m.jsonl --checkpoint run.ckpt --epochs ";
  shop.succeed(run + "2");
  shop.succeed(run + "4 --resume");
  auto all = lines();
  REQUIRE(all.size() == 4);
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::set<std::string> keys;
    for (const auto& [key, value] : all[i].items()) keys.insert(key);
    CHECK(keys == std::set<std::string>{"epoch", "step", "rows", "seconds", "loss", "accuracy",
                                        "validation_loss", "validation_accuracy"});
    CHECK(all[i]["epoch"] == i + 1);
    CHECK(all[i]["step"] == 43 * (i + 1));
    CHECK(all[i]["rows"] == 300);
    CHECK(all[i]["seconds"] > 0);
  }
  shop.succeed(train + "--metrics m.jsonl --epochs 1");
  CHECK(lines().size() == 1);
}

TEST_CASE("an input needs no data where an option feeds it") {
  const Workshop shop;
  for (const std::string name : {"rate", "learning_rate", "my_learning_rate_2"}) {
    CAPTURE(name);
    write_model(shop, "falling.onnx", falling(name));
    const std::string run = "train falling.onnx --epochs 3 -o fallen.onnx";
    const std::string missing = "--data is required: the training algorithm has the input '" +
                                name + "'\nRun with --help for more information.\n";
    const Result none = shop.run(run);
    CHECK(none.exit_code == 2);
    CHECK(none.err == missing);
    shop.succeed(run + " --set " + name + "=0.5");
    CHECK(shop.succeed("infer fallen.onnx").out == "y  float[]  6.5\n");
    CHECK(shop.run(run + " --set " + name + "x=0.5").exit_code == 2);
    const Result rate = shop.run(run + " --learning-rate 2");
    if (name == "rate") {
      CHECK(rate.err == missing);
    } else {
      CHECK(rate.exit_code == 0);
      CHECK(shop.succeed("infer fallen.onnx").out == "y  float[]  2\n");
    }
  }
}

TEST_CASE("a dry run without data counts the steps that it made") {
  const Workshop shop;
  write_model(shop, "falling.onnx", falling("rate"));
  const std::string out = shop.succeed("train falling.onnx --epochs 7 --set rate=1 --dry-run").out;
  CHECK_THAT(out, StartsWith("plan        ") && Contains(" nodes for batches of 1\nmemory      ") &&
                      Contains("steps       1 in an epoch, 7 epochs\ntime        ") &&
                      Contains(" ms (with the start of the run), ") &&
                      Contains("; an epoch takes about ") && EndsWith(" s\nnothing was written\n"));
  CHECK_THAT(out, Contains(" at ") && !Contains("epoch 1"));
  const Result one = shop.succeed("train falling.onnx --epochs 1 --set rate=1 --dry-run");
  CHECK_THAT(one.out, EndsWith(" ms (with the start of the run)\nnothing was written\n"));
}

TEST_CASE("a dry run shows rows, columns and up to twenty classes with their rows") {
  const Workshop shop;
  for (const std::int64_t classes : {20, 21}) {
    CAPTURE(classes);
    Tensor y(DType::int64, {45});
    for (std::size_t i = 0; i < 45; ++i) {
      y.mutable_values<std::int64_t>()[i] = static_cast<std::int64_t>(i) % classes;
    }
    save_array(shop / "x.npy", Tensor(DType::float32, {45, 4}));
    save_array(shop / "y.npy", y);
    shop.succeed("prepare net.onnx -o wide.onnx --loss softmax-cross-entropy --label y --head 21");
    std::string counts = "  " + std::to_string(classes) + " classes";
    for (std::int64_t i = 0; i < 20; ++i) {
      const std::int64_t rows = 45 / classes + (i < 45 % classes ? 1 : 0);
      counts += (i == 0 ? ": " : ", ") + std::to_string(i) + " " + std::to_string(rows);
    }
    CHECK_THAT(
        shop.succeed("train wide.onnx --data x.npy y.npy --batch-size 10 --epochs 2 --dry-run").out,
        StartsWith("training    45 rows: x float[45, 4], y int64[45]\n" + counts +
                   (classes > 20 ? ", ...\nplan        " : "\nplan        ")) &&
            Contains("steps       5 in an epoch, 2 epochs\n"));
  }
  shop.succeed(prepare);
  CHECK_THAT(shop.succeed(train + "--epochs 1 --dry-run").out, Contains("\nvalidation  90 rows: "));
}
