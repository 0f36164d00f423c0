// Adapters as folders in the layout of PEFT.
#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include <ondine/adapters.h>
#include <ondine/error.h>

#include "checkpoints/safetensors.h"
#include "core/message.h"
#include "tests/support/temporary_folder.h"
#include "tests/trainer/adapters/kinds.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

constexpr const char* tensors_file = "adapter_model.safetensors";
constexpr const char* settings_file = "adapter_config.json";

Safetensors tensors_in(const TemporaryFolder& folder) {
  PosixFileSystem files;
  return load_safetensors(files, folder / tensors_file);
}

void put_tensors(const TemporaryFolder& folder, const Safetensors& content) {
  PosixFileSystem files;
  save_safetensors(files, folder / tensors_file, content);
}

void put_settings(const TemporaryFolder& folder, const std::string& text) {
  std::ofstream(folder / settings_file) << text;
}

// The message, and that nothing has changed.
std::string refusal(const TemporaryFolder& folder) {
  Model model = prepare(three_layers(), with_adapters());
  const std::vector<float> before = logits_of(model);
  std::string text;
  try {
    load_adapters(model, folder.path());
  } catch (const Error& error) {
    text = error.what();
  }
  CHECK(distance(before, logits_of(model)) == 0);
  return text;
}

}  // namespace

TEST_CASE("a folder of adapters brings their values to another model") {
  const TemporaryFolder folder;
  const Model model = trained(with_adapters());
  save_adapters(model, folder.path());
  const Safetensors content = tensors_in(folder);
  REQUIRE(content.tensors.size() == 4);
  CHECK(content.tensors[0].name == "base_model.model.body.fc1.lora_A.weight");
  CHECK(content.tensors[0].value.shape() == Shape{2, 8});
  CHECK(content.tensors[3].name == "base_model.model.body.fc2.lora_B.weight");
  CHECK(content.tensors[3].value.shape() == Shape{10, 2});
  std::stringstream settings;
  settings << std::ifstream(folder / settings_file).rdbuf();
  for (const char* part : {"\"peft_type\":\"LORA\"", "\"r\":2", "\"lora_alpha\":6",
                           "\"target_modules\":[\"fc1\",\"fc2\"]"}) {
    CHECK_THAT(settings.str(), Contains(part));
  }
  Model other = prepare(three_layers(), with_adapters());
  load_adapters(other, folder.path());
  CHECK(distance(logits_of(model), logits_of(other)) == 0);
}

TEST_CASE("every kind has the names and shapes of PEFT, and comes back") {
  Lora lora{.rank = 2, .alpha = 6, .targets = {"conv1", "head"}};
  lora.dora = true;
  PrepareOptions factors;
  factors.ia3 = Ia3{{"conv1", "head"}, {"conv2", "head"}};
  const std::string before = "base_model.model.";
  const struct {
    std::vector<std::byte> network;
    PrepareOptions options;
    NamedValues feeds;
    std::vector<std::pair<std::string, Shape>> tensors;
    std::vector<std::string> settings;
  } cases[]{
      {image_network(),
       with_adapters(lora),
       images(),
       {{before + "conv1.lora_A.weight", {2, 3, 3, 3}},
        {before + "conv1.lora_B.weight", {6, 2, 1, 1}},
        {before + "conv1.lora_magnitude_vector", {1, 6, 1, 1}},
        {before + "head.lora_A.weight", {2, 4}},
        {before + "head.lora_B.weight", {4, 2}},
        {before + "head.lora_magnitude_vector", {4}}},
       {R"("use_dora":true)"}},
      {image_network(),
       factors,
       images(),
       {{before + "conv1.ia3_l", {1, 6, 1, 1}},
        {before + "conv2.ia3_l", {1, 6, 1, 1}},
        {before + "head.ia3_l", {1, 4}}},
       {R"("peft_type":"IA3")", R"("feedforward_modules":["conv2","head"])",
        R"("target_modules":["conv1","conv2","head"])"}},
      {text_network(),
       with_adapters({.rank = 3, .targets = {"words"}}),
       texts(),
       {{before + "words.lora_embedding_A", {3, 11}}, {before + "words.lora_embedding_B", {6, 3}}},
       {R"("target_modules":["words"])"}},
      {text_network(),
       PrepareOptions{.prompt = PromptTuning{3}},
       texts(),
       {{"prompt_embeddings", {3, 6}}},
       {R"("peft_type":"PROMPT_TUNING")", R"("num_virtual_tokens":3)", R"("token_dim":6)",
        R"("task_type":"SEQ_CLS")"}}};
  for (const auto& one : cases) {
    const TemporaryFolder folder;
    Model model = prepare(one.network, one.options);
    for (int i = 0; i < 3; ++i) model.train_step(one.feeds);
    save_adapters(model, folder.path());
    const Safetensors content = tensors_in(folder);
    std::vector<std::pair<std::string, Shape>> found;
    for (const NamedTensor& tensor : content.tensors) {
      found.emplace_back(tensor.name, tensor.value.shape());
    }
    std::sort(found.begin(), found.end(),
              [](const auto& left, const auto& right) { return left.first < right.first; });
    CHECK(found == one.tensors);
    std::stringstream settings;
    settings << std::ifstream(folder / settings_file).rdbuf();
    for (const std::string& part : one.settings) CHECK_THAT(settings.str(), Contains(part));
    Model other = prepare(one.network, one.options);
    load_adapters(other, folder.path());
    CHECK(distance(first_output(model, one.feeds), first_output(other, one.feeds)) == 0);
    Model plain = prepare(one.network, with_adapters({.targets = {"head"}}));
    CHECK_THROWS_AS(load_adapters(plain, folder.path()), Error);
  }
}

