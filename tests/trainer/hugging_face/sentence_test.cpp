// Folders of sentence-transformers: an encoder, pooling and normalization.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <functional>

#include <ondine/import_hugging_face.h>

#include "tests/support/hugging_face_folder.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

constexpr const char* transformer =
    R"({"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"})";
constexpr const char* pooling =
    R"({"idx": 1, "name": "1", "path": "1_Pooling", "type": "sentence_transformers.models.Pooling"})";
constexpr const char* normalize =
    R"({"idx": 2, "name": "2", "path": "2_Normalize", "type": "sentence_transformers.models.Normalize"})";

std::string listed(const std::vector<std::string>& modules) {
  std::string text;
  for (const std::string& one : modules) text += (text.empty() ? "[" : ", ") + one;
  return text + "]";
}

// A BERT of 8 features whose rows have 7 and 5 tokens.
class SentenceFolder {
 public:
  explicit SentenceFolder(const std::string& config,
                          const std::vector<std::string>& modules = {transformer, pooling}) {
    folder_.write_text("modules.json", listed(modules));
    std::filesystem::create_directory(folder_ / "1_Pooling");
    folder_.write_text("1_Pooling/config.json", config);
  }

  Results infer(const ImportHuggingFaceOptions& options = {}) const {
    NamedValues feeds;
    const auto feed = [&](const std::string& name, const std::vector<std::int64_t>& values) {
      feeds.emplace_back(name, Tensor::of(Shape{2, 7}, values));
    };
    for (const auto& [name, rows] : folder_.said()["inputs"].items()) {
      if (options.ids_only && name != "input_ids") continue;
      std::vector<std::int64_t> values;
      for (const auto& row : rows) values.insert(values.end(), row.begin(), row.end());
      feed(name, values);
      if (!options.pairs) continue;
      std::rotate(values.begin(), values.begin() + 7, values.end());
      feed(name + "_pair", values);
    }
    return import_hugging_face(folder_.path(), options).infer(feeds);
  }

  std::string refusal() const {
    try {
      import_hugging_face(folder_.path());
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

 private:
  HuggingFaceFolder folder_{"bert"};
};

using Pool = std::function<double(const std::vector<double>& of_tokens)>;

// Pools each feature of the tokens that are no padding.
std::vector<double> pooled(const Tensor& states, const Pool& pool) {
  const auto values = states.values<float>();
  std::vector<double> result;
  for (std::size_t row = 0; row < 2; ++row) {
    for (std::size_t i = 0; i < 8; ++i) {
      std::vector<double> of_tokens;
      for (std::size_t t = 0; t < (row == 0 ? 7 : 5); ++t) {
        of_tokens.push_back(static_cast<double>(values[(row * 7 + t) * 8 + i]));
      }
      result.push_back(pool(of_tokens));
    }
  }
  return result;
}

void check_embedding(const Results& results, const std::vector<double>& wanted) {
  const Tensor& found = results["sentence_embedding"].tensor();
  REQUIRE(found.shape() == Shape{2, 8});
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CHECK(static_cast<double>(found.values<float>()[i]) == Approx(wanted[i]).margin(1e-6));
  }
}

double sum_of(const std::vector<double>& numbers) {
  double sum = 0;
  for (const double one : numbers) sum += one;
  return sum;
}

}  // namespace

TEST_CASE("Sentences are pooled as modules.json says, without the padding") {
  const std::pair<const char*, Pool> cases[] = {
      {R"({"word_embedding_dimension": 8, "pooling_mode_mean_tokens": true})",
       [](const auto& x) { return sum_of(x) / static_cast<double>(x.size()); }},
      {R"({"pooling_mode": "mean"})",
       [](const auto& x) { return sum_of(x) / static_cast<double>(x.size()); }},
      {R"({"pooling_mode_mean_sqrt_len_tokens": true})",
       [](const auto& x) { return sum_of(x) / std::sqrt(static_cast<double>(x.size())); }},
      {R"({"pooling_mode_max_tokens": true, "pooling_mode_mean_tokens": false})",
       [](const auto& x) { return *std::max_element(x.begin(), x.end()); }},
      {R"({"pooling_mode_cls_token": true})", [](const auto& x) { return x.front(); }},
  };
  for (const auto& [config, pool] : cases) {
    CAPTURE(config);
    const Results results = SentenceFolder(config).infer();
    check_embedding(results, pooled(results["last_hidden_state"].tensor(), pool));
  }
}

