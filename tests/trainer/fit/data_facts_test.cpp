// Facts that training learns of its data: in the model's record, in checkpoints and in later uses.
#include <catch2/catch.hpp>
#include <fstream>
#include <numeric>

#include <ondine/build.h>
#include <ondine/data.h>
#include <ondine/data_record.h>
#include <ondine/prepare.h>
#include <ondine/trainer.h>

#include "tests/support/random_tensor.h"
#include "tests/support/temporary_folder.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

using Names = std::vector<std::string>;

// x [N, 2] -> logits [N, 2], of weights that training changes.
std::vector<std::byte> classifier() {
  ModelBuilder b("classifier");
  const std::string x = b.input("x", DType::float32, {"N", 2});
  b.node("MatMul", {x, b.initializer("w", random_floats({2, 2}, 3))}, {}, "logits");
  b.output("logits", DType::float32, {"N", 2});
  return b.bytes();
}

Model prepared(const std::vector<std::byte>& bytes, const PrepareOptions& options = {}) {
  PrepareOptions how = options;
  how.init = WeightInit::keep;
  return prepare(bytes, how);
}

void write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file) << text;
}

void train(Model& model, const Dataset& data, TrainerOptions options = {}) {
  options.batch_size = 2;
  Trainer(model, options).fit(data);
}

}  // namespace

TEST_CASE("a checkpoint gives a model that was loaded anew what training learned of its data") {
  const TemporaryFolder folder;
  write(folder / "d.csv", "a,b,kind\n1,2,x\n3,4,y\n5,6,x\n7,8,y\n");
  const std::vector<std::byte> bytes = prepared(classifier()).export_training();
  Model model = Model::load(bytes);
  train(model, Dataset::open(folder / "d.csv"));
  model.save_checkpoint(folder / "run.ckpt", {}, {{"mine", std::int64_t{7}}});
  Model other = Model::load(bytes);
  CHECK(class_names(other).empty());
  const RestoreReport report = other.restore_checkpoint(folder / "run.ckpt");
  CHECK(report.properties == Properties{{"mine", std::int64_t{7}}});
  const Model exported = Model::load(other.export_inference());
  for (const Model* one : std::vector<const Model*>{&model, &other, &exported}) {
    const DataRecord record = data_record(*one);
    CHECK(record.classes == Names{"x", "y"});
    REQUIRE(record.table);
    CHECK(record.table->features == Names{"a", "b"});
    CHECK(record.table->target == "kind");
    CHECK(record.data.rows == 4);
    CHECK(record.data.fingerprint.size() == 16);
    REQUIRE(record.inputs.size() == 2);
    CHECK(record.inputs[0].name == "x");
    CHECK(record.inputs[0].column == "features");
    CHECK(record.inputs[1].column == "kind");
    CHECK(record.prediction.output == "logits");
    CHECK(record.prediction.meaning == OutputMeaning::logits);
  }
  CHECK_THROWS_WITH(
      model.save_checkpoint(folder / "run.ckpt", {}, {{"ondine.data", std::string()}}),
      Contains("data record"));
}

TEST_CASE("data that were opened without the record are compared with it") {
  const TemporaryFolder folder;
  write(folder / "d.csv", "a,b,kind\n1,2,x\n3,4,y\n5,6,x\n7,8,y\n");
  write(folder / "moved.csv", "kind,b,a\nx,2,1\ny,4,3\n");
  write(folder / "renamed.csv", "a,b,kind\n1,2,x\n3,4,z\n");
  Model model = prepared(classifier());
  train(model, Dataset::open(folder / "d.csv"));
  CHECK_THROWS_WITH(evaluate(model, Dataset::open(folder / "moved.csv", {.target = "kind"})),
                    Contains("the columns of the data ('b', 'a')") && Contains("recorded_options"));
  CHECK_THROWS_WITH(evaluate(model, Dataset::open(folder / "renamed.csv")),
                    Contains("the classes of the data ('x', 'z')"));
  CHECK_THROWS_WITH(train(model, Dataset::open(folder / "renamed.csv")),
                    Contains("the classes of the data"));
  const Dataset moved =
      Dataset::open(folder / "moved.csv", recorded_options(model, DataUse::evaluation));
  CHECK(moved.table()->features == Names{"a", "b"});
  const Dataset first = Dataset::open(folder / "d.csv");
  const std::vector<std::uint64_t> rows{0, 1};
  Feeder a(model.inputs(), moved);
  Feeder b(model.inputs(), first);
  CHECK(a.take(rows)[0].second.tensor().identical(b.take(rows)[0].second.tensor()));
}

