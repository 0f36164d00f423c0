// Adapters as folders in the layout of PEFT.
#include <catch2/catch.hpp>
#include <fstream>
#include <sstream>

#include <ondine/adapters.h>
#include <ondine/error.h>

#include "checkpoints/safetensors.h"
#include "tests/support/temporary_folder.h"
#include "tests/trainer/adapters/network.h"

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
  CHECK_THAT(refusal(folder), Contains("no matrix B for the module 'body.fc2'"));
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
  CHECK_THAT(refusal(folder), Contains("is no matrix of LoRA"));
  put_tensors(folder, content);
  put_settings(folder, R"({"peft_type": "LORA", "r": 2, "lora_alpha": 4})");
  CHECK_THAT(refusal(folder), Contains("count 2 times") && Contains("those of the model 3 times"));
  put_settings(folder, R"({"peft_type": "IA3"})");
  CHECK_THAT(refusal(folder), Contains("kind 'IA3', needed: LORA"));
  put_settings(folder, R"({"peft_type": "LORA", "r": 2, "lora_alpha": 6, "use_dora": true})");
  CHECK_THAT(refusal(folder), Contains("kind DoRA"));
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
