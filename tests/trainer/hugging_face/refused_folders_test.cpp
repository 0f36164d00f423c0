// Folders that cannot be imported: one message that names what is wrong.
#include <ondine/import_hugging_face.h>

#include <catch2/catch.hpp>
#include <fstream>

#include "tests/support/hugging_face_folder.h"

using namespace ondine;
using namespace ondine::test;

namespace {

void refuse(const HuggingFaceFolder& folder, ErrorCode code, const std::string& says,
            const ImportHuggingFaceOptions& options = {}, const LoadOptions& load = {}) {
  INFO(says);
  try {
    import_hugging_face(folder.path(), options, load);
    FAIL("was imported");
  } catch (const Error& error) {
    CHECK_THAT(error.what(), Catch::Contains(says));
    CHECK(error.code() == code);
  }
}

// The folder with one member of its config changed.
void refuse_member(const std::string& name, const std::string& member, const nlohmann::json& value,
                   ErrorCode code, const std::string& says) {
  HuggingFaceFolder folder(name);
  folder.config()[member] = value;
  folder.write();
  refuse(folder, code, says);
}

}  // namespace

TEST_CASE("Configs that are not known are refused by name") {
  const ErrorCode unsupported = ErrorCode::unsupported;
  refuse_member("llama", "architectures", {"MambaForCausalLM"}, unsupported,
                "the architecture 'MambaForCausalLM' of config.json is not known; supported are");
  refuse_member("llama", "architectures", nullptr, ErrorCode::mismatch,
                "member 'architectures' of config.json is missing");
  refuse_member("llama", "hidden_act", "mish", unsupported,
                "member 'hidden_act' of config.json is 'mish', supported are");
  refuse_member("llama", "quantization_config", {{"quant_method", "gptq"}}, unsupported,
                "the weights are quantized (member 'quantization_config'");
  refuse_member("llama", "rope_parameters", {{"rope_type", "yarn"}, {"factor", 4}}, unsupported,
                "is 'yarn', supported are default, linear and llama3");
  refuse_member("phi3", "rope_parameters", {{"rope_type", "longrope"}}, unsupported,
                "is 'longrope'");
  refuse_member("gemma3", "use_bidirectional_attention", true, unsupported,
                "member 'use_bidirectional_attention' of config.json is not supported");
  refuse_member("gpt2", "add_cross_attention", true, unsupported, "'add_cross_attention'");
  refuse_member("bert", "position_embedding_type", "relative_key", unsupported,
                "is 'relative_key', supported is 'absolute'");
  refuse_member("qwen2", "layer_types", {"full_attention", "linear_attention"}, unsupported,
                "has 'linear_attention'");
}

TEST_CASE("Numbers of a config that are out of range are refused before work") {
  const std::int64_t huge = std::int64_t{1} << 31;
  for (const std::string name : {"llama", "bert"}) {
    refuse_member(name, "num_hidden_layers", huge, ErrorCode::limit,
                  "member 'num_hidden_layers' of config.json is 2147483648, the limit is");
  }
  refuse_member("gpt2", "n_layer", huge, ErrorCode::limit, "'n_layer'");
  refuse_member("llama", "hidden_size", INT64_MAX, ErrorCode::limit, "'hidden_size'");
  refuse_member("llama", "hidden_size", 0, ErrorCode::corrupt, "needed: 1 or more");
  refuse_member("llama", "hidden_size", "8", ErrorCode::corrupt, "is no integer");
  refuse_member("llama", "vocab_size", nullptr, ErrorCode::mismatch, "'vocab_size' of config.json");
  refuse_member("llama", "rms_norm_eps", -1, ErrorCode::corrupt, "is no positive number");
  refuse_member("llama", "num_key_value_heads", 3, ErrorCode::mismatch,
                "is 4, no multiple of num_key_value_heads, 3");
  refuse_member("gpt2", "n_head", 3, ErrorCode::mismatch, "no multiple of n_head, 3");
  refuse_member("bert", "num_attention_heads", 3, ErrorCode::mismatch, "no multiple of");
  refuse_member("llama", "tie_word_embeddings", 1, ErrorCode::corrupt, "is not true or false");
  refuse_member("qwen2", "layer_types", {"full_attention"}, ErrorCode::mismatch,
                "has 1 entries, needed: 2");
}

TEST_CASE("Tensors that do not fit the config are named") {
  HuggingFaceFolder missing("llama");
  missing.remove("model.layers.1.mlp.up_proj.weight");
  missing.write();
  refuse(missing, ErrorCode::mismatch,
         "tensor 'model.layers.1.mlp.up_proj.weight' is missing in the .safetensors files");

  HuggingFaceFolder more("llama");
  more.weights().tensors.push_back(
      {"model.layers.0.self_attn.q_proj.bias", Tensor(DType::float32, {8})});
  more.weights().tensors.push_back(
      {"model.layers.0.self_attn.rotary_emb.inv_freq", Tensor(DType::float32, {1})});
  more.write();
  refuse(more, ErrorCode::mismatch,
         "have tensors that the architecture lacks: 'model.layers.0.self_attn.q_proj.bias'");

  HuggingFaceFolder shape("llama");
  shape.tensor("model.norm.weight") = Tensor(DType::float32, {9});
  shape.write();
  refuse(shape, ErrorCode::mismatch, "tensor 'model.norm.weight' is [9], config.json needs [8]");

  HuggingFaceFolder type("llama");
  type.tensor("model.norm.weight") = Tensor(DType::int8, {8});
  type.write();
  refuse(type, ErrorCode::unsupported,
         "tensor 'model.norm.weight' is a int8, supported are float32, float16 and bfloat16");
}

TEST_CASE("Limits on weights and on their description hold") {
  const HuggingFaceFolder folder("llama");
  LoadOptions load;
  load.limits.tensor_bytes = 300;
  refuse(folder, ErrorCode::limit, "takes 352 bytes, the limit is 300", {}, load);
  load.limits = {};
  load.limits.weight_bytes = 1000;
  refuse(folder, ErrorCode::limit, "the limit is 1000", {}, load);
  load.limits = {};
  load.limits.manifest_bytes = 100;
  refuse(folder, ErrorCode::limit, "the limit is 100", {}, load);
}

TEST_CASE("Folders without readable weights are refused") {
  HuggingFaceFolder folder("llama");
  std::filesystem::remove(folder / "model.safetensors");
  refuse(folder, ErrorCode::not_found, "no file model.safetensors or model.safetensors.index.json");
  folder.write_text("pytorch_model.bin", "x");
  refuse(folder, ErrorCode::unsupported, "Python pickle (pytorch_model.bin)");
  folder.write_text("adapter_model.safetensors", "x");
  refuse(folder, ErrorCode::unsupported, "the folder has an adapter");
  folder.write_text("model.safetensors", "12345678");
  refuse(folder, ErrorCode::corrupt, "safetensors 'model.safetensors'");
  folder.write_text("config.json", "[]");
  refuse(folder, ErrorCode::corrupt, "is no JSON object");
  std::filesystem::remove(folder / "config.json");
  refuse(folder, ErrorCode::not_found, "config.json");
  refuse(HuggingFaceFolder("bert"), ErrorCode::mismatch, "a BertModel reads no earlier tokens",
         {.cache = true});
  refuse(HuggingFaceFolder("gpt2"), ErrorCode::mismatch,
         "a GPT2LMHeadModel has no input for what ids alone could say", {.ids_only = true});
}