TEST_CASE("inference reads no targets, and a width tells a table without them from one with") {
  const TemporaryFolder folder;
  write(folder / "with.csv", "a,b,t\n1,2,oops\n");
  write(folder / "without.csv", "a,b\n1,2\n");
  DatasetOptions options{.use = DataUse::inference};
  options.feature_count = 2;
  for (const char* name : {"with.csv", "without.csv"}) {
    const Dataset data = Dataset::open(folder / name, options);
    CHECK(data.columns().size() == 1);
    CHECK(data.table()->features == Names{"a", "b"});
    CHECK(data.target().empty());
  }
  CHECK_THROWS_WITH(
      Dataset::open(folder / "without.csv", {.use = DataUse::inference, .features = {"b", "c"}}),
      Contains("no column 'c'") && Contains("the file has: 'a', 'b'"));
}

TEST_CASE("images are scaled as in training, also where a batch alone would not tell") {
  ModelBuilder b("pixels");
  const std::string x = b.input("x", DType::float32, {"N", 2, 2});
  const std::string flat = b.node("Flatten", {x});
  b.node("MatMul", {flat, b.initializer("w", random_floats({4, 2}, 1))}, {}, "logits");
  b.output("logits", DType::float32, {"N", 2});
  Model model = prepared(b.bytes());
  const auto data = [](std::uint8_t largest, bool has_labels) {
    NamedValues result{{"x", Tensor::of<std::uint8_t>({2, 2, 2}, {0, 1, 0, 1, 1, 1, 0, largest})}};
    if (has_labels) result.emplace_back("label", Tensor::of<std::int64_t>({2}, {0, 1}));
    return Dataset::from(result);
  };
  train(model, data(255, true));
  CHECK(data_record(model).inputs[0].scale == 1.0 / 255);
  const std::vector<std::uint64_t> rows{0};
  RecordedFeeder recorded = recorded_feeder(model, model.inputs(), data(1, false));
  CHECK(recorded.feeder.take(rows)[0].second.tensor().values<float>()[1] == 1.0F / 255);
  CHECK(recorded.notes.empty());
  const Dataset floats = Dataset::from({{"x", Tensor::of<double>({1, 2, 2}, {0, 0.5, 1, 0.25})}});
  CHECK_THAT(recorded_feeder(model, model.inputs(), floats).notes.at(0),
             Contains("was trained with uint8"));
  const Dataset wide = Dataset::from({{"x", Tensor::of<std::int64_t>({1, 2, 2}, {0, 9, 200, 3})}});
  CHECK_THROWS_WITH(recorded_feeder(model, model.inputs(), wide),
                    Contains("convert them to uint8"));
}

TEST_CASE("labels that a loss ignores count in no metric") {
  Model model = prepared(classifier(), {.ignore_index = -1});
  const Tensor x = random_floats({6, 2}, 5);
  const std::vector<std::int64_t> labels{0, 1, -1, 1, -1, 0};
  const Dataset all = Dataset::from({{"x", x}, {"label", Tensor::of<std::int64_t>({6}, labels)}});
  const auto logits = model.infer({{"x", x}})["logits"].tensor();
  double hits = 0;
  for (std::size_t i = 0; i < 6; ++i) {
    const auto row = logits.values<float>().subspan(2 * i, 2);
    if (labels[i] >= 0 && (row[1] > row[0] ? 1 : 0) == labels[i]) ++hits;
  }
  const Evaluation result =
      evaluate(model, all, {.metrics = {"accuracy", "confusion_matrix", "perplexity", "f1"}});
  CHECK(result.metrics["accuracy"] == Approx(hits / 4));
  CHECK(std::accumulate(result.confusion->counts.begin(), result.confusion->counts.end(), 0U) == 4);
  const Dataset none = Dataset::from(
      {{"x", x}, {"label", Tensor::of<std::int64_t>({6}, std::vector<std::int64_t>(6, -1))}});
  CHECK_THROWS_WITH(evaluate(model, none), Contains("ignores every label"));
}

TEST_CASE("a label that an evaluation is told to ignore counts in no metric") {
  const Model untuned = Model::load(classifier());
  const Tensor x = random_floats({4, 2}, 5);
  const Tensor some = Tensor::of<std::int64_t>({4}, {0, -100, 1, -100});
  const Dataset data = Dataset::from({{"x", x}, {"label", some}});
  CHECK_THROWS_WITH(evaluate(untuned, data), Contains("-100"));
  EvaluateOptions options;
  options.metrics = {"perplexity"};
  options.ignore_index = -100;
  const double found = evaluate(untuned, data, options).metrics["perplexity"];
  const auto logits = untuned.infer({{"x", x}})["logits"].tensor();
  double sum = 0;
  for (const std::size_t row : {0, 2}) {
    const auto two = logits.values<float>().subspan(2 * row, 2);
    const double other = double{two[row == 0 ? 1 : 0]} - double{two[row == 0 ? 0 : 1]};
    sum += std::log1p(std::exp(other));
  }
  CHECK(found == Approx(std::exp(sum / 2)).epsilon(1e-5));
  const Model trained = prepared(classifier(), {.ignore_index = -1});
  CHECK_THROWS_WITH(evaluate(trained, data, options),
                    Contains("-100") && Contains("prepared to ignore -1"));
  const Model numbers = prepared(classifier(), {.loss = Loss::mse});
  const Dataset floats = Dataset::from({{"x", x}, {"label", random_floats({4, 2}, 6)}});
  CHECK_THROWS_WITH(evaluate(numbers, floats, {.ignore_index = -100}),
                    Contains("labels are no classes"));
}

