// Folders of onnxruntime-genai, as its model builder writes them (record_genai.py).
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include <ondine/generate.h>
#include <ondine/import_hugging_face.h>
#include <ondine/prepare.h>

#include "tests/support/file_content.h"
#include "tests/support/paths.h"
#include "tests/support/temporary_folder.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;
using Json = nlohmann::json;

namespace {

// A copy of the recorded folder, whose config may be changed.
class GenaiFolder {
 public:
  GenaiFolder() {
    for (const auto& entry : std::filesystem::directory_iterator(recorded())) {
      std::filesystem::copy(entry.path(), folder_ / entry.path().filename());
    }
    config = read("genai_config.json");
  }

  static std::filesystem::path recorded() {
    return source_folder() / "tests/trainer/hugging_face/data/genai";
  }
  static Json read(const char* name) { return Json::parse(content(recorded() / name)); }

  const std::filesystem::path& write() const {
    std::ofstream(folder_ / "genai_config.json", std::ios::binary) << config.dump();
    return folder_.path();
  }
  std::string refusal() const {
    try {
      import_hugging_face(write());
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

  Json config;

 private:
  TemporaryFolder folder_;
};

// Feeds of the tokens alone, with empty caches.
NamedValues feeds_of(const std::vector<std::int64_t>& ids) {
  const auto tokens = static_cast<std::int64_t>(ids.size());
  NamedValues feeds{
      {"input_ids", Tensor::of(Shape{1, tokens}, ids)},
      {"attention_mask", Tensor::of(Shape{1, tokens}, std::vector<std::int64_t>(ids.size(), 1))}};
  for (const std::string layer : {"0", "1"}) {
    for (const char* kind : {".key", ".value"}) {
      feeds.emplace_back("past_key_values." + layer + kind,
                         Tensor(DType::float32, Shape{1, 1, 0, 16}));
    }
  }
  return feeds;
}

std::vector<float> logits_of(const Model& model, const std::vector<std::int64_t>& ids) {
  const Results results = model.infer(feeds_of(ids));
  const auto values = results["logits"].tensor().values<float>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("A folder of onnxruntime-genai gives the scores of onnxruntime") {
  ImportHuggingFaceReport report;
  const Model model = import_hugging_face(GenaiFolder::recorded(), {}, {}, &report);
  const Json expected = GenaiFolder::read("expected.json");
  const auto wanted = expected["logits"].get<std::vector<float>>();
  const auto found = logits_of(model, expected["ids"].get<std::vector<std::int64_t>>());
  REQUIRE(found.size() == wanted.size());
  float largest = 0;
  for (const float one : wanted) largest = std::max(largest, std::abs(one));
  CHECK(largest > 1);
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CHECK(found[i] == Approx(wanted[i]).margin(1e-5F * largest));
  }
  CHECK(report.architecture == "llama");
  CHECK(report.has_tokenizer);
  CHECK(report.inputs.size() == 6);
  using Options = std::vector<std::pair<std::string, std::string>>;
  CHECK(report.generate == Options{{"temperature", "0.8"}, {"top-k", "7"}, {"top-p", "0.9"}});
}

TEST_CASE("A folder of onnxruntime-genai writes the text of the largest scores with its caches") {
  const Model model = import_hugging_face(GenaiFolder::recorded());
  const Generator generator(model, {.max_tokens = 20, .temperature = 0, .ignore_end = true});
  std::vector<std::int64_t> tokens{5, 9, 31};
  const GenerateReport report = generator.generate(tokens);
  CHECK(report.cache != GenerateCache::none);
  REQUIRE(report.tokens.size() == 20);
  for (const std::int64_t token : report.tokens) {
    const std::vector<float> scores = logits_of(model, tokens);
    const auto last = scores.end() - 40;
    CHECK(std::max_element(last, scores.end()) - last == token);
    tokens.push_back(token);
  }
}

TEST_CASE("Adapters train beside the 4-bit weights of a folder of onnxruntime-genai") {
  const TemporaryFolder folder;
  import_hugging_face(GenaiFolder::recorded(), folder / "net.onnx", {});
  Model model = prepare(folder / "net.onnx", {.loss = Loss::softmax_cross_entropy,
                                              .optimizer = AdamW{.learning_rate = 0.01F},
                                              .lora = Lora{.rank = 4}});
  model.initialize(1);
  const std::vector<std::int64_t> ids{5, 9, 31, 7, 7, 20, 2, 39, 11, 6, 17, 3};
  NamedValues feeds = feeds_of(ids);
  std::vector<std::int64_t> labels(ids.begin() + 1, ids.end());
  labels.push_back(4);
  feeds.emplace_back("label", Tensor::of(Shape{1, 12}, labels));
  const double first = model.train_step(feeds).scalar("loss");
  double last = first;
  for (int step = 0; step < 30; ++step) last = model.train_step(feeds).scalar("loss");
  CHECK(last < 0.5 * first);
}

TEST_CASE("A search without sampling takes the largest scores, and what is not done is noted") {
  GenaiFolder folder;
  folder.config["search"]["do_sample"] = false;
  folder.config["search"]["repetition_penalty"] = 1.5;
  folder.config["search"]["num_beams"] = 4;
  ImportHuggingFaceReport report;
  import_hugging_face(folder.write(), {}, {}, &report);
  using Options = std::vector<std::pair<std::string, std::string>>;
  CHECK(report.generate == Options{{"repeat-penalty", "1.5"}, {"temperature", "0"}});
  CHECK(std::ranges::any_of(report.notes, [](const std::string& note) {
    return note.find("'search.num_beams' of genai_config.json is above 1") != std::string::npos;
  }));
}

TEST_CASE("What a folder of onnxruntime-genai says of its model must be true of the model") {
  const auto refusal = [](auto change) {
    GenaiFolder folder;
    change(folder.config["model"]["decoder"]);
    return folder.refusal();
  };
  CHECK_THAT(refusal([](Json& decoder) { decoder["num_hidden_layers"] = 3; }),
             Contains("the model has no input 'past_key_values.2.key'"));
  CHECK_THAT(refusal([](Json& decoder) { decoder["num_hidden_layers"] = 1; }),
             Contains("input 'past_key_values.1.key' is none that a decoder"));
  CHECK_THAT(refusal([](Json& decoder) { decoder["inputs"]["input_ids"] = "ids"; }),
             Contains("'model.decoder.inputs.input_ids' of genai_config.json is 'ids'"));
  CHECK_THAT(refusal([](Json& decoder) { decoder["inputs"]["past_key_names"] = "past"; }),
             Contains("a name with one %d"));
  CHECK_THAT(refusal([](Json& decoder) { decoder.erase("head_size"); }),
             Contains("'model.decoder.head_size' of genai_config.json is missing"));
  CHECK_THAT(refusal([](Json& decoder) { decoder["filename"] = "../model.onnx"; }),
             Contains("is no name of a file"));
  CHECK_THAT(refusal([](Json& decoder) { decoder["pipeline"] = Json::array({"a"}); }),
             Contains("'model.decoder.pipeline' of genai_config.json is not supported"));
  GenaiFolder folder;
  folder.config["model"]["vision"] = {{"filename", "vision.onnx"}};
  CHECK_THAT(folder.refusal(), Contains("'model.vision'"));
  CHECK_THROWS_WITH(import_hugging_face(GenaiFolder::recorded(), {.ids_only = true}),
                    Contains("whose inputs stay as they are"));
}
