// Texts that the command `generate` writes.
#include <catch2/catch.hpp>

#include <ondine/build.h>

#include "tests/system/run/cli_run.h"
#include "tests/trainer/text/pieces/piece_file.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;
using cli_test::Workshop;

namespace {

// The largest score after id i has the id i + 1; a token_type_ids input is not understood.
void write_counting(const Workshop& shop, std::int64_t count, bool has_types = false) {
  Tensor table(DType::float32, {count, count});
  for (std::int64_t i = 0; i < count; ++i) {
    table.mutable_values<float>()[static_cast<std::size_t>(i * count + (i + 1) % count)] = 5;
  }
  ModelBuilder b("counting");
  const std::string ids = b.input("ids", DType::int64, {"N", "T"});
  if (has_types) b.input("token_type_ids", DType::int64, {"N", "T"});
  b.node("Gather", {b.initializer("table", table), ids}, {}, "logits");
  b.output("logits", DType::float32, {"N", "T", count});
  const std::vector<std::byte> bytes = b.bytes();
  shop.write("net.onnx", {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

}  // namespace

TEST_CASE("generate writes text as it comes and says how fast") {
  const Workshop shop;
  write_counting(shop, 256);
  const auto result =
      shop.succeed("generate net.onnx --prompt a --max-tokens 5 --temperature 0 --threads 2");
  CHECK(result.out == "bcdef\n");
  CHECK_THAT(result.err, Contains("prefill: 1 token, ") && Contains("decoding: 4 tokens, ") &&
                             Contains(" tokens/s") &&
                             Contains("text: 5 tokens, ended by max_tokens") &&
                             Contains("cache: none"));
  const auto stopped =
      shop.succeed("generate net.onnx --prompt a --temperature 0 --stop xyz --stop fgh --quiet");
  CHECK(stopped.out == "bcde\n");
  CHECK(stopped.err.empty());
  const auto drawn = [&](const std::string& seed) {
    return shop
        .succeed(
            "generate net.onnx --prompt a -n 40 --temperature 2 --top-k 9 --top-p 0.9 "
            "--min-p 0.01 --repeat-penalty 1.1 --seed " +
            seed)
        .out;
  };
  CHECK(drawn("1") == drawn("1"));
  CHECK(drawn("1") != drawn("2"));
}

TEST_CASE("generate takes a tokenizer, whose end token ends the text") {
  const Workshop shop;
  PieceFile file;
  file.add("<unk>", 0, unknown).add("a").add("b").add("</s>", 0, control).add("c");
  shop.write("small.model", file.file());
  write_counting(shop, 5);
  const auto result =
      shop.succeed("generate net.onnx --prompt a --temperature 0 --tokenizer small.model");
  CHECK(result.out == "b\n");
  CHECK_THAT(result.err, Contains("ended by end_token"));
  CHECK(shop.succeed("generate net.onnx --prompt a --temperature 0 --tokenizer small.model "
                     "--ignore-end --max-tokens 3")
            .out == "bc\n");
  shop.refuse("generate net.onnx --prompt a", "no axis of 256 ids");
}

TEST_CASE("generate answers messages by the template, each after those before it") {
  const Workshop shop;
  write_counting(shop, 256);
  shop.write("chat.jinja",
             "{% for m in messages %}[{{ m.role }}|{{ m.content }}]{% endfor %}"
             "{% if add_generation_prompt %}a{% endif %}");
  const std::string greedy = "generate net.onnx --temperature 0 -n 3 --chat-template chat.jinja ";
  const auto one = shop.succeed(greedy + "--chat hello");
  CHECK(one.out == "bcd\n");
  CHECK_THAT(one.err, Contains("prefill: 13 tokens"));
  CHECK_THAT(shop.succeed(greedy + "--chat hello --system x").err, Contains("prefill: 23 tokens"));
  shop.write("lines.txt", "hello\n\nyou\n");
  const auto two = shop.run(greedy + "--chat - < lines.txt");
  CHECK(two.exit_code == 0);
  CHECK(two.out == "bcd\nbcd\n");
  CHECK_THAT(two.err, Contains("prefill: 13 tokens") && Contains("prefill: 38 tokens"));
  shop.refuse("generate net.onnx --chat hello", "the model has no chat template");
  shop.misuse("generate net.onnx --prompt a --chat b", "--chat");
  shop.misuse("generate net.onnx --prompt a --system b", "--chat");
  shop.misuse("generate net.onnx --prompt a --chat-template chatml", "--chat");
}

TEST_CASE("generate refuses what it cannot do before any work") {
  const Workshop shop;
  write_counting(shop, 256);
  shop.misuse("generate net.onnx --prompt a --temperature 0 --top-k 3",
              "--top-k has no effect with --temperature 0");
  shop.misuse("generate net.onnx --prompt a --top-p 0", "--top-p");
  shop.misuse("generate net.onnx", "--prompt or --chat is needed");
  shop.refuse("generate net.onnx --prompt ''", "the prompt has no text");
  write_counting(shop, 256, true);
  shop.refuse("generate net.onnx --prompt a",
              "'token_type_ids', a tensor(int64)[N, T], is not understood");
}