TEST_CASE("an output of integers holds classes, and the recorded output is judged by default") {
  ModelBuilder b("two");
  const std::string x = b.input("x", DType::float32, {"N", 3});
  const std::string scores = b.node("MatMul", {x, b.initializer("w", random_floats({3, 3}, 2))});
  b.node("ArgMax", {scores}, {{"axis", std::int64_t{1}}, {"keepdims", std::int64_t{0}}}, "class");
  b.node("Softmax", {scores}, {{"axis", std::int64_t{1}}}, "p");
  b.output("class", DType::int64, {"N"});
  b.output("p", DType::float32, {"N", 3});
  const Model model = Model::load(prepared(b.bytes()).export_inference());
  CHECK(find_prediction(model).output == "p");
  CHECK(find_prediction(model).meaning == OutputMeaning::probabilities);
  const Tensor rows = random_floats({30, 3}, 8);
  std::vector<std::int64_t> labels(30);
  for (std::size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<std::int64_t>(i % 3);
  const Dataset data =
      Dataset::from({{"x", rows}, {"label", Tensor::of<std::int64_t>({30}, labels)}});
  const auto of = [&](const std::string& output) {
    return evaluate(model, data, {.output = output, .metrics = {"accuracy", "f1_macro"}}).metrics;
  };
  CHECK(of("")["accuracy"] == of("class")["accuracy"]);
  CHECK(of("p")["f1_macro"] == of("class")["f1_macro"]);
  CHECK_THROWS_WITH(evaluate(model, data, {.output = "class", .metrics = {"roc_auc"}}),
                    Contains("needs scores of classes"));
  CHECK_THROWS_WITH(find_prediction(model, "q"), Contains("no output 'q'"));
}

TEST_CASE("a target that is the input itself makes a reconstruction") {
  ModelBuilder b("autoencoder");
  const std::string x = b.input("x", DType::float32, {"N", 2});
  b.node("MatMul", {x, b.initializer("w", random_floats({2, 2}, 4))}, {}, "y");
  b.output("y", DType::float32, {"N", 2});
  Model model = prepared(b.bytes(), {.loss = Loss::mse});
  const Dataset data = Dataset::from({{"x", random_floats({4, 2}, 5)}});
  train(model, data, {.map = {{"label", "x"}}});
  CHECK(find_prediction(model).meaning == OutputMeaning::reconstruction);
}

TEST_CASE("data differ by rows, names, classes and elements, not by their folder") {
  const TemporaryFolder folder;
  const auto print = [&](const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder / name).parent_path());
    write(folder / name, text);
    Model model = prepared(classifier());
    train(model, Dataset::open(folder / name));
    return data_record(model).data.fingerprint;
  };
  const std::string wanted = print("a/d.csv", "a,b,kind\n1,2,x\n3,4,y\n");
  CHECK(print("b/d.csv", "a,b,kind\n1,2,x\n3,4,y\n") == wanted);
  CHECK(print("c/d.csv", "a,b,kind\n1,2,x\n3,4,y\n5,6,y\n") != wanted);
  CHECK(print("d/d.csv", "a,b,kind\n1,2,x\n3,4,z\n") != wanted);
  CHECK(print("e/d.csv", "a,b,sort\n1,2,x\n3,4,y\n") != wanted);
  CHECK(print("f/d.csv", "a,b,kind\n1,2,x\n3,5,y\n") != wanted);
}

TEST_CASE("an array with fewer rows than the data has no part in what tells them apart") {
  const auto print = [&](NamedValues others) {
    NamedValues rows{{"x", random_floats({8, 2}, 1)}, {"label", Tensor(DType::int64, {8})}};
    for (auto& other : others) rows.push_back(std::move(other));
    Model model = prepared(classifier());
    train(model, Dataset::from(std::move(rows)));
    return data_record(model).data.fingerprint;
  };
  const std::string none = print({{"other", Tensor(DType::float32, {0, 3})}});
  CHECK(none == print({{"other", Tensor(DType::float32, {0, 9})}}));
  CHECK(none != print({{"other", random_floats({2, 3}, 1)}}));
}
