// Artifacts of onnxruntime-training as training models. The fixture and the losses are those of
// tools/dev/check_import_ort.py --fixture.
#include <ondine/import_ort.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <functional>

#include "proto/export.h"
#include "proto/import.h"
#include "tests/proto/operator_sets.h"
#include "tests/support/models.h"
#include "tests/support/paths.h"
#include "tests/support/temporary_folder.h"

using namespace ondine;
using namespace ondine::test;
namespace fs = std::filesystem;
using Names = std::vector<std::string>;

namespace {

const fs::path artifacts = test::source_folder() / "tests/trainer/import_ort/data";
// Losses of onnxruntime-training 1.19.2, with learning rate 0.02, from the checkpoint "saved" on.
const std::vector<double> expected_losses{1.118973970413208, 1.104032278060913, 1.0888751745224,
                                          1.0735270977020264, 1.0580155849456787};

NamedValues batch() {
  std::vector<float> x(12);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = static_cast<float>(-1 + 2 * static_cast<double>(i) / 11);
  }
  return {{"x", Tensor::of<float>({4, 3}, x)},
          {"labels", Tensor::of<std::int64_t>({4}, {0, 2, 1, 2})}};
}

std::vector<double> losses(Model& model, float rate) {
  model.set_learning_rate(rate);
  std::vector<double> result;
  for (std::size_t i = 0; i < expected_losses.size(); ++i) {
    result.push_back(model.train_step(batch()).scalar("loss"));
  }
  return result;
}

// A copy of the fixture, one of whose models has been changed.
class Copy {
 public:
  Copy() {
    for (const fs::directory_entry& one : fs::directory_iterator(artifacts)) {
      fs::copy_file(one.path(), folder_ / one.path().filename().string());
    }
  }
  fs::path path() const { return folder_.path(); }
  void change(const std::string& file, const std::function<void(graph::ModelDef&)>& how) const {
    graph::ModelDef model = load_model(folder_ / file);
    how(model);
    save_model(model, folder_ / file);
  }
  void change_optimizer(const std::string& attribute, graph::Attribute::Data value) const {
    change("optimizer_model.onnx", [&](graph::ModelDef& model) {
      auto& attributes = model.graph.nodes.back().attributes;
      std::erase_if(attributes, [&](const auto& one) { return one.name == attribute; });
      attributes.emplace_back(attribute, value);
    });
  }
  Model import(const ImportOrtOptions& options = {}, ImportOrtReport* report = nullptr) const {
    return import_ort(folder_.path(), options, {}, report);
  }

 private:
  TemporaryFolder folder_;
};

std::vector<float> bias_after_step(const Copy& copy, float rate) {
  Model model = copy.import();
  model.set_learning_rate(rate);
  model.train_step(batch());
  const Tensor value = model.get_state("fc2.bias");
  return {value.values<float>().begin(), value.values<float>().end()};
}

