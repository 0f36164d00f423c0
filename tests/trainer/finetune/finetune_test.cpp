#include <algorithm>
#include <catch2/catch.hpp>

#include <ondine/build.h>
#include <ondine/data_record.h>
#include <ondine/finetune.h>
#include <ondine/layers.h>

#include "tests/support/random_tensor.h"
#include "tests/support/temporary_folder.h"
#include "tests/trainer/finetune/sample_data.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

// The file that was written, on all of the data.
Evaluation served(const std::filesystem::path& file, const std::filesystem::path& place,
                  const std::vector<std::string>& metrics) {
  const Model model = Model::load(file);
  return evaluate(model, Dataset::open(place, recorded_options(model, DataUse::evaluation)),
                  {.metrics = metrics});
}

// x [N, inputs] -> outputs, with weights that were never trained, or with drawn ones.
std::vector<std::byte> linear(std::int64_t inputs, std::int64_t outputs, bool is_trained) {
  ModelBuilder builder("net");
  const std::string x = builder.input("x", DType::float32, {"N", inputs});
  const auto weight = [&](const char* name, const Shape& shape) {
    return builder.initializer(
        name, is_trained ? random_floats(shape, 1, -1, 1) : Tensor(DType::float32, shape));
  };
  const std::string h =
      builder.node("Relu", {builder.node("MatMul", {x, weight("w1", {inputs, 8})})});
  builder.node("MatMul", {h, weight("w2", {8, outputs})}, {}, "logits");
  builder.output("logits", DType::float32, {"N", outputs});
  return builder.bytes();
}

FinetuneOptions brief() {
  FinetuneOptions options;
  options.epochs = 20;
  options.learning_rate = 0.01F;
  return options;
}

}  // namespace

TEST_CASE("a table of numbers is learned and served in the units of the file") {
  const TemporaryFolder folder;
  write_regression(folder / "prices.csv", 200);
  FinetuneOptions options = brief();
  options.output = folder / "tuned.onnx";
  const FinetuneReport report = finetune({}, folder / "prices.csv", options);
  CHECK(report.metric == "rmse");
  CHECK(report.training_rows == 160);
  CHECK(report.validation_rows == 40);
  CHECK(report.evaluation.metrics["r2"] > 0.9);
  CHECK(report.assumed.size() <= 5);
  CHECK_THAT(joined(report.assumed), Contains("target 'price': a number") && Contains("loss mse") &&
                                         Contains("a new mlp") && Contains("20 % of the rows"));
  CHECK(served(report.output, folder / "prices.csv", {"r2"}).metrics["r2"] > 0.9);
}

TEST_CASE("balanced classes weigh by the training rows that they have") {
  Tensor labels(DType::int64, {40});
  // Three of four rows have class 0.
  for (std::size_t i = 0; i < 40; ++i) {
    labels.mutable_values<std::int64_t>()[i] = i % 4 == 3 ? 1 : 0;
  }
  const Dataset data = Dataset::from({{"x", random_floats({40, 3}, 4)}, {"label", labels}});
  const std::vector<float> weights = data.balanced_class_weights();
  CHECK(weights == std::vector<float>{40.0F / (2 * 30), 40.0F / (2 * 10)});
  FinetuneOptions options = brief();
  options.epochs = 1;
  options.refit = false;
  options.validation = data;
  options.balances_classes = true;
  const auto loss = [&] {
    return finetune(linear(3, 2, true), data, options).fit.last->training["loss"];
  };
  const double balanced = loss();
  options.prepare.class_weights = weights;
  CHECK_THROWS_WITH(loss(), Contains("exclude each other"));
  options.balances_classes = false;
  CHECK(loss() == balanced);
  options.prepare.class_weights = {1, 1};
  CHECK(loss() != balanced);
  options.loss = Loss::mse;
  CHECK_THROWS_WITH(loss(), Contains("no effect on the loss mse"));
}

TEST_CASE("names in a column are classes, in the file that is served too") {
  const TemporaryFolder folder;
  write_classes(folder / "flowers.csv", 120, {"rose", "lily", "iris"});
  FinetuneOptions options = brief();
  options.output = folder / "tuned.onnx";
  const FinetuneReport report = finetune({}, folder / "flowers.csv", options);
  CHECK(report.metric == "accuracy");
  CHECK(report.evaluation.metrics["accuracy"] > 0.9);
  CHECK_THAT(joined(report.assumed),
             Contains("3 classes (iris, lily, rose)") && Contains("stratified"));
  const Model model = Model::load(report.output);
  CHECK(class_names(model) == std::vector<std::string>{"iris", "lily", "rose"});
  CHECK(served(report.output, folder / "flowers.csv", {"accuracy"}).metrics["accuracy"] > 0.9);
}

