// Rows of a report about model, data, options and environment.
#include <algorithm>
#include <catch2/catch.hpp>
#include <regex>

#include <ondine/version.h>

#include "tests/support/models.h"
#include "tests/trainer/fit/small_task.h"
#include "trainer/records/run_facts.h"

using namespace ondine;
using namespace ondine::records;
using namespace ondine::test;

namespace {

using Rows = std::vector<std::pair<std::string, std::string>>;

Rows rows_of(const std::vector<Section>& sections, const std::string& title) {
  const auto found = std::find_if(sections.begin(), sections.end(),
                                  [&](const Section& one) { return one.title == title; });
  REQUIRE(found != sections.end());
  return {found->rows.begin(), found->rows.end()};
}

std::vector<std::string> titles_of(const std::vector<Section>& sections) {
  std::vector<std::string> titles;
  for (const Section& one : sections) titles.push_back(one.title);
  return titles;
}

std::string row(const Rows& rows, const std::string& name) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const auto& one) { return one.first == name; });
  return found == rows.end() ? "no such row" : found->second;
}

Rows model_rows(const Model& model, const TrainerOptions& options = {}) {
  return rows_of(run_facts(model, options, Dataset(), Dataset()), "Model");
}

Rows option_rows(const Model& model, const TrainerOptions& options) {
  return rows_of(run_facts(model, options, Dataset(), Dataset()), "Options");
}

// `count` inputs of one number and as many outputs.
Model wide_model(std::size_t count) {
  graph::ModelDef def = linear_regression(0.1F);
  def.training.clear();
  def.graph.inputs.clear();
  def.graph.outputs.clear();
  def.graph.nodes.clear();
  def.graph.initializers.clear();
  for (std::size_t i = 0; i < count; ++i) {
    const std::string n = std::to_string(i);
    def.graph.inputs.push_back(tensor_value("i" + n, DType::float32, {}));
    def.graph.outputs.push_back(tensor_value("o" + n, DType::float32, {}));
    def.graph.nodes.push_back(node("Neg", {"i" + n}, {"o" + n}));
  }
  return Model::load(encode(def));
}

// w [1000, 3], which a step doubles, and b [7], which nothing changes.
Model large_model() {
  graph::ModelDef def = linear_regression(0.1F);
  def.graph.inputs.clear();
  def.graph.outputs.clear();
  def.graph.nodes.clear();
  def.graph.initializers = {{"w", Tensor(DType::float32, {1000, 3}), "", {}},
                            {"b", Tensor(DType::float32, {7}), "", {}}};
  graph::GraphDef step;
  step.name = "step";
  step.nodes = {node("Add", {"w", "w"}, {"w2"})};
  step.outputs = {tensor_value("w2", DType::float32, {std::int64_t{1000}, std::int64_t{3}})};
  def.training[0].algorithm = step;
  def.training[0].update_binding = {{"w", "w2"}};
  return Model::load(encode(def));
}

}  // namespace

TEST_CASE("the facts of a run are of model, data, options and environment, in this order") {
  const Model model = line_model();
  CHECK(titles_of(run_facts(model, {}, Dataset(), Dataset())) ==
        std::vector<std::string>{"Model", "Data", "Options", "Environment"});
  CHECK(titles_of(evaluation_facts(model, Dataset())) ==
        std::vector<std::string>{"Model", "Data", "Environment"});
}

TEST_CASE("a model is told by its ports, what is trained and its fingerprint") {
  const Model model = line_model();
  CHECK(model_rows(model) == Rows{{"inputs", "x: " + model.inputs()[0].type},
                                  {"outputs", "y: " + model.outputs()[0].type},
                                  {"trained", "3 numbers in 2 tensors"},
                                  {"fingerprint", model.fingerprint()}});
  // An evaluation trains nothing.
  CHECK(rows_of(evaluation_facts(model, Dataset()), "Model") ==
        Rows{{"inputs", "x: " + model.inputs()[0].type},
             {"outputs", "y: " + model.outputs()[0].type},
             {"fingerprint", model.fingerprint()}});
}

TEST_CASE("numbers that an optimizer keeps are told apart from those trained") {
  // Two moments of each weight and the number of steps.
  const Rows rows = model_rows(classifier_model());
  CHECK(row(rows, "trained") == "212 numbers in 4 tensors");
  CHECK(row(rows, "optimizer state") == "425 numbers");
}

TEST_CASE("only what an update changes counts as trained, in groups of three digits") {
  CHECK(row(model_rows(large_model()), "trained") == "3,000 numbers in 1 tensor");
  CHECK(row(model_rows(large_model()), "optimizer state") == "no such row");
}