std::string message_of(const Copy& copy, const ImportOrtOptions& options = {}) {
  try {
    copy.import(options);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("training goes on where onnxruntime-training stopped") {
  const TemporaryFolder folder;
  const ImportOrtOptions options{.checkpoint = artifacts / "saved"};
  ImportOrtReport report;
  Model model = import_ort(artifacts, options, {}, &report);
  CHECK(report.optimizer == "adamw");
  CHECK(report.step == 2);
  CHECK(report.learning_rate == 0.001F);
  CHECK(report.labels == Names{"labels"});
  CHECK(report.outputs == Names{"output"});
  CHECK(report.notes.empty());
  CHECK(report.prepared.trained.size() == 3);
  CHECK(report.prepared.frozen == Names{"fc1.bias"});
  CHECK(model.learning_rate() == 0.001F);
  const Results inferred = model.infer({{"x", batch()[0].second}});
  CHECK(inferred["output"].tensor().shape() == Shape{4, 3});

  const ImportOrtReport written = import_ort(artifacts, folder / "train.onnx", options);
  CHECK(written.prepared.trained == report.prepared.trained);
  Model loaded = Model::load(folder / "train.onnx");
  CHECK(loaded.export_training() == model.export_training());
  for (Model* const one : {&model, &loaded}) {
    const std::vector<double> found = losses(*one, 0.02F);
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK(found[i] == Approx(expected_losses[i]).margin(1e-6));
    }
  }
}

TEST_CASE("an evaluation model may call functions of operator sets") {
  const Copy copy;
  const TemporaryFolder folder;
  // The second layer reads four times what it read. `how` makes that of "r" and the constant
  // "four".
  const auto scale = [&](const std::function<void(graph::ModelDef&)>& how) {
    copy.change("eval_model.onnx", [&](graph::ModelDef& model) {
      std::erase_if(model.graph.nodes, [](const auto& one) { return one.outputs[0] == "q"; });
      how(model);
      std::swap(model.graph.nodes.back(), model.graph.nodes[2]);
      std::swap(model.graph.nodes.back(), model.graph.nodes[3]);
      REQUIRE(model.graph.nodes[3].op == "Gemm");
      model.graph.nodes[3].inputs[0] = "q";
    });
  };
  // The operator is of a domain that the other models import; the document lacks its operators.
  const std::string domain = "com.microsoft";
  scale([&](graph::ModelDef& model) {
    model.opsets.push_back({domain, 1});
    model.graph.nodes.push_back(node("Quadruple", {"r"}, {"q"}, {}, domain));
  });
  const Wire set = wire_set(
      domain, 1,
      {wire_function("Quadruple", domain, {"x"}, {"y"},
                     {wire_node("Add", {"x", "x"}, {"t"}), wire_node("Add", {"t", "t"}, {"y"})})});
  std::ofstream(folder / "set.onnx", std::ios::binary) << set.text();
  CHECK_THAT(message_of(copy), Catch::Contains("'Quadruple'"));
  LoadOptions load;
  load.operator_sets = {folder / "set.onnx"};
  const Model called = import_ort(copy.path(), {}, load);
  import_ort(copy.path(), folder / "train.onnx", {}, load);
  Model written = Model::load(folder / "train.onnx");  // needs no document

  scale([](graph::ModelDef& model) {
    model.graph.initializers.push_back({"four", Tensor::scalar<float>(4), "", {}});
    model.graph.nodes.push_back(node("Mul", {"r", "four"}, {"q"}));
  });
  Model multiplied = copy.import();
  const Results want = multiplied.infer({{"x", batch()[0].second}});
  CHECK(called.infer({{"x", batch()[0].second}})["output"].tensor().identical(
      want["output"].tensor()));
  CHECK(losses(written, 0.02F) == losses(multiplied, 0.02F));
}

TEST_CASE("artifacts are read within the limits of models, in either form") {
  const TemporaryFolder folder;
  const fs::path output = folder / "train.onnx";
  Limits limits;
  CHECK(import_ort(artifacts, output, {}, limits).optimizer == "adamw");
  fs::remove(output);
  limits.model_bytes = 10;
  LoadOptions load;
  load.limits = limits;
  const auto refused = Catch::Contains("bytes, more than 10");
  CHECK_THROWS_WITH(import_ort(artifacts, output, {}, limits), refused);
  CHECK_THROWS_WITH(import_ort(artifacts, output, {}, load), refused);
  CHECK_THROWS_WITH(import_ort(artifacts, {}, load), refused);
  CHECK_FALSE(fs::exists(output));
}

TEST_CASE("properties of a checkpoint become metadata unless the model has the key") {
  const Copy copy;
  copy.change("eval_model.onnx", [](graph::ModelDef& m) { m.metadata = {{"tag", "own"}}; });
  ImportOrtReport report;
  const Model model = copy.import({.checkpoint = copy.path() / "saved"}, &report);
  const auto metadata = model.metadata();
  const auto has = [&](const std::string& key, const std::string& value) {
    return std::ranges::find(metadata, std::pair(key, value)) != metadata.end();
  };
  CHECK((has("epoch", "3") && has("best", "0.1") && has("tag", "own")));
  REQUIRE(report.notes.size() == 1);
  CHECK_THAT(report.notes[0], Catch::Contains("'tag'"));
}

TEST_CASE("an output that depends on a label is left out with a note") {
  const Copy copy;
  copy.change("eval_model.onnx", [](graph::ModelDef& m) {
    m.graph.outputs.push_back(
        tensor_value("onnx::log_prob::3", DType::float32, {std::string("N"), std::int64_t{3}}));
  });
  ImportOrtReport report;
  copy.import({.checkpoint = copy.path() / "saved"}, &report);
  CHECK(report.outputs == Names{"output"});
  CHECK(report.notes == Names{"output 'onnx::log_prob::3' is left out: it depends on a label"});
}

TEST_CASE("initialize goes back to the checkpoint, and its moments") {
  Model model = import_ort(artifacts, {.checkpoint = artifacts / "saved"});
  const std::vector<double> first = losses(model, 0.02F);
  model.initialize(7);
  CHECK(losses(model, 0.02F) == first);
  // The folder's own checkpoint has other weights and no moments.
  ImportOrtReport report;
  Model start = import_ort(artifacts, {}, {}, &report);
  CHECK(report.step == 0);
  CHECK(start.train_step(batch()).scalar("loss") > first[0] + 0.01);
}

TEST_CASE("AdamW of onnxruntime-training decays what its step has made of a parameter") {
  const Copy copy;
  const std::vector<float> plain = bias_after_step(copy, 0.5F);
  copy.change_optimizer("weight_decay", 0.25F);
  const std::vector<float> decayed = bias_after_step(copy, 0.5F);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    CHECK(decayed[i] == Approx(plain[i] * (1 - 0.5 * 0.25)).margin(1e-6));
  }
}

