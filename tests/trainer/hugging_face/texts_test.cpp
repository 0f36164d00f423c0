// Properties of texts that a folder gives, and the texts that decoders write; tokenizer.json is
// needed.
#include <ondine/import_hugging_face.h>

#include <algorithm>
#include <catch2/catch.hpp>

#include <ondine/data_record.h>
#include <ondine/generate.h>
#include <ondine/text.h>

#include "tests/support/hugging_face_folder.h"
#include "tests/trainer/text/tokenizer/tokenizer_file.h"

using namespace ondine;
using namespace ondine::test;

namespace {

// The tokens with the largest scores, each by all that are before it.
std::vector<std::int64_t> likeliest(const Model& model, std::vector<std::int64_t> ids,
                                    std::size_t count) {
  std::vector<std::int64_t> tokens;
  while (tokens.size() < count) {
    const Shape shape{1, std::ssize(ids)};
    NamedValues feeds;
    for (const PortInfo& input : model.inputs()) {
      feeds.emplace_back(
          input.name,
          Tensor::of(shape,
                     input.name == "input_ids" ? ids : std::vector<std::int64_t>(ids.size(), 1)));
    }
    const Results results = model.infer(feeds);
    const auto scores = results["logits"].tensor().values<float>().last(11);
    tokens.push_back(std::ranges::max_element(scores) - scores.begin());
    ids.push_back(tokens.back());
  }
  return tokens;
}

}  // namespace

TEST_CASE("Decoders with caches compute the same in parts") {
  for (const std::string name :
       {"llama", "mistral", "qwen2", "qwen3", "phi3", "gemma2", "gemma3", "gpt2"}) {
    INFO(name);
    const HuggingFaceFolder folder(name);
    const Model whole = import_hugging_face(folder.path());
    const Model cached = import_hugging_face(folder.path(), {.cache = true});
    const std::vector<std::int64_t> prompt{1, 7, 3, 10, 2};
    GenerateOptions options;
    options.temperature = 0;
    options.max_tokens = 9;
    // The vocabulary has 11 tokens; ids are fed as they are.
    options.encoding =
        TokenizerFile{word_pieces({"[UNK]", "a", "b", "c", "d", "e", "f", "g", "h", "i", "j"})}
            .encoding();
    const GenerateReport fast = Generator(cached, options).generate(prompt);
    CHECK(fast.tokens == likeliest(whole, prompt, 9));
    CHECK(Generator(whole, options).generate(prompt).tokens == fast.tokens);
    CHECK(fast.cache == GenerateCache::padded);
  }
}

TEST_CASE("The tokenizer, the chat template and the names of labels come along") {
  const HuggingFaceFolder folder("llama");
  folder.write_text("tokenizer.json",
                    TokenizerFile{word_pieces({"[UNK]", "a", "b", "c", "d"})}.text());
  folder.write_text("tokenizer_config.json",
                    R"({"chat_template": "{{ messages[0]['content'] }}"})");
  ImportHuggingFaceReport report;
  const Model model = import_hugging_face(folder.path(), {}, {}, &report);
  CHECK(report.has_tokenizer);
  CHECK(report.has_chat_template);
  CHECK(report.notes.empty());
  CHECK(text_options(model).encoding.encode("c") == std::vector<std::int64_t>{3});
  CHECK(data_record(model).text.chat_template == "{{ messages[0]['content'] }}");

  HuggingFaceFolder classifier("bert_classes");
  classifier.config()["id2label"] = {{"2", "good"}, {"0", "bad"}, {"1", "none"}};
  classifier.write();
  CHECK(data_record(import_hugging_face(classifier.path())).classes ==
        std::vector<std::string>{"bad", "none", "good"});

  folder.write_text("tokenizer.json", R"({"model": {"type": "Unknown"}})");
  import_hugging_face(folder.path(), {}, {}, &report);
  CHECK_FALSE(report.has_tokenizer);
  REQUIRE(report.notes.size() == 1);
  CHECK_THAT(report.notes[0], Catch::StartsWith("tokenizer.json is left out: "));
}