TEST_CASE("modules may have more or fewer parts in front than in the model") {
  const TemporaryFolder folder;
  const Model model = trained(with_adapters());
  save_adapters(model, folder.path());
  Safetensors content = tensors_in(folder);
  for (NamedTensor& one : content.tensors) one.name.insert(17, "transformer.");
  put_tensors(folder, content);
  Model other = prepare(three_layers(), with_adapters());
  load_adapters(other, folder.path());
  CHECK(distance(logits_of(model), logits_of(other)) == 0);
}

TEST_CASE("adapters that do not fit the model are refused and change nothing") {
  const TemporaryFolder folder;
  save_adapters(trained(with_adapters()), folder.path());
  const Safetensors content = tensors_in(folder);
  Safetensors changed = content;
  changed.tensors.pop_back();
  put_tensors(folder, changed);
  CHECK_THAT(refusal(folder), Contains("no lora_B for the module 'body.fc2'"));
  changed = content;
  changed.tensors.push_back(
      {"base_model.model.body.fc3.lora_A.weight", Tensor(DType::float32, {2, 3})});
  put_tensors(folder, changed);
  CHECK_THAT(refusal(folder), Contains("no adapter for the module 'body.fc3'"));
  changed = content;
  changed.tensors[0].value = Tensor(DType::float32, {3, 8});
  put_tensors(folder, changed);
  CHECK_THAT(refusal(folder), Contains("'body.fc1' is float[3, 8], needed: float[2, 8]"));
  changed = content;
  changed.tensors.push_back({"base_model.model.body.fc1.bias", Tensor(DType::float32, {2})});
  put_tensors(folder, changed);
  CHECK_THAT(refusal(folder), Contains("is no part of an adapter"));
  put_tensors(folder, content);
  put_settings(folder, R"({"peft_type": "LORA", "r": 2, "lora_alpha": 4})");
  CHECK_THAT(refusal(folder), Contains("count 2 times") && Contains("those of the model 3 times"));
  put_settings(folder, R"({"peft_type": "IA3"})");
  CHECK_THAT(refusal(folder), Contains("kind 'IA3', needed: LORA"));
  put_settings(folder, R"({"peft_type": "LORA", "r": 2, "lora_alpha": 6, "use_dora": true})");
  CHECK_THAT(refusal(folder), Contains("kind DoRA"));
  for (const char* setting : {R"("init_lora_weights": "pissa")", R"("init_lora_weights": "olora")",
                              R"("alpha_pattern": {"fc1": 3})", R"("rank_pattern": {"fc1": 3})"}) {
    put_settings(folder, cat(R"({"peft_type": "LORA", "r": 2, "lora_alpha": 6, )", setting, "}"));
    CHECK_FALSE(refusal(folder).empty());
  }
  put_settings(folder, "{");
  CHECK_THAT(refusal(folder), Contains(settings_file));
}

TEST_CASE("a model without adapters saves and loads none") {
  const TemporaryFolder folder;
  Model model = prepare(three_layers());
  CHECK(adapters(model).empty());
  CHECK_THROWS_WITH(save_adapters(model, folder.path()), Contains("has no adapters"));
  CHECK_THROWS_WITH(load_adapters(model, folder.path()), Contains("has no adapters"));
}
