// ondine import-hf, on a folder as Hugging Face writes it.
#include <catch2/catch.hpp>
#include <filesystem>

#include "tests/support/hugging_face_folder.h"
#include "tests/system/run/cli_run.h"

using namespace cli_test;
using ondine::test::HuggingFaceFolder;

TEST_CASE("import-hf writes a model that trains with adapters and exports") {
  const Workshop shop;
  const HuggingFaceFolder folder("llama");
  const std::string path = folder.path().string();
  const std::string said = shop.succeed("import-hf " + path + " -o net.onnx").out;
  CHECK_THAT(said, Catch::Contains("net.onnx: LlamaForCausalLM, "));
  CHECK_THAT(said, Catch::Contains("inputs     input_ids\n"));
  CHECK_THAT(said, Catch::Contains("outputs    logits\n"));
  CHECK_THAT(said, Catch::Contains("tokenizer  none\n"));
  CHECK(shop.run("check net.onnx").exit_code == 0);
  shop.succeed("prepare net.onnx -o train.onnx --loss softmax-cross-entropy --lora 2");
  CHECK_THAT(shop.succeed("info train.onnx").out,
             Catch::Contains("model.layers.0.self_attn.q_proj.lora_A"));
  CHECK_THAT(shop.succeed("import-hf " + path + " -o cached.onnx --cache").out,
             Catch::Contains("attention_mask  position_ids  past_key_values.0.key"));
  shop.succeed("import-hf " + path + " -o parts.onnx --external-data-from 200");
  CHECK(std::filesystem::file_size(shop / "parts.onnx") <
        std::filesystem::file_size(shop / "net.onnx"));
}

TEST_CASE("import-hf names a missing folder and what it cannot do") {
  const Workshop shop;
  shop.refuse("import-hf nowhere -o none.onnx", "folder 'nowhere'");
  CHECK(shop.run("import-hf nowhere").exit_code == 2);
  const HuggingFaceFolder folder("bert");
  shop.refuse("import-hf " + folder.path().string() + " -o none.onnx --cache",
              "a BertModel reads no earlier tokens");
  CHECK_FALSE(std::filesystem::exists(shop / "none.onnx"));
}
