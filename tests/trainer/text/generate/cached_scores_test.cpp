#include <catch2/catch.hpp>
#include <cmath>
#include <vector>

#include "tests/trainer/text/generate/small_decoder.h"
#include "trainer/text/caches/fresh_outputs.h"
#include "trainer/text/generate/token_scores.h"

using namespace ondine;
using namespace ondine::test;

namespace {

std::vector<std::int64_t> some_tokens(std::size_t count) {
  std::vector<std::int64_t> tokens;
  for (std::size_t i = 0; i < count; ++i) {
    tokens.push_back(static_cast<std::int64_t>((i * i * 7 + i * 13 + 5) % 255 + 1));
  }
  return tokens;
}

// The scores of every position, computed at once by a model without caches.
Tensor whole(const SmallDecoder& shape, const std::vector<std::int64_t>& tokens) {
  SmallDecoder plain = shape;
  plain.caches = plain.mask = plain.positions = false;
  plain.tokens = 0;
  const Tensor ids = Tensor::of(Shape{1, std::ssize(tokens)}, tokens);
  return plain.model().infer({{"input_ids", ids}})["logits"].tensor();
}

// The largest difference of scores of the model step by step, after a prompt of `prompt` tokens,
// from `whole`.
double difference(const Model& model, const SmallDecoder& shape, std::size_t prompt,
                  std::size_t count, GenerateCache expected) {
  const std::vector<std::int64_t> tokens = some_tokens(count);
  const Tensor all = whole(shape, tokens);
  const text::DecoderCall call(model, {});
  const auto scores = text::make_token_scores(call);
  double largest = 0;
  for (std::size_t used = prompt; used <= count; ++used) {
    const std::vector<double> found = scores->next(std::span(tokens).first(used));
    for (std::size_t c = 0; c < found.size(); ++c) {
      const double wanted = all.values<float>()[(used - 1) * found.size() + c];
      largest = std::max(largest, std::abs(found[c] - wanted));
    }
  }
  CHECK(scores->cache() == expected);
  return largest;
}

// The same, with caches that give all their tokens or what is new alone.
double difference(const SmallDecoder& shape, std::size_t prompt, std::size_t count,
                  GenerateCache expected) {
  const Model model = shape.model();
  double largest = difference(model, shape, prompt, count, expected);
  const text::DecoderPorts ports = text::find_decoder_ports(model);
  if (ports.caches.empty()) return largest;
  const auto other = text::with_fresh_outputs(model, ports);
  REQUIRE(other);
  CHECK(text::DecoderCall(*other, {}).has_fresh());
  return std::max(largest, difference(*other, shape, prompt, count, expected));
}

}  // namespace

TEST_CASE("scores with a cache are those of the whole text at every position") {
  for (const bool rotary : {true, false}) {
    CAPTURE(rotary);
    SmallDecoder shape{.caches = true, .mask = true, .positions = true, .rotary = rotary};
    CHECK(difference(shape, 5, 200, GenerateCache::padded) < 1e-4);
    CHECK(difference(shape, 1, 70, GenerateCache::padded) < 1e-4);
    shape.positions = false;
    CHECK(difference(shape, 5, 80, GenerateCache::exact) < 1e-4);
    shape.mask = false;
    CHECK(difference(shape, 5, 30, GenerateCache::exact) < 1e-4);
    shape.positions = true;
    CHECK(difference(shape, 5, 30, GenerateCache::exact) < 1e-4);
  }
}

TEST_CASE("a model that reads one token at a time reads a prompt so") {
  const SmallDecoder shape{.caches = true, .mask = true, .positions = true, .tokens = 1};
  CHECK(difference(shape, 9, 100, GenerateCache::padded) < 1e-4);
}

TEST_CASE("a model without caches computes a text anew, with mask and positions if it takes them") {
  CHECK(difference({}, 1, 20, GenerateCache::none) < 1e-4);
  CHECK(difference({.mask = true, .positions = true}, 1, 20, GenerateCache::none) < 1e-4);
  CHECK(difference({.mask = true, .rotary = false}, 1, 20, GenerateCache::none) < 1e-4);
  CHECK(difference({.mask = true, .positions = true, .tokens = 24}, 1, 24, GenerateCache::none) <
        1e-4);
}

TEST_CASE("a model with a sliding window gets the right scores, whatever it counts") {
  // The window of 150 places is wide enough for the first room and too small for the second.
  for (const std::int64_t window : {7, 40, 150}) {
    CAPTURE(window);
    const SmallDecoder shape{.caches = true, .mask = true, .positions = true, .window = window};
    CHECK(difference(shape, 5, 180, GenerateCache::padded) < 1e-4);
  }
}

TEST_CASE("a model that sees hidden places of its caches gets none") {
  const SmallDecoder blind{.caches = true, .mask = true, .positions = true, .ignores_mask = true};
  CHECK(difference(blind, 5, 40, GenerateCache::exact) < 1e-4);
}

TEST_CASE("long prompts are read in pieces with the scores of the whole") {
  SmallDecoder shape{.caches = true, .mask = true, .positions = true};
  CHECK(difference(shape, 700, 703, GenerateCache::padded) < 1e-4);
  shape.window = 80;
  CHECK(difference(shape, 512, 514, GenerateCache::padded) < 1e-4);
  shape.mask = shape.positions = false;
  CHECK(difference(shape, 513, 515, GenerateCache::exact) < 1e-4);
}

TEST_CASE("a piece of a long prompt needs no more memory than one of a longer prompt") {
  const auto reads = [](std::size_t count, std::uint64_t arena) {
    LoadOptions options;
    options.limits.arena_bytes = arena;
    const Model model =
        SmallDecoder{.caches = true, .mask = true, .positions = true}.model(options);
    const text::DecoderCall call(model, {});
    return text::make_token_scores(call)->next(some_tokens(count)).size();
  };
  // At once, the scores and the masked weights of two heads alone would have 9 MB.
  CHECK(reads(900, std::uint64_t{5} << 20) == 256);
}

TEST_CASE("a model whose new tokens see each other after others reads a prompt at once") {
  const SmallDecoder shape{
      .caches = true, .mask = true, .positions = true, .mixes_new_tokens = true};
  CHECK(difference(shape, 300, 302, GenerateCache::padded) < 1e-4);
}

TEST_CASE("room for tokens counts against the limits of the model") {
  LoadOptions options;
  options.limits.arena_bytes = std::uint64_t{4} << 20;
  const Model model = SmallDecoder{.caches = true}.model(options);
  const text::DecoderCall call(model, {});
  CHECK(call.make_tensor(DType::float32, {1, 2, 1000, 8}).bytes() == 64'000);
  CHECK_THROWS_AS(call.make_tensor(DType::float32, {1, 2, 1'000'000, 8}), Error);
}
