#include <ondine/import_hugging_face.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "core/stop.h"
#include "graph/record/record.h"
#include "proto/export.h"
#include "trainer/hugging_face/config.h"
#include "trainer/hugging_face/families.h"
#include "trainer/hugging_face/genai.h"
#include "trainer/hugging_face/texts.h"
#include "trainer/hugging_face/weights.h"
#include "trainer/model/load_checked.h"
#include "trainer/model/model_impl.h"

namespace ondine {
namespace {

using hugging_face::Config;
using hugging_face::Family;
using hugging_face::Weights;

constexpr const char* what = "import a folder of Hugging Face";
constexpr std::uint64_t external_above = std::uint64_t{1} << 30;
constexpr std::uint64_t external_tensor = std::uint64_t{64} << 10;

constexpr std::array<const Family*, 3> families{&hugging_face::rotary_decoders, &hugging_face::gpt2,
                                                &hugging_face::encoders};
constexpr const char* known =
    "supported are the causal language models of Llama (SmolLM among them), Mistral, Qwen2, Qwen3, "
    "Phi3, Gemma2, Gemma3 (text) and GPT2 (GPT2LMHeadModel), and Model, ForMaskedLM, "
    "ForSequenceClassification and ForTokenClassification of Bert, Roberta, XLMRoberta and "
    "DistilBert";

std::string architecture_of(const Config& config) {
  const std::vector<std::string> names = config.texts("architectures");
  if (names.size() == 1) return names[0];
  if (names.empty()) {
    fail(ErrorCode::mismatch, config.member("architectures"), " is missing; ", known);
  }
  fail(ErrorCode::unsupported, config.member("architectures"), " has ", names.size(),
       " entries, needed: one");
}

const Family& family_of(const std::string& architecture) {
  for (const Family* family : families) {
    if (family->knows(architecture)) return *family;
  }
  fail(ErrorCode::unsupported, "the architecture ", quoted(architecture),
       " of config.json is not known; ", known);
}

void require_plain(const Config& config) {
  if (!config.has("quantization_config")) return;
  fail(ErrorCode::unsupported, "the weights are quantized (", config.member("quantization_config"),
       "); import the folder of the original model, and quantize it with 'prepare "
       "--quantize-frozen'");
}

// Rows of texts are padded by the tokenizer's id; the network tells padding by the config's.
void note_padding(const Config& config, hugging_face::FolderTexts& texts) {
  const std::optional<std::int64_t> id = config.integer("pad_token_id");
  if (!id || !texts.padding || *id == *texts.padding) return;
  texts.notes.push_back(cat("rows of texts are padded with the token ", *texts.padding,
                            ", which the network reads: its padding is ", *id, " (pad_token_id)"));
}

struct Imported {
  trainer::CheckedModel model;
  ImportHuggingFaceReport report;
};

void describe(Imported& imported, const DataRecord& record) {
  ImportHuggingFaceReport& report = imported.report;
  for (const graph::ValueDef& input : imported.model.def.graph.inputs) {
    report.inputs.push_back(input.name);
  }
  for (const graph::ValueDef& output : imported.model.def.graph.outputs) {
    report.outputs.push_back(output.name);
  }
  report.has_tokenizer = !record.text.encoding.empty();
  report.has_chat_template = !record.text.chat_template.empty();
}

Imported import_genai(const std::filesystem::path& folder, const ImportHuggingFaceOptions& options,
                      const LoadOptions& load) {
  if (options.ids_only || options.pairs) {
    fail(ErrorCode::mismatch, "the model of ", hugging_face::genai_file,
         " is a decoder whose inputs stay as they are");
  }
  hugging_face::GenaiFolder genai = hugging_face::read_genai(folder, load);
  hugging_face::FolderTexts texts =
      hugging_face::read_texts(folder, genai.config, /*is_decoder=*/true, /*classifies=*/false);
  Imported imported{std::move(genai.model), {}};
  graph::ModelDef& def = imported.model.def;
  if (graph::has_record(def.metadata)) {
    texts.record = graph::read_record(def.metadata);  // it was trained
  }
  texts.record.text.context = std::move(genai.context);
  texts.record.text.generated = std::move(genai.generated);
  graph::write_record(def.metadata, texts.record);
  ImportHuggingFaceReport& report = imported.report;
  report.architecture = genai.config.text_or("type", "decoder");
  for (const graph::InitializerDef& one : def.graph.initializers) {
    report.parameters += static_cast<std::uint64_t>(one.value.size());
    report.weight_bytes += one.value.bytes();
  }
  report.notes = std::move(genai.notes);
  report.notes.insert(report.notes.end(), texts.notes.begin(), texts.notes.end());
  report.generate = std::move(genai.generate);
  describe(imported, texts.record);
  return imported;
}

Imported read(const std::filesystem::path& folder, const ImportHuggingFaceOptions& options,
              const LoadOptions& load) {
  if (std::filesystem::exists(folder / hugging_face::genai_file)) {
    return import_genai(folder, options, load);
  }
  const Limits& limits = load.limits;
  const Config config = hugging_face::read_config(folder / "config.json", "config.json");
  Imported imported;
  const std::string architecture = architecture_of(config);
  const Family& family = family_of(architecture);
  if (options.cache && !family.is_decoder) {
    fail(ErrorCode::mismatch, "a ", architecture, " reads no earlier tokens: it has no cache");
  }
  if (options.ids_only && family.is_decoder) {
    fail(ErrorCode::mismatch, "a ", architecture, " has no input for what ids alone could say");
  }
  require_plain(config);
  Weights weights(folder, limits);
  hugging_face::Network network(imported.model.def, weights);
  const auto sentence =
      family.is_decoder ? std::nullopt : hugging_face::read_sentence_modules(folder);
  if (sentence && !architecture.ends_with("Model")) {
    fail(ErrorCode::unsupported, "modules.json pools the states of the encoder, but a ",
         architecture, " has a head in their place");
  }
  if (options.pairs && !sentence) {
    fail(ErrorCode::mismatch, "pairs are of embeddings of sentences, which a ", architecture,
         family.is_decoder ? " does not have" : " has where the folder has modules.json");
  }
  family.write(network, config,
               {architecture, options.cache, options.ids_only, options.pairs, &limits,
                sentence ? &*sentence : nullptr});
  weights.require_taken(
      [&](std::string_view tensor) { return family.is_left_out(config, tensor); });
  const bool classifies = architecture.ends_with("Classification");
  hugging_face::FolderTexts texts =
      hugging_face::read_texts(folder, config, family.is_decoder, classifies);
  if (options.ids_only) note_padding(config, texts);
  texts.record.text.context = family.context(config, architecture);
  graph::write_record(imported.model.def.metadata, texts.record);
  imported.model.files = weights.files();
  imported.report.architecture = architecture;
  imported.report.notes = std::move(texts.notes);
  imported.report.parameters = weights.parameters();
  imported.report.weight_bytes = weights.bytes();
  describe(imported, texts.record);
  return imported;
}

template <class Body>
decltype(auto) with_folder(const std::filesystem::path& folder, Body&& body) {
  return guard_memory(what, [&] {
    return with_context(body, [&] { return "folder " + quoted(folder.string()); });
  });
}

}  // namespace

Model import_hugging_face(const std::filesystem::path& folder,
                          const ImportHuggingFaceOptions& options, const LoadOptions& load,
                          ImportHuggingFaceReport* report) {
  return with_folder(folder, [&] {
    const StopScope scope(stop_of(load));
    Imported imported = read(folder, options, load);
    Model model = ModelAccess::make(std::move(imported.model), load);
    if (report != nullptr) *report = std::move(imported.report);
    return model;
  });
}

ImportHuggingFaceReport import_hugging_face(const std::filesystem::path& folder,
                                            const std::filesystem::path& output,
                                            const ImportHuggingFaceOptions& options,
                                            const Limits& limits) {
  return with_folder(folder, [&] {
    LoadOptions load;
    load.limits = limits;
    Imported imported = read(folder, options, load);
    std::optional<std::uint64_t> external_from = options.external_data_from;
    if (!external_from && imported.report.weight_bytes >= external_above) {
      external_from = external_tensor;
    }
    save_model(imported.model.def, output, external_from);
    for (const auto& file : imported.model.files) file->require_unchanged();
    return std::move(imported.report);
  });
}

}  // namespace ondine
