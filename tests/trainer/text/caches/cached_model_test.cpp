// Caches that are made for models without: their scores beside those of the whole text.
#include "trainer/text/caches/cached_model.h"

#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include <ondine/build.h>
#include <ondine/generate.h>

#include "tests/support/random_tensor.h"
#include "tests/trainer/text/generate/small_decoder.h"
#include "trainer/text/generate/token_scores.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;

namespace {

std::vector<std::int64_t> some_tokens(std::size_t count) {
  std::vector<std::int64_t> tokens;
  for (std::size_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<std::int64_t>((i * i * 7 + i * 13 + 5) % 255 + 1));
  }
  return tokens;
}

// The largest difference of scores at each position after the prompt, read with a made cache and
// anew.
double difference(const Model& model, std::size_t prompt, std::size_t count) {
  const text::DecoderCall plain(model, {});
  REQUIRE(plain.ports().caches.empty());
  const auto made = text::make_cached_model(model, plain.ports(), 256);
  INFO(made.reason);
  REQUIRE(made.model);
  CHECK(made.longest == 256);
  const text::DecoderCall cached(*made.model, {});
  CHECK_FALSE(cached.ports().caches.empty());
  CHECK(cached.has_fresh());
  const auto steps = text::make_token_scores(cached);
  const auto whole = text::make_token_scores(plain);
  const std::vector<std::int64_t> tokens = some_tokens(count);
  double largest = 0;
  for (std::size_t used = prompt; used <= count; ++used) {
    const auto some = std::span(tokens).first(used);
    const std::vector<double> found = steps->next(some);
    const std::vector<double> wanted = whole->next(some);
    REQUIRE(found.size() == wanted.size());
    for (std::size_t c = 0; c < found.size(); ++c) {
      largest = std::max(largest, std::abs(found[c] - wanted[c]));
    }
  }
  CHECK(steps->cache() == GenerateCache::padded);
  return largest;
}

std::string reason(const Model& model) {
  const text::DecoderCall call(model, {});
  const auto made = text::make_cached_model(model, call.ports(), 256);
  CHECK_FALSE(made.model);
  return made.reason;
}

// As import-hf writes: operators Attention and RotaryEmbedding, fewer heads of keys and values.
struct FusedDecoder {
  std::int64_t window = 0;  // 0: causal by the attribute
  bool causal = true;
  bool reads_last = false;  // gives the scores of the last token alone

  static constexpr std::int64_t heads = 4, kv_heads = 2, size = 8, width = heads * size;

  Model model() const {
    ModelBuilder b("fused", 23);
    std::uint64_t seed = 0;
    int constants = 0;
    const auto constant = [&](const Tensor& value) {
      return b.initializer("c" + std::to_string(++constants), value);
    };
    const auto ints = [&](std::vector<std::int64_t> values) {
      return constant(Tensor::of(Shape{std::ssize(values)}, values));
    };
    const auto weight = [&](std::int64_t rows, std::int64_t columns) {
      return constant(random_floats({rows, columns}, ++seed, -0.3F, 0.3F));
    };
    const std::string ids = b.input("input_ids", DType::int64, {"N", "T"});
    const std::string shape = b.node("Shape", {ids});
    const std::string length = b.node("Gather", {shape, constant(Tensor::scalar(std::int64_t{1}))});
    const std::string zero = constant(Tensor::scalar(std::int64_t{0}));
    const std::string one = constant(Tensor::scalar(std::int64_t{1}));
    const std::string places = b.node("Range", {zero, length, one});
    const std::string positions = b.node("Expand", {places, shape});
    std::string mask;
    if (window > 0) {
      const std::string before = b.node("Sub", {b.node("Unsqueeze", {places, ints({1})}), places});
      mask = b.node("And", {b.node("GreaterOrEqual", {before, zero}),
                            b.node("Less", {before, constant(Tensor::scalar(window))})});
    }
    std::string x = b.node("Gather", {weight(256, width), ids});
    const std::string cosines = constant(random_floats({300, size / 2}, 90, -1, 1));
    const std::string sines = constant(random_floats({300, size / 2}, 91, -1, 1));
    for (int layer = 0; layer < 2; ++layer) {
      const std::string y =
          b.node("RMSNormalization", {x, constant(random_floats({width}, ++seed))},
                 {{"axis", std::int64_t{-1}}});
      const auto turned = [&](const std::string& value, std::int64_t count) {
        return b.node("RotaryEmbedding", {value, cosines, sines, positions},
                      {{"num_heads", count}});
      };
      const std::string q = turned(b.node("MatMul", {y, weight(width, width)}), heads);
      const std::string k = turned(b.node("MatMul", {y, weight(width, kv_heads * size)}), kv_heads);
      const std::string v = b.node("MatMul", {y, weight(width, kv_heads * size)});
      std::vector<std::string> inputs{q, k, v};
      if (window > 0) inputs.push_back(mask);
      const std::string seen = b.node("Attention", inputs,
                                      {{"q_num_heads", heads},
                                       {"kv_num_heads", kv_heads},
                                       {"is_causal", std::int64_t{causal && window == 0 ? 1 : 0}}});
      x = b.node("Add", {x, b.node("MatMul", {seen, weight(width, width)})});
    }
    if (reads_last) {
      x = b.node("Slice", {x, ints({-1}), ints({1 << 20}), ints({1})});
    }
    b.node("MatMul", {x, weight(width, 256)}, {}, "logits");
    b.output("logits", DType::float32, {"N", reads_last ? "M" : "T", 256});
    return Model::load(b.bytes());
  }
};

}  // namespace