TEST_CASE("photos, recordings, texts and masks are learned from their files") {
  const TemporaryFolder folder;
  write_photos(folder / "photos", 20);
  write_tones(folder / "tones", 20);
  write_texts(folder / "texts.jsonl", 20);
  write_masks(folder / "shapes", 40, 1);
  const auto tuned = [&](const std::string& place) {
    FinetuneOptions options = brief();
    options.output = folder / "tuned.onnx";
    FinetuneReport report = finetune({}, folder / place, options);
    INFO(place);
    CHECK(report.assumed.size() <= 5);
    CHECK(report.evaluation.metrics[report.metric] > 0.9);
    const Evaluation again = served(report.output, folder / place, {report.metric});
    CHECK(again.metrics[report.metric] > 0.9);
    return report;
  };
  CHECK_THAT(tuned("photos").network, Contains("cnn") && Contains("3x8x8"));
  CHECK_THAT(tuned("tones").network, Contains("audio") && Contains("4000 Hz"));
  CHECK_THAT(tuned("texts.jsonl").network, Contains("text"));
  const FinetuneReport masks = tuned("shapes");
  CHECK(masks.metric == "iou");
  CHECK_THAT(masks.network, Contains("unet"));
}

TEST_CASE("arrays are tuned, and zeros and ones in rows are labels") {
  Tensor x = random_floats({80, 4}, 1, -1, 1);
  Tensor y(DType::uint8, {80, 2});
  for (std::size_t i = 0; i < 80; ++i) {
    for (std::size_t k = 0; k < 2; ++k) {
      y.mutable_values<std::uint8_t>()[2 * i + k] = x.values<float>()[4 * i + k] > 0;
    }
  }
  const Dataset data = Dataset::from({{"x", x}, {"y", y}});
  FinetuneOptions options = brief();
  options.epochs = 60;
  const FinetuneReport report = finetune({}, data, options);
  CHECK(report.evaluation.metrics["accuracy"] > 0.8);
  CHECK_THAT(joined(report.assumed), Contains("2 labels 0 or 1") && Contains("loss bce"));
  CHECK(report.output.empty());
  REQUIRE(report.model);
  CHECK(report.model->infer({{"x", x}})[0].second.tensor().shape() == Shape{80, 2});
}

TEST_CASE("a head is kept where it fits and replaced where it does not") {
  const TemporaryFolder folder;
  write_classes(folder / "flowers.csv", 90, {"rose", "lily", "iris"});
  const FinetuneReport kept = finetune(linear(2, 3, true), folder / "flowers.csv", brief());
  CHECK(kept.prepared.head.empty());
  CHECK_THAT(joined(kept.assumed), Contains("own head is kept") && Contains("in this order"));
  const FinetuneReport replaced = finetune(linear(2, 7, true), folder / "flowers.csv", brief());
  CHECK(replaced.prepared.head == "logits");
  CHECK_THAT(joined(replaced.assumed),
             Contains("a new head for 3 classes") && Contains("the one with 7 outputs"));
  CHECK(replaced.model->outputs()[0].dims == std::vector<std::int64_t>{-1, 3});

  FinetuneOptions options = brief();
  options.head = HeadChoice::keep;
  CHECK_THROWS_WITH(finetune(linear(2, 7, true), folder / "flowers.csv", options),
                    Contains("with 7 outputs") && Contains("3 classes"));
  options.head = HeadChoice::replace;
  CHECK(finetune(linear(2, 3, true), folder / "flowers.csv", options).prepared.head == "logits");
}

TEST_CASE("a new head predicts numbers in the units of the targets") {
  const TemporaryFolder folder;
  write_regression(folder / "prices.csv", 200);
  FinetuneOptions options = brief();
  options.epochs = 40;
  options.output = folder / "tuned.onnx";
  const FinetuneReport report = finetune(linear(2, 7, false), folder / "prices.csv", options);
  CHECK_THAT(joined(report.assumed),
             Contains("a new head for a number") && Contains("mean and deviation of each column"));
  CHECK(report.evaluation.metrics["r2"] > 0.9);
  const auto is_constant = [&](const std::string& name) {
    const auto& trained = report.prepared.trained;
    return std::find(trained.begin(), trained.end(), name) == trained.end();
  };
  CHECK(is_constant("head.mean"));
  CHECK(is_constant("head.deviation"));
}

