// Networks of every family against what PyTorch computes with the same weights (record.py).
#include <ondine/import_hugging_face.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>

#include <ondine/prepare.h>

#include "core/float_formats.h"
#include "tests/support/hugging_face_folder.h"

using namespace ondine;
using namespace ondine::test;

namespace {

Tensor integers(const nlohmann::json& rows) {
  std::vector<std::int64_t> values;
  for (const auto& row : rows) {
    for (const auto& one : row) values.push_back(one);
  }
  const auto count = static_cast<std::int64_t>(rows.size());
  return Tensor::of(Shape{count, std::ssize(values) / count}, values);
}

NamedValues feeds_of(const nlohmann::json& content) {
  NamedValues feeds;
  for (const auto& [name, rows] : content["inputs"].items()) {
    feeds.emplace_back(name, integers(rows));
  }
  return feeds;
}

// Largest difference to what the case says, over its largest element.
double difference(const Model& model, const nlohmann::json& content) {
  const Results results = model.infer(feeds_of(content));
  double worst = 0;
  for (const auto& [name, said] : content["outputs"].items()) {
    const Tensor& found = results[name].tensor();
    REQUIRE(found.shape() == Shape(said["shape"].get<std::vector<std::int64_t>>()));
    const auto wanted = said["values"].get<std::vector<double>>();
    double largest = 0;
    double far = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      largest = std::max(largest, std::abs(wanted[i]));
      far = std::max(far, std::abs(double{found.values<float>()[i]} - wanted[i]));
    }
    worst = std::max(worst, far / largest);
  }
  return worst;
}

double difference(const HuggingFaceFolder& folder) {
  return difference(import_hugging_face(folder.path()), folder.said());
}

}  // namespace

TEST_CASE("Networks of every family compute what PyTorch does") {
  const std::vector<std::string> cases = hugging_face_cases();
  REQUIRE(cases.size() >= 18);
  for (const std::string& name : cases) {
    INFO(name);
    CHECK(difference(HuggingFaceFolder(name)) < 1e-5);
  }
}

TEST_CASE("A written model is strictly valid and keeps the names of PyTorch") {
  for (const std::string& name : hugging_face_cases()) {
    INFO(name);
    const HuggingFaceFolder folder(name);
    const ImportHuggingFaceReport report =
        import_hugging_face(folder.path(), folder / "net.onnx", {});
    LoadOptions strict;
    strict.strict = true;
    const Model model = Model::load(folder / "net.onnx", strict);
    CHECK(difference(model, folder.said()) < 1e-5);
    CHECK(report.architecture == folder.said()["config"]["architectures"][0]);
    std::uint64_t elements = 0;
    for (const auto& [tensor, said] : folder.said()["tensors"].items()) {
      std::uint64_t size = 1;
      for (const std::uint64_t dim : said["shape"]) size *= dim;
      elements += size;
    }
    CHECK(report.parameters == elements);
    CHECK(report.weight_bytes == 4 * elements);
    CHECK_FALSE(report.has_tokenizer);
  }
}

TEST_CASE("Large weights go to a file beside the model on request") {
  const HuggingFaceFolder folder("llama");
  import_hugging_face(folder.path(), folder / "net.onnx", {.external_data_from = 128});
  const auto has_data = [&] {
    return std::ranges::any_of(
        std::filesystem::directory_iterator(folder.path()),
        [](const auto& entry) { return entry.path().extension() == ".data"; });
  };
  CHECK(has_data());
  CHECK(difference(Model::load(folder / "net.onnx"), folder.said()) < 1e-5);
}

TEST_CASE("Weights of 16 bits are widened exactly") {
  for (const DType dtype : {DType::bfloat16, DType::float16}) {
    HuggingFaceFolder folder("llama");
    HuggingFaceFolder rounded("llama");
    for (NamedTensor& one : folder.weights().tensors) {
      Tensor half(dtype, one.value.shape());
      Tensor& full = rounded.tensor(one.name);
      for (std::size_t i = 0; i < static_cast<std::size_t>(half.size()); ++i) {
        const float value = one.value.values<float>()[i];
        if (dtype == DType::bfloat16) {
          half.mutable_values<bfloat16>()[i] = to_bfloat16(value);
          full.mutable_values<float>()[i] = to_float(to_bfloat16(value));
        } else {
          half.mutable_values<float16>()[i] = to_float16(value);
          full.mutable_values<float>()[i] = to_float(to_float16(value));
        }
      }
      one.value = half;
    }
    folder.write();
    rounded.write();
    const NamedValues feeds = feeds_of(folder.said());
    const Results a = import_hugging_face(folder.path()).infer(feeds);
    const Results b = import_hugging_face(rounded.path()).infer(feeds);
    CHECK(std::ranges::equal(a["logits"].tensor().values<float>(),
                             b["logits"].tensor().values<float>()));
  }
}