TEST_CASE("a cache is made for attention in its parts, with learned and with rotary positions") {
  const bool rotary = GENERATE(false, true);
  CHECK(difference(SmallDecoder{.rotary = rotary}.model(), 5, 90) < 1e-4);
  CHECK(difference(SmallDecoder{.mask = true, .rotary = rotary}.model(), 1, 20) < 1e-4);
  CHECK(difference(SmallDecoder{.mask = true, .positions = true, .rotary = rotary}.model(), 3, 20) <
        1e-4);
  CHECK(difference(SmallDecoder{.rotary = rotary, .window = 7}.model(), 5, 80) < 1e-4);
  CHECK(difference(SmallDecoder{.mask = true, .rotary = rotary, .measures_mask = true}.model(), 3,
                   20) < 1e-4);
}

TEST_CASE("a cache is made for operators of attention, with fewer heads and with a window") {
  CHECK(difference(FusedDecoder{}.model(), 5, 90) < 1e-4);
  CHECK(difference(FusedDecoder{.window = 6}.model(), 5, 80) < 1e-4);
}

TEST_CASE("a model gets no cache where a token may depend on later ones") {
  CHECK_THAT(reason(SmallDecoder{.sees_all = true}.model()), Contains("sees later tokens"));
  CHECK_THAT(reason(FusedDecoder{.causal = false}.model()), Contains("sees later tokens"));
  CHECK_THAT(reason(SmallDecoder{.centers = true}.model()), Contains("reduces tokens"));
  CHECK_THAT(reason(SmallDecoder{.counts_down = true}.model()), Contains("changes for earlier"));
  CHECK_THAT(reason(FusedDecoder{.reads_last = true}.model()), Contains("cuts the text"));
}

TEST_CASE("a generator makes a cache and writes the same text, or says why it has none") {
  const GenerateOptions options{.max_tokens = 40, .temperature = 0, .ignore_end = true};
  const auto prompt = some_tokens(9);
  const GenerateReport made = Generator(SmallDecoder{}.model(), options).generate(prompt);
  CHECK(made.cache == GenerateCache::padded);
  CHECK(made.no_cache.empty());
  const Model cached = SmallDecoder{.caches = true, .mask = true, .positions = true}.model();
  CHECK(made.tokens == Generator(cached, options).generate(prompt).tokens);
  const Model blind = SmallDecoder{.sees_all = true}.model();
  const GenerateReport none = Generator(blind, options).generate(prompt);
  CHECK(none.cache == GenerateCache::none);
  CHECK_THAT(none.no_cache, Contains("sees later tokens"));
}

TEST_CASE("a text longer than the tables of a made cache is computed anew") {
  const Model model = SmallDecoder{.rotary = false}.model();
  const text::DecoderCall plain(model, {});
  const auto made = text::make_cached_model(model, plain.ports(), 64);
  REQUIRE(made.model);
  const text::DecoderCall cached(*made.model, {});
  const auto scores = text::make_token_scores(plain, cached, made.longest);
  const auto tokens = some_tokens(70);
  const auto whole = text::make_token_scores(plain);
  for (std::size_t used = 60; used <= 70; ++used) {
    const auto some = std::span(tokens).first(used);
    const std::vector<double> found = scores->next(some), wanted = whole->next(some);
    double largest = 0;
    for (std::size_t c = 0; c < found.size(); ++c) {
      largest = std::max(largest, std::abs(found[c] - wanted[c]));
    }
    CHECK(largest < 1e-4);
    if (used > 60) {
      CHECK(scores->cache() == (used <= 64 ? GenerateCache::padded : GenerateCache::none));
    }
  }
}