TEST_CASE("AdamW without bias correction makes a first step of 0.1 / sqrt(0.001)") {
  const Copy copy;
  const std::vector<float> start = bias_after_step(copy, 0);
  const std::vector<float> corrected = bias_after_step(copy, 0.01F);
  copy.change_optimizer("correct_bias", std::int64_t{0});
  const std::vector<float> plain = bias_after_step(copy, 0.01F);
  for (std::size_t i = 0; i < plain.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(corrected[i] - start[i]) == Approx(0.01).epsilon(0.01));
    CHECK((plain[i] - start[i]) / (corrected[i] - start[i]) == Approx(3.1623).epsilon(0.01));
  }
}

TEST_CASE("SGD of onnxruntime-training moves parameters along the gradient, clipped to its norm") {
  const Copy copy;
  const auto set_sgd = [](graph::ModelDef& model) {
    graph::NodeDef& node = model.graph.nodes[0];
    node.op = "SGDOptimizerV2";
    node.inputs = {"learning_rate", "gradients", "params"};
    node.attributes.clear();
  };
  copy.change("optimizer_model.onnx", set_sgd);
  ImportOrtReport report;
  Model model = copy.import({.checkpoint = copy.path() / "saved"}, &report);
  CHECK(report.optimizer == "sgd");
  CHECK(std::ranges::none_of(model.state(), [](const StateInfo& one) {
    return one.role == StateRole::optimizer_state || one.role == StateRole::counter;
  }));
  const auto change = [&](Model& one, float rate) {
    const std::vector<float> before = one.parameters();
    one.set_learning_rate(rate);
    one.train_step(batch());
    std::vector<float> difference = one.parameters();
    for (std::size_t i = 0; i < before.size(); ++i) difference[i] -= before[i];
    return difference;
  };
  const std::vector<float> step = change(model, 0.25F);
  double norm = 0;
  for (const float one : step) norm += std::pow(one / 0.25, 2);
  norm = std::sqrt(norm);
  copy.change("optimizer_model.onnx", [&](graph::ModelDef& m) {
    m.graph.nodes.insert(m.graph.nodes.begin(),
                         node("InplaceClipGradNorm", {"gradients"}, {"clipped"},
                              {{"max_norm", static_cast<float>(norm / 2)}}, "com.microsoft"));
    m.graph.nodes[1].inputs[1] = "clipped";
  });
  Model clipped = copy.import({.checkpoint = copy.path() / "saved"}, &report);
  REQUIRE(report.notes.size() == 1);
  CHECK_THAT(report.notes[0], Catch::Contains("clipped"));
  const std::vector<float> half = change(clipped, 0.25F);
  for (std::size_t i = 0; i < step.size(); ++i) {
    CHECK(half[i] == Approx(step[i] / 2).margin(1e-6));
  }
}