TEST_CASE("Weights in parts are found by their list") {
  const HuggingFaceFolder folder("gpt2");
  Safetensors first{{}, {}};
  Safetensors second{{}, {}};
  nlohmann::json list;
  HuggingFaceFolder same("gpt2");
  const std::vector<NamedTensor>& tensors = same.weights().tensors;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    (i % 2 == 0 ? first : second).tensors.push_back(tensors[i]);
    list["weight_map"][tensors[i].name] = i % 2 == 0 ? "a.safetensors" : "b.safetensors";
  }
  PosixFileSystem files;
  save_safetensors(files, folder / "a.safetensors", first);
  save_safetensors(files, folder / "b.safetensors", second);
  folder.write_text("model.safetensors.index.json", list.dump());
  std::filesystem::remove(folder / "model.safetensors");
  CHECK(difference(folder) < 1e-5);

  list["weight_map"]["transformer.h.9.attn.c_attn.weight"] = "a.safetensors";
  folder.write_text("model.safetensors.index.json", list.dump());
  CHECK_THROWS_WITH(import_hugging_face(folder.path()),
                    Catch::Contains("'transformer.h.9.attn.c_attn.weight', which 'a.safetensors'"));
  list["weight_map"]["x"] = "../a.safetensors";
  folder.write_text("model.safetensors.index.json", list.dump());
  CHECK_THROWS_WITH(import_hugging_face(folder.path()),
                    Catch::Contains("'../a.safetensors', needed is the name of"));
}

TEST_CASE("Names of earlier versions and of a network without its head are understood") {
  HuggingFaceFolder gpt2("gpt2");
  for (NamedTensor& one : gpt2.weights().tensors) {
    one.name = one.name.substr(std::string("transformer.").size());
  }
  gpt2.weights().tensors.push_back({"h.0.attn.bias", Tensor(DType::float32, {1, 1, 16, 16})});
  gpt2.write();
  CHECK(difference(gpt2) < 1e-5);

  HuggingFaceFolder bert("bert");
  for (NamedTensor& one : bert.weights().tensors) {
    one.name = "bert." + one.name;
    if (one.name.ends_with("LayerNorm.weight")) {
      one.name.replace(one.name.rfind("weight"), 6, "gamma");
    } else if (one.name.ends_with("LayerNorm.bias")) {
      one.name.replace(one.name.rfind("bias"), 4, "beta");
    }
  }
  bert.weights().tensors.push_back({"cls.seq_relationship.bias", Tensor(DType::float32, {2})});
  bert.write();
  CHECK(difference(bert) < 1e-5);
}

TEST_CASE("Members that earlier versions wrote mean what rope_parameters do") {
  HuggingFaceFolder llama("llama");
  nlohmann::json rope = llama.config()["rope_parameters"];
  llama.config()["rope_theta"] = rope["rope_theta"];
  rope.erase("rope_theta");
  llama.config()["rope_scaling"] = rope;
  llama.config().erase("rope_parameters");
  llama.write();
  CHECK(difference(llama) < 1e-5);

  HuggingFaceFolder gemma("gemma3");
  gemma.config().erase("rope_parameters");
  gemma.config()["rope_theta"] = 100;
  gemma.config()["rope_local_base_freq"] = 10;
  gemma.config()["rope_scaling"] = {{"type", "linear"}, {"factor", 2.0}};
  gemma.config().erase("layer_types");
  gemma.config()["sliding_window_pattern"] = 2;
  gemma.write();
  CHECK(difference(gemma) < 1e-5);
}

