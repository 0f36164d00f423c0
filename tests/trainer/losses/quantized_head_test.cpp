// The loss of a frozen head in few bits has neither all scores nor a float32 matrix in memory.
#include <ondine/build.h>
#include <ondine/model.h>
#include <ondine/prepare.h>

#include <catch2/catch.hpp>

#include "tests/support/fusions_run.h"
#include "tests/support/op_harness.h"

namespace ondine::test {
namespace {

constexpr std::int64_t words = 8208;
constexpr std::int64_t width = 128;
constexpr std::int64_t length = 200;
constexpr std::uint64_t score_bytes = std::uint64_t{length} * words * sizeof(float);

enum class Head { apart, tied, blocks };

constexpr Head heads[] = {Head::apart, Head::tied, Head::blocks};

Tensor bytes_of(const Shape& shape) {
  Tensor bytes(DType::uint8, shape);
  std::uint32_t next = 17;
  for (std::uint8_t& byte : bytes.mutable_values<std::uint8_t>()) {
    next = next * 1664525 + 1013904223;
    byte = static_cast<std::uint8_t>(next >> 24);
  }
  return bytes;
}

Model decoder(Head head, const FrozenFormat& format, const LoadOptions& load) {
  ModelBuilder b("decoder", 21);
  const std::string ids = b.input("ids", DType::int64, {"N", "T"});
  const std::string table = b.initializer("table", random_floats({words, width}, 1, -0.3F, 0.3F));
  const std::string w = b.initializer("w", random_floats({width, width}, 2, -0.3F, 0.3F));
  const std::string x = b.node("Tanh", {b.node("MatMul", {b.node("Gather", {table, ids}), w})});
  if (head == Head::blocks) {
    constexpr std::int64_t block = 32;
    const std::string q = b.initializer("q", bytes_of({words, width / block, block / 2}));
    const std::string scales =
        b.initializer("scales", random_floats({words * width / block}, 4, 0.01F, 0.05F));
    b.node("MatMulNBits", "com.microsoft", {x, q, scales}, {"scores"},
           {{"K", width}, {"N", words}, {"bits", 4L}, {"block_size", block}});
  } else {
    const std::string matrix =
        head == Head::tied
            ? b.node("Transpose", {table}, {{"perm", std::vector<std::int64_t>{1, 0}}})
            : b.initializer("head", random_floats({width, words}, 3, -0.3F, 0.3F));
    b.node("MatMul", {x, matrix}, {}, "scores");
  }
  b.output("scores", DType::float32, {"N", "T", words});
  PrepareOptions options;
  options.ignore_index = -100;
  options.class_axis = -1;
  options.train = {"w"};
  options.init = WeightInit::keep;
  options.optimizer = Sgd{.learning_rate = 1};
  options.quantize_frozen = format;
  return prepare(b.bytes(), options, load);
}

NamedValues feeds() {
  Tensor ids(DType::int64, {1, length});
  Tensor labels(DType::int64, {1, length});
  for (std::int64_t i = 0; i < length; ++i) {
    const auto at = static_cast<std::size_t>(i);
    ids.mutable_values<std::int64_t>()[at] = i * 37 % words;
    labels.mutable_values<std::int64_t>()[at] = i % 4 == 0 ? (i * 11 + 5) % words : -100;
  }
  return {{"ids", ids}, {"label", labels}};
}

// check(head, format of frozen weights) for each form of a head; MatMulNBits has its own format.
template <class Check>
void for_heads(Check check) {
  for (const Head head : heads) {
    const std::vector<FrozenFormat> formats{DType::int8, DType::int4, FrozenFormat::nf4(),
                                            DType::bfloat16};
    for (std::size_t i = 0; i < formats.size(); ++i) {
      INFO("head " << static_cast<int>(head) << ", format " << i);
      check(head, formats[i]);
      if (head == Head::blocks) break;
    }
  }
}

const std::vector<std::string> loss_alone{"loss"};

}  // namespace

TEST_CASE("a head in few bits gives loss and derivative of all scores without having them") {
  if (!fusions_run()) return;
  for_heads([](Head head, const FrozenFormat& format) {
    for (const Precision precision : {Precision::float32, Precision::bfloat16}) {
      INFO("precision " << static_cast<int>(precision));
      LoadOptions load;
      load.precision = precision;
      Model model = decoder(head, format, load);
      load.no_fusion = fusions_from_name("recognize_projected_loss");
      Model whole = decoder(head, format, load);
      const PlanInfo sizes = model.plan(feeds(), 0, loss_alone);
      const PlanInfo all = whole.plan(feeds(), 0, loss_alone);
      CHECK(sizes.arena_bytes < score_bytes);
      CHECK(all.arena_bytes > score_bytes);
      CHECK(sizes.constant_bytes <= all.constant_bytes);
      const double close = precision == Precision::float32 ? 1e-5 : 2e-2;
      for (int i = 0; i < 3; ++i) {
        CHECK(model.train_step(feeds()).scalar("loss") ==
              Approx(whole.train_step(feeds()).scalar("loss")).epsilon(close));
      }
      check_close(model.get_state("w"), whole.get_state("w"), {close, close});
    }
  });
}

TEST_CASE("a head in few bits gives the same bits for any number of threads") {
  for_heads([](Head head, const FrozenFormat& format) {
    LoadOptions two;
    two.threads = 2;
    Model one = decoder(head, format, {});
    Model other = decoder(head, format, two);
    for (int i = 0; i < 2; ++i) {
      CHECK(one.train_step(feeds()).scalar("loss") == other.train_step(feeds()).scalar("loss"));
    }
    check_close(one.get_state("w"), other.get_state("w"), {0, 0});
  });
}

}  // namespace ondine::test