TEST_CASE("artifacts may have a prefix, and one of each kind is needed") {
  const Copy copy;
  const auto rename = [&](const std::string& from, const std::string& to) {
    fs::rename(copy.path() / from, copy.path() / to);
  };
  fs::copy_file(artifacts / "checkpoint", copy.path() / "nominal_checkpoint");
  rename("eval_model.onnx", "net_eval_model.onnx");
  CHECK(message_of(copy).empty());
  fs::copy_file(artifacts / "eval_model.onnx", copy.path() / "eval_model.onnx");
  CHECK_THAT(message_of(copy), Catch::Contains("more than one eval_model.onnx"));
  fs::remove(copy.path() / "eval_model.onnx");
  rename("optimizer_model.onnx", "optimizer.onnx");
  CHECK_THAT(message_of(copy), Catch::Contains("no file optimizer_model.onnx"));
  CHECK_THROWS_WITH(import_ort(artifacts / "absent"), Catch::Contains("cannot read folder"));
}

TEST_CASE("artifacts that do not belong together are refused by name") {
  const auto refused = [](const std::string& file, const std::string& text,
                          const std::function<void(graph::ModelDef&)>& how) {
    const Copy copy;
    copy.change(file, how);
    CHECK_THAT(message_of(copy), Catch::Contains(text));
  };
  refused("eval_model.onnx", "parameter 'fc2.bias' of the checkpoint is not an input",
          [](graph::ModelDef& m) {
            std::erase_if(m.graph.inputs, [](const auto& one) { return one.name == "fc2.bias"; });
          });
  refused("eval_model.onnx", "parameter 'fc2.bias' of the checkpoint is a float",
          [](graph::ModelDef& m) {
            for (auto& one : m.graph.inputs) {
              if (one.name == "fc2.bias") one = tensor_value("fc2.bias", DType::float32, {7});
            }
          });
  refused("training_model.onnx", "'fc1.bias', which is not among", [](graph::ModelDef& m) {
    m.graph.inputs.push_back(tensor_value("fc1.bias_grad.accumulation.buffer", DType::float32, {}));
  });
  refused("training_model.onnx", "trains parameter 'fc2.bias', the training model does not",
          [](graph::ModelDef& m) {
            std::erase_if(m.graph.inputs, [](const auto& one) {
              return one.name == "fc2.bias_grad.accumulation.buffer";
            });
          });
  refused("optimizer_model.onnx", "operator 'Lamb'",
          [](graph::ModelDef& m) { m.graph.nodes[0].op = "Lamb"; });
  refused("optimizer_model.onnx", "has no optimizer",
          [](graph::ModelDef& m) { m.graph.nodes.clear(); });
  refused("optimizer_model.onnx", "more than one optimizer",
          [](graph::ModelDef& m) { m.graph.nodes.push_back(m.graph.nodes[0]); });
  const Copy copy;
  CHECK_THAT(message_of(copy, {.labels = {"nothing"}}), Catch::Contains("no input 'nothing'"));
  copy.change_optimizer("adam_mode", std::int64_t{0});
  CHECK_THAT(message_of(copy), Catch::Contains("adam_mode 0"));
  copy.change_optimizer("adam_mode", 1.0F);
  CHECK_THAT(message_of(copy), Catch::Contains("'adam_mode' of AdamWOptimizer"));
}