TEST_CASE("weights decide on scales and rate") {
  const TemporaryFolder folder;
  write_classes(folder / "flowers.csv", 90, {"rose", "lily"});
  FinetuneOptions options;
  options.epochs = 1;
  CHECK_THAT(joined(finetune(linear(2, 2, true), folder / "flowers.csv", options).assumed),
             Contains("numbers as they are") && Contains("0.0003 (trained weights)"));
  CHECK_THAT(
      joined(finetune(linear(2, 2, false), folder / "flowers.csv", options).assumed),
      Contains("mean and deviation of each column") && Contains("0.005 (few untrained weights)"));
}

TEST_CASE(
    "the rate of trained weights beside a new head is told unless groups of rates are given") {
  const TemporaryFolder folder;
  write_classes(folder / "flowers.csv", 60, {"rose", "lily"});
  FinetuneOptions options;
  options.epochs = 1;
  options.head = HeadChoice::replace;
  options.learning_rate = 0.01F;
  const std::string told = "all but the head at 0.1 of the learning rate";
  CHECK_THAT(joined(finetune(linear(2, 2, true), folder / "flowers.csv", options).assumed),
             Contains(told));
  options.prepare.rate_groups.push_back({"w1", 0.5F});
  CHECK_THAT(joined(finetune(linear(2, 2, true), folder / "flowers.csv", options).assumed),
             !Contains(told));
}

TEST_CASE("factors, biases and layers by number are tuned as prepare does") {
  const TemporaryFolder folder;
  write_classes(folder / "flowers.csv", 90, {"rose", "lily"});
  FinetuneOptions options = brief();
  options.output = folder / "first.onnx";
  finetune({}, folder / "flowers.csv", options);
  const Model first = Model::load(folder / "first.onnx");
  options.output.clear();
  const auto trained = [&](const PrepareOptions& prepare) {
    options.prepare = prepare;
    return finetune(first, folder / "flowers.csv", options).prepared.trained;
  };
  const auto all_end = [](const std::vector<std::string>& names, const std::string& end) {
    return !names.empty() && std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      return name.find(end) != std::string::npos;
    });
  };
  CHECK(all_end(trained({.ia3 = Ia3{{"*"}, {}}}), "ia3_l"));
  CHECK(all_end(trained({.only_biases = true}), "bias"));
  std::vector<std::string> numbers;
  for (const Layer& layer : layers(first, {{{"features", {1, 2}}}, 0}).layers) {
    if (layer.op == "Gemm" || layer.op == "MatMul") {
      numbers.push_back("@" + std::to_string(layer.node.value()));
    }
  }
  const Lora lora{.rank = 2, .targets = numbers};
  CHECK(all_end(trained({.lora = lora}), "lora_"));
}

TEST_CASE("adapters are tuned beside frozen weights and merged in the file that is served") {
  const TemporaryFolder folder;
  write_classes(folder / "flowers.csv", 90, {"rose", "lily"});
  FinetuneOptions options = brief();
  options.output = folder / "first.onnx";
  finetune({}, folder / "flowers.csv", options);
  const Model first = Model::load(folder / "first.onnx");
  options.output = folder / "tuned.onnx";
  options.prepare.lora = Lora{.rank = 2};
  const FinetuneReport report = finetune(first, folder / "flowers.csv", options);
  CHECK(report.refit_rows == 90);
  CHECK(report.prepared.trained.size() == 2);
  const Model tuned = Model::load(folder / "tuned.onnx");
  const std::string before = first.inspect("model");
  const std::string after = tuned.inspect("model");
  CHECK(std::count(before.begin(), before.end(), '\n') ==
        std::count(after.begin(), after.end(), '\n'));
  CHECK(before != after);
  // The file computes what the tuned model with its adapters does.
  const Dataset data =
      Dataset::open(folder / "flowers.csv", recorded_options(tuned, DataUse::evaluation));
  const auto scores = [&](const Model& model) {
    for (const Batch& batch : data.batches(90, {.shuffle = false, .inputs = model.inputs()})) {
      const Results results = model.infer(batch.feeds());
      return results[0].second.tensor();
    }
    throw std::runtime_error("there are no rows");
  };
  const Tensor merged = scores(tuned);
  const Tensor apart = scores(*report.model);
  REQUIRE(merged.shape() == apart.shape());
  for (std::size_t i = 0; i < merged.values<float>().size(); ++i) {
    CHECK(merged.values<float>()[i] == Approx(apart.values<float>()[i]).margin(1e-4));
  }
}

