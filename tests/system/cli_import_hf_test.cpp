// ondine import-hf, on a folder as Hugging Face writes it.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "tests/support/hugging_face_folder.h"
#include "tests/support/paths.h"
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

TEST_CASE(
    "generate writes with a folder of onnxruntime-genai as with the model that import-hf writes") {
  const Workshop shop;
  const std::string folder =
      (ondine::test::source_folder() / "tests/trainer/hugging_face/data/genai").string();
  const std::string said = shop.succeed("import-hf " + folder + " -o net.onnx").err;
  CHECK_THAT(said, Catch::Contains("'generate --temperature 0.8 --top-k 7 --top-p 0.9'"));
  const auto text = shop.succeed("generate " + folder + " --prompt 'the and' --max-tokens 12");
  CHECK_THAT(text.err, Catch::Contains("as the folder says: --temperature 0.8 --top-k 7"));
  const std::string options = " --prompt 'the and' --max-tokens 12 --temperature 0.8 --top-k 7";
  CHECK(text.out == shop.succeed("generate net.onnx" + options + " --top-p 0.9").out);
  const auto own = shop.succeed("generate " + folder + options);
  CHECK(own.out == shop.succeed("generate net.onnx" + options).out);
  CHECK_THAT(own.err, !Catch::Contains("as the folder says"));
}

TEST_CASE("generate reads a folder of Hugging Face as import-hf does") {
  const Workshop shop;
  const HuggingFaceFolder folder("llama");
  const std::string path = folder.path().string();
  shop.refuse("generate " + path + " --prompt a --quiet",
              "output 'logits' tensor(float)[batch, sequence, 11] has scores of 11 tokens");
  shop.refuse("generate nowhere/ --prompt a", "nowhere");
}

TEST_CASE("generate ends at the context of its folder and says so; train refuses longer rows") {
  const Workshop shop;
  const std::string folder =
      (ondine::test::source_folder() / "tests/trainer/hugging_face/data/genai").string();
  const std::string limit = "member 'model.context_length' of genai_config.json";
  const Result said = shop.run("generate " + folder +
                               " --prompt 'a b c' --temperature 0 --ignore-end --max-tokens 100");
  CHECK(said.exit_code == 0);
  CHECK_THAT(said.err, Catch::Contains("text: 61 tokens, ended by context") &&
                           Catch::Contains("length: texts have at most 64 tokens (" + limit));
  shop.succeed("import-hf " + folder + " -o net.onnx");
  shop.succeed("prepare net.onnx -o train.onnx --loss softmax-cross-entropy --lora 2");
  std::ofstream words(shop / "words.txt");
  for (int i = 0; i < 200; ++i) words << "a b c ";
  words.close();
  const std::string train = "train train.onnx --data words.txt --initialize --max-steps 1 ";
  const Result longer = shop.run(train + "--text-length 65");  // after a warning of the file
  CHECK(longer.exit_code == 1);
  CHECK_THAT(longer.err, Catch::Contains("ondine: the rows have 65 tokens, the model takes at most "
                                         "64 (" +
                                         limit));
  shop.succeed(train + "--text-length 64 --batch-size 2");
}