TEST_CASE("Steps train what was imported, and adapters name PyTorch's modules") {
  const HuggingFaceFolder folder("qwen3");
  import_hugging_face(folder.path(), folder / "net.onnx", {});
  Model full = prepare(
      folder / "net.onnx",
      {.optimizer = Sgd{.learning_rate = 0.1F}, .init = WeightInit::keep, .accuracy = false});
  CHECK(full.state().size() == folder.said()["tensors"].size());
  Model model = prepare(folder / "net.onnx",
                        {.optimizer = AdamW{.learning_rate = 0.02F}, .lora = Lora{.rank = 2}});
  NamedValues feeds = feeds_of(folder.said());
  feeds.emplace_back("label", integers(folder.said()["inputs"]["input_ids"]));
  for (Model* one : {&full, &model}) {
    const double first = one->train_step(feeds).scalar("loss");
    double last = first;
    for (int step = 0; step < 20; ++step) last = one->train_step(feeds).scalar("loss");
    CHECK(last < 0.98 * first);
  }
  std::string names;
  for (const StateInfo& one : model.state()) names += one.name + "\n";
  for (const char* part : {"self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj",
                           "self_attn.o_proj", "mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"}) {
    CHECK_THAT(names, Catch::Contains(std::string("model.layers.1.") + part + ".lora_A\n"));
  }
}

TEST_CASE("A head that is the table of the embedding has no adapter") {
  for (const std::string name : {"gemma2", "llama_biases", "gpt2"}) {
    INFO(name);
    const HuggingFaceFolder folder(name);
    const Model net = import_hugging_face(folder.path());
    Model model = prepare(net, {.accuracy = false, .lora = Lora{.rank = 2}});
    for (const StateInfo& one : model.state()) {
      INFO(one.name);
      CHECK_THAT(one.name, Catch::Contains(".layers.") || Catch::Contains(".h."));
    }
    NamedValues feeds = feeds_of(folder.said());
    feeds.emplace_back("label", integers(folder.said()["inputs"]["input_ids"]));
    CHECK(model.train_step(feeds).scalar("loss") > 0);
  }
}

TEST_CASE("An encoder of ids alone does not see padding and has one type of tokens") {
  for (const std::string name : {"bert", "roberta_masked", "distilbert_classes"}) {
    INFO(name);
    const HuggingFaceFolder folder(name);
    const Tensor ids = Tensor::of<std::int64_t>({1, 5}, {2, 7, 3, 10, 4});
    const std::int64_t padding = folder.said()["config"]["pad_token_id"];
    const Tensor padded = Tensor::of<std::int64_t>({1, 7}, {2, 7, 3, 10, 4, padding, padding});
    const Tensor ones = Tensor::of<std::int64_t>({1, 5}, {1, 1, 1, 1, 1});
    NamedValues feeds{{"input_ids", ids}, {"attention_mask", ones}};
    if (name == "bert") feeds.emplace_back("token_type_ids", Tensor(DType::int64, {1, 5}));
    const Results wanted = import_hugging_face(folder.path()).infer(feeds);
    const Model alone = import_hugging_face(folder.path(), {.ids_only = true});
    REQUIRE(alone.inputs().size() == 1);
    const Results found = alone.infer({{"input_ids", padded}});
    const auto x = wanted[0].second.tensor().values<float>();
    const auto y = found[0].second.tensor().values<float>();
    for (std::size_t i = 0; i < x.size(); ++i) CHECK(y[i] == Approx(x[i]).margin(1e-5));
  }
}

TEST_CASE("Weights that are converted when they are read are the same in a model and in its file") {
  HuggingFaceFolder folder("llama");
  const std::int64_t words = 3000;
  folder.config()["vocab_size"] = words;
  for (const char* name : {"model.embed_tokens.weight", "lm_head.weight"}) {
    Tensor& table = folder.tensor(name);
    table = Tensor(DType::float32, {words, 8});
    auto values = table.mutable_values<float>();
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<float>(std::sin(0.37 * static_cast<double>(i)));
    }
  }
  folder.write();
  import_hugging_face(folder.path(), folder / "net.onnx", {.external_data_from = 1024});
  const NamedValues feeds = feeds_of(folder.said());
  for (const Precision precision : {Precision::float32, Precision::bfloat16}) {
    LoadOptions load;
    load.precision = precision;
    const Model direct = import_hugging_face(folder.path(), {}, load);
    const Model stored = Model::load(folder / "net.onnx", load);
    const Results a = direct.infer(feeds);
    const Results b = stored.infer(feeds);
    CHECK(std::ranges::equal(a["logits"].tensor().values<float>(),
                             b["logits"].tensor().values<float>()));
  }
}