TEST_CASE("of more than twenty ports the first twenty are named and the rest counted") {
  const auto named = [](std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i)
      text += (i == 0 ? "o" : ", o") + std::to_string(i) + ": tensor(float)[]";
    return text;
  };
  const auto outputs = [](std::size_t count) {
    return row(rows_of(evaluation_facts(wide_model(count), Dataset()), "Model"), "outputs");
  };
  CHECK(wide_model(1).outputs()[0].type == "tensor(float)[]");
  CHECK(outputs(1) == named(1));
  CHECK(outputs(20) == named(20));
  CHECK(outputs(21) == named(20) + " and 1 more");
  CHECK(outputs(23) == named(20) + " and 3 more");
}

TEST_CASE("metadata of Ondine is told without its prefix, except what is long or internal") {
  graph::ModelDef def = linear_regression(0.1F);
  def.metadata = {{"ondine.data", R"({"version":1,"prediction":{"loss":"mse"},"classes":["a,b"]})"},
                  {"ondine.scheduled_rate", "rate"},
                  {"ondine.averages", "w"},
                  {"ondine.accumulate", ""},
                  {"author", "someone"}};
  const Rows rows = model_rows(Model::load(encode(def)));
  CHECK(row(rows, "loss") == "mse");
  CHECK(rows.size() == 5);  // and inputs, outputs, trained, fingerprint
}

TEST_CASE("data are told by their rows, columns, split and classes, if there are any") {
  const Model model = line_model();
  const auto facts = [&](const Dataset& training, const Dataset& validation, double split = 0) {
    TrainerOptions options;
    options.validation_split = split;
    return rows_of(run_facts(model, options, training, validation), "Data");
  };
  CHECK(facts(Dataset(), Dataset()).empty());
  const Dataset training = Dataset::from(line_data(1200));
  const Dataset validation = Dataset::from(line_data(8));
  const std::string columns =
      "x: " + training.columns()[0].type + ", t: " + training.columns()[1].type;
  CHECK(facts(training, Dataset()) == Rows{{"training rows", "1,200"}, {"columns", columns}});
  CHECK(facts(Dataset(), validation) == Rows{{"validation rows", "8"}});
  CHECK(facts(training, validation, 0.25) == Rows{{"training rows", "1,200"},
                                                  {"validation rows", "8"},
                                                  {"validation split", "0.25"},
                                                  {"columns", columns}});
  // The data of an evaluation are its validation rows.
  CHECK(rows_of(evaluation_facts(model, validation), "Data") == Rows{{"validation rows", "8"}});
}

TEST_CASE("options are told where they were set") {
  const Model model = line_model();
  CHECK(option_rows(model, {}) ==
        Rows{{"epochs", "1"}, {"batch size", "32"}, {"seed", "0"}, {"schedule", "constant"}});
  TrainerOptions options;
  options.epochs = 4;
  options.batch_size = 5;
  options.seed = 6;
  options.learning_rate = 0.5F;
  options.early_stopping = EarlyStopping{"val_accuracy", 7};
  options.max_time = std::chrono::milliseconds(1500);
  options.constants = {{"momentum", 0.75}, {"decay", 2}};
  options.checkpoint = "run.ckpt";
  CHECK(option_rows(model, options) == Rows{{"epochs", "4"},
                                            {"batch size", "5"},
                                            {"seed", "6"},
                                            {"learning rate", "0.5"},
                                            {"schedule", "constant"},
                                            {"early stopping", "val_accuracy, patience 7"},
                                            {"time limit", "1.5 s"},
                                            {"momentum", "0.75"},
                                            {"decay", "2"},
                                            {"checkpoint", "run.ckpt"}});
}

TEST_CASE("each schedule is told by its name") {
  const Model model = line_model();
  const auto name_of = [&](const Schedule& schedule) {
    TrainerOptions options;
    options.schedule = schedule;
    return row(option_rows(model, options), "schedule");
  };
  CHECK(name_of(StepSchedule{}) == "step");
  CHECK(name_of(CosineSchedule{}) == "cosine");
  CHECK(name_of(PolynomialSchedule{}) == "polynomial");
  CHECK(name_of(OneCycleSchedule{}) == "one-cycle");
  CHECK(name_of(PlateauSchedule{}) == "plateau");
}

TEST_CASE("the environment has version, instruction set, threads and system") {
  LoadOptions load;
  load.threads = 2;
  const Model model = Model::load(encode(linear_regression(0.1F)), load);
  const Rows rows = rows_of(evaluation_facts(model, Dataset()), "Environment");
  REQUIRE(rows.size() == 4);
  CHECK(row(rows, "Ondine") == version());
  CHECK_FALSE(row(rows, "instruction set").empty());
  CHECK(std::regex_match(row(rows, "threads"), std::regex("2 of \\d+")));
  CHECK(std::regex_match(row(rows, "system"), std::regex("\\S+ \\S+, \\S+")));
}