TEST_CASE("Normalized sentences have the length 1, and are the first output") {
  const std::string mean = R"({"pooling_mode_mean_tokens": true})";
  const Results results = SentenceFolder(mean, {transformer, pooling, normalize}).infer();
  CHECK(results[0].first == "sentence_embedding");
  std::vector<double> wanted = pooled(results["last_hidden_state"].tensor(), [](const auto& x) {
    return sum_of(x) / static_cast<double>(x.size());
  });
  for (std::size_t row = 0; row < 2; ++row) {
    double length = 0;
    for (std::size_t i = 0; i < 8; ++i) length += wanted[row * 8 + i] * wanted[row * 8 + i];
    for (std::size_t i = 0; i < 8; ++i) wanted[row * 8 + i] /= std::sqrt(length);
  }
  check_embedding(results, wanted);
}

TEST_CASE("Both texts of a pair have the embeddings that each has by itself") {
  const SentenceFolder folder(R"({"pooling_mode_mean_tokens": true})",
                              {transformer, pooling, normalize});
  for (const bool ids_only : {false, true}) {
    const Results single = folder.infer({.ids_only = ids_only});
    const Results pairs = folder.infer({.ids_only = ids_only, .pairs = true});
    REQUIRE(pairs.size() == 2);
    CHECK(pairs[0].first == "sentence_embedding");
    CHECK(pairs[1].first == "sentence_embedding_pair");
    const auto wanted = single["sentence_embedding"].tensor().values<float>();
    const auto first = pairs[0].second.tensor().values<float>();
    const auto second = pairs[1].second.tensor().values<float>();
    for (std::size_t i = 0; i < 16; ++i) {
      CHECK(first[i] == Approx(wanted[i]).margin(1e-6));
      CHECK(second[i] == Approx(wanted[(i + 8) % 16]).margin(1e-6));  // with the rows swapped
    }
    CHECK(first[0] != Approx(first[8]).margin(1e-3));
  }
}

TEST_CASE("Pairs are refused where a network gives no embeddings of sentences") {
  for (const char* name : {"bert", "llama"}) {
    const HuggingFaceFolder folder(name);
    CHECK_THROWS_WITH(import_hugging_face(folder.path(), {.pairs = true}),
                      Contains("pairs are of embeddings of sentences"));
  }
}

TEST_CASE("Modules that cannot be written are refused by name") {
  const std::string mean = R"({"pooling_mode_mean_tokens": true})";
  const std::string dense = R"({"type": "sentence_transformers.models.Dense", "path": "2_Dense"})";
  CHECK_THAT(SentenceFolder(mean, {transformer, pooling, dense}).refusal(),
             Contains("modules.json") && Contains("'Dense'"));
  CHECK_THAT(SentenceFolder(mean, {transformer}).refusal(), Contains("has no Pooling"));
  CHECK_THAT(SentenceFolder(mean, {pooling, transformer}).refusal(), Contains("in this order"));
  CHECK_THAT(SentenceFolder(R"({"pooling_mode_lasttoken": true})").refusal(),
             Contains("1_Pooling/config.json") && Contains("pooling_mode_lasttoken"));
  CHECK_THAT(SentenceFolder(R"({"pooling_mode": "weightedmean"})").refusal(),
             Contains("the way of pooling is not known"));
  CHECK_THAT(SentenceFolder(R"({"pooling_mode_mean_tokens": true, "pooling_mode_cls_token": true})")
                 .refusal(),
             Contains("several ways"));
  CHECK_THAT(SentenceFolder(R"({"word_embedding_dimension": 9, "pooling_mode_mean_tokens": true})")
                 .refusal(),
             Contains("reads 9 features, the encoder gives 8"));
  const std::string outside = R"({"type": "x.Pooling", "path": "../1_Pooling"})";
  CHECK_THAT(SentenceFolder(mean, {transformer, outside}).refusal(),
             Contains("is no name of a folder"));
}