TEST_CASE("a network that finetune trained is tuned further with its own scales and classes") {
  const TemporaryFolder folder;
  write_classes(folder / "flowers.csv", 90, {"rose", "lily"});
  FinetuneOptions options = brief();
  options.output = folder / "first.onnx";
  finetune({}, folder / "flowers.csv", options);
  options.epochs = 1;
  options.learning_rate.reset();
  const FinetuneReport again = finetune(folder / "first.onnx", folder / "flowers.csv", options);
  CHECK_THAT(joined(again.assumed),
             Contains("preprocessing that the model has") && Contains("trained weights"));
  CHECK(again.prepared.head.empty());
  CHECK(again.evaluation.metrics["accuracy"] > 0.9);
}

TEST_CASE("few rows that were set apart for validation are learned from at last") {
  const TemporaryFolder folder;
  write_classes(folder / "flowers.csv", 60, {"rose", "lily"});
  const auto tuned = [&](std::optional<bool> refit) {
    FinetuneOptions options = brief();
    options.epochs = 4;
    options.refit = refit;
    return finetune({}, folder / "flowers.csv", options);
  };
  const FinetuneReport usual = tuned({});
  CHECK(usual.refit_rows == 60);
  CHECK(usual.validation_rows == 12);
  CHECK_THAT(joined(usual.assumed), Contains("trained once more on all rows"));
  std::ostringstream text;
  text << usual;
  CHECK_THAT(text.str(), Contains("before it was trained once more on all 60 rows"));

  const FinetuneReport never = tuned(false);
  CHECK(never.refit_rows == 0);
  CHECK_THAT(joined(never.assumed), !Contains("once more"));
  // The metrics of the report were measured before the model was trained on those rows.
  CHECK(usual.evaluation.metrics["accuracy"] == never.evaluation.metrics["accuracy"]);
  CHECK(usual.model->parameters() != never.model->parameters());
}

TEST_CASE("rows given for validation are never learned from") {
  const TemporaryFolder folder;
  write_classes(folder / "flowers.csv", 60, {"rose", "lily"});
  write_classes(folder / "others.csv", 20, {"rose", "lily"});
  FinetuneOptions options = brief();
  options.validation = folder / "others.csv";
  CHECK(finetune({}, folder / "flowers.csv", options).refit_rows == 0);
  options.refit = true;
  CHECK_THROWS_WITH(finetune({}, folder / "flowers.csv", options),
                    Contains("validation data are given") && Contains("--refit"));
}

TEST_CASE("a last training that cannot be is refused before any work") {
  FinetuneOptions options = brief();
  options.refit = true;
  options.trainer.max_steps = 3;
  CHECK_THROWS_WITH(finetune({}, "nowhere.csv", options), Contains("limited by time or steps"));
  options.trainer.max_steps.reset();
  options.trainer.folds = 3;
  CHECK_THROWS_WITH(finetune({}, "nowhere.csv", options), Contains("cross-validation"));
}

TEST_CASE("a last training on all rows is not evaluated between its steps") {
  const TemporaryFolder folder;
  write_classes(folder / "flowers.csv", 60, {"rose", "lily"});
  FinetuneOptions options = brief();
  options.trainer.eval_every = 2;
  CHECK(finetune({}, folder / "flowers.csv", options).refit_rows == 60);
}

TEST_CASE("a network whose input is called spectrogram learns from recordings") {
  const TemporaryFolder folder;
  write_tones(folder / "tones", 12);
  ModelBuilder builder("sound");
  const std::string x = builder.input("spectrogram", DType::float32, {"N", 1, 16, 20});
  const std::string mean = builder.node("Flatten", {builder.node("GlobalAveragePool", {x})});
  builder.node("Gemm", {mean, builder.initializer("w", Tensor(DType::float32, {1, 2}))}, {}, "y");
  builder.output("y", DType::float32, {"N", 2});
  FinetuneOptions options = brief();
  options.epochs = 1;
  CHECK(finetune(builder.bytes(), folder / "tones", options).metric == "accuracy");
}

TEST_CASE("the same options give the same bits") {
  const TemporaryFolder folder;
  write_classes(folder / "flowers.csv", 60, {"rose", "lily"});
  const auto parameters = [&](int threads) {
    FinetuneOptions options = brief();
    options.epochs = 2;
    options.load.threads = threads;
    options.load.seed = 7;
    return finetune({}, folder / "flowers.csv", options).model->parameters();
  };
  CHECK(parameters(1) == parameters(2));
}
