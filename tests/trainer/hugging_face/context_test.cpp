// How long texts may be, as the files of a folder say.
#include <catch2/catch.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include <ondine/data_record.h>
#include <ondine/generate.h>
#include <ondine/import_hugging_face.h>
#include <ondine/prepare.h>
#include <ondine/text.h>
#include <ondine/trainer.h>

#include "tests/support/file_content.h"
#include "tests/support/hugging_face_folder.h"
#include "tests/support/paths.h"
#include "tests/support/temporary_folder.h"
#include "tests/trainer/text/tokenizer/tokenizer_file.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

constexpr const char* genai_limit =
    "at most 64 tokens (member 'model.context_length' of "
    "genai_config.json)";

TextEncoding eleven_words() {
  TokenizerFile file{word_pieces({"[UNK]", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j"})};
  file.pre_tokenizer = R"({"type":"WhitespaceSplit"})";
  return file.encoding();
}

GenerateOptions many_tokens() {
  return {.max_tokens = 200, .temperature = 0, .ignore_end = true, .encoding = eleven_words()};
}

// The recorded folder of onnxruntime-genai, whose context has 64 tokens, with another search.
class GenaiFolder {
 public:
  explicit GenaiFolder(std::int64_t max_length) {
    const auto recorded = source_folder() / "tests/trainer/hugging_face/data/genai";
    for (const auto& entry : std::filesystem::directory_iterator(recorded)) {
      std::filesystem::copy(entry.path(), folder_ / entry.path().filename());
    }
    const auto file = folder_ / "genai_config.json";
    auto config = nlohmann::json::parse(content(file));
    config["search"]["max_length"] = max_length;
    std::ofstream(file, std::ios::binary) << config.dump();
  }
  Model open(ImportHuggingFaceReport* report = nullptr) const {
    return import_hugging_face(folder_.path(), {}, {}, report);
  }

 private:
  TemporaryFolder folder_;
};

GenerateReport generated(const Model& model, std::size_t prompt) {
  GenerateOptions options = many_tokens();
  options.encoding.reset();  // the folder's
  return Generator(model, options).generate(std::vector<std::int64_t>(prompt, 5));
}

// A text of so many words, a window of the given length.
Dataset words(const TemporaryFolder& folder, const Model& model, std::int64_t length) {
  std::ofstream file(folder / "words.txt");
  for (int i = 0; i < 200; ++i) file << "a b c ";
  file.close();
  DatasetOptions options = recorded_options(model);
  options.text.length = length;
  if (options.text.encoding == TextEncoding()) options.text.encoding = eleven_words();
  return Dataset::open(folder / "words.txt", options);
}

// The message with which training by windows of this length is refused.
std::string refusal(const Model& network, std::int64_t length) {
  const TemporaryFolder folder;
  try {
    Model model = prepare(network, {.accuracy = false});
    Trainer trainer(model, {.epochs = 1, .batch_size = 2, .max_steps = 1});
    trainer.fit(words(folder, network, length));
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::mismatch);
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE(
    "A text ends at the context length of a folder of onnxruntime-genai, and the report says so") {
  const Model model = GenaiFolder(64).open();
  const GenerateReport report = generated(model, 3);
  CHECK(report.end == GenerateEnd::context);
  CHECK(report.tokens.size() == 61);
  CHECK_THAT(report.context, Contains(genai_limit));
  CHECK(generated(model, 63).tokens.size() == 1);
  CHECK_THROWS_WITH(generated(model, 64),
                    Contains("the prompt has 64 tokens") && Contains(genai_limit));
}

TEST_CASE("A text ends at the largest length of a folder's search, or at the context before") {
  const GenerateReport report = generated(GenaiFolder(20).open(), 3);
  CHECK(report.end == GenerateEnd::context);
  CHECK(report.tokens.size() == 17);
  CHECK_THAT(report.context, Contains("'search.max_length' of genai_config.json"));
  ImportHuggingFaceReport said;
  const Model longer = GenaiFolder(100).open(&said);
  REQUIRE(said.notes.size() == 1);
  CHECK_THAT(said.notes[0], Contains("'search.max_length' of genai_config.json is 100 tokens"));
  CHECK(generated(longer, 3).tokens.size() == 61);
}

TEST_CASE("Rows that are longer than the context are refused, a shorter search does not count") {
  const Model model = GenaiFolder(20).open();
  CHECK_THAT(refusal(model, 65), Contains("the rows have 65 tokens") &&
                                     Contains("at most 64 (member 'model.context_length'") &&
                                     Contains("--text-length 64"));
  CHECK(refusal(model, 64).empty());
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(recorded_feeder(model, model.inputs(), words(folder, model, 65)),
                    Contains("the rows have 65 tokens"));
}

TEST_CASE("The context comes along in a file, in a training model and in an export") {
  const TemporaryFolder folder;
  const HuggingFaceFolder network("gpt2");
  import_hugging_face(network.path(), folder / "net.onnx", {});
  Model model = prepare(folder / "net.onnx", {.accuracy = false});
  model.export_inference(folder / "tuned.onnx");
  const DataRecord::Context context = data_record(Model::load(folder / "tuned.onnx")).text.context;
  CHECK(context.tokens == 16);
  CHECK(context.source == "member 'n_positions' of config.json");
  CHECK(context.is_limit);
}

TEST_CASE("Positions that are learned end a text, and rows beyond them are refused") {
  const HuggingFaceFolder folder("gpt2");
  const std::vector<std::int64_t> prompt{1, 7, 3};
  const Model cached = import_hugging_face(folder.path(), {.cache = true});
  const GenerateReport report = Generator(cached, many_tokens()).generate(prompt);
  CHECK(report.end == GenerateEnd::context);
  CHECK(report.tokens.size() == 13);
  CHECK_THAT(report.context, Contains("at most 16 tokens (member 'n_positions' of config.json)"));
  // Without caches the network sees the last tokens.
  const Model whole = import_hugging_face(folder.path());
  const GenerateReport windows = Generator(whole, many_tokens()).generate(prompt);
  CHECK(windows.end == GenerateEnd::max_tokens);
  CHECK(std::equal(report.tokens.begin(), report.tokens.end(), windows.tokens.begin()));
  CHECK_THAT(refusal(whole, 17), Contains("at most 16 (member 'n_positions' of config.json)"));
  CHECK(refusal(whole, 16).empty());
}

TEST_CASE("Rotary positions go on beyond the length of training, with a note") {
  HuggingFaceFolder folder("llama");
  folder.config()["max_position_embeddings"] = 16;
  folder.write();
  const Model cached = import_hugging_face(folder.path(), {.cache = true});
  GenerateOptions options = many_tokens();
  const GenerateReport longer = Generator(cached, options).generate(std::vector<std::int64_t>{1});
  CHECK(longer.end == GenerateEnd::max_tokens);
  CHECK_THAT(longer.context, Contains("trained with at most 16 (member 'max_position_embeddings'"));
  options.max_tokens = 15;
  CHECK(Generator(cached, options).generate(std::vector<std::int64_t>{1}).context.empty());
  const Model whole = import_hugging_face(folder.path());
  CHECK(refusal(whole, 17).empty());
  const TemporaryFolder texts;
  const auto notes = recorded_feeder(whole, whole.inputs(), words(texts, whole, 17)).notes;
  REQUIRE(notes.size() == 1);
  CHECK_THAT(notes[0], Contains("the rows have 17 tokens") && Contains("at most 16"));
  CHECK(recorded_feeder(whole, whole.inputs(), words(texts, whole, 16)).notes.empty());
}

TEST_CASE("The positions of encoders are limits, those of RoBERTa without the ones of padding") {
  const auto context = [](const char* name, std::int64_t positions) {
    const HuggingFaceFolder folder(name);
    const std::int64_t said = folder.said()["config"]["max_position_embeddings"];
    const DataRecord::Context found = data_record(import_hugging_face(folder.path())).text.context;
    CHECK(found.is_limit);
    CHECK(found.tokens == said - positions);
  };
  context("bert", 0);
  context("distilbert_classes", 0);
  context("roberta", 2);
}
