#include <catch2/catch.hpp>
#include <string>
#include <utility>
#include <vector>

#include "tests/trainer/text/generate/small_decoder.h"
#include "trainer/text/generate/decoder_ports.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;
using text::DecoderPorts;
using text::find_decoder_ports;

namespace {

using Dims = std::vector<ModelBuilder::Dim>;

// A model of these inputs, the first of which is also its output.
class Ports {
 public:
  Ports(const std::string& name, DType dtype, const Dims& dims) {
    in(name, dtype, dims);
    b_.node("Identity", {name}, {}, "scores");
    b_.output("scores", dtype, dims);
  }
  Ports& in(const std::string& name, DType dtype, const Dims& dims) {
    b_.input(name, dtype, dims);
    return *this;
  }
  // An output that has an input twice along its open axis.
  Ports& grow(const std::string& from, std::int64_t axis, const std::string& name,
              const Dims& dims) {
    b_.node("Concat", "", {from, from}, {name}, {{"axis", axis}});
    b_.output(name, DType::float32, dims);
    return *this;
  }
  DecoderPorts find() const { return find_decoder_ports(Model::load(b_.bytes())); }

 private:
  ModelBuilder b_{"ports"};
};

Ports with_ids() { return {"input_ids", DType::int64, {"N", "T"}}; }

}  // namespace

TEST_CASE("the caches of a decoder are paired by type and dims, and by name where several fit") {
  const std::vector<std::pair<std::string, std::string>> names{
      {"past_key_values.%.key", "present.%.key"},
      {"past_key_%", "present_key_%"},
      {"cache_in.%.key", "cache_out.%.key"},
      {"past_key_values_key_cache_%", "present_key_cache_%"}};
  for (const auto& [past, present] : names) {
    CAPTURE(past);
    const SmallDecoder shape{
        .caches = true, .mask = true, .positions = true, .past = past, .present = present};
    const DecoderPorts ports = find_decoder_ports(shape.model());
    CHECK(ports.ids.name == "input_ids");
    CHECK(ports.scores == "logits");
    CHECK((ports.mask && ports.mask->name == "attention_mask"));
    CHECK((ports.positions && ports.positions->name == "position_ids"));
    REQUIRE(ports.caches.size() == 4);
    for (const text::CachePorts& cache : ports.caches) {
      CHECK(cache.batch == 0);
      CHECK(cache.axis == 2);
      // Whether it has values, and whether it is that of the second layer.
      const auto kind = [](std::string name) {
        if (name.starts_with("past_key_values")) name.erase(0, 15);
        return std::make_pair(name.find("value") != std::string::npos,
                              name.find('1') != std::string::npos);
      };
      CHECK(kind(cache.past.name) == kind(cache.present));
    }
  }
}

TEST_CASE("keys and values in one cache of rank 5 are found by their dims") {
  const DecoderPorts ports = with_ids()
                                 .in("past_0", DType::float32, {2, "N", 4, "P", 8})
                                 .grow("past_0", 3, "present_0", {2, "N", 4, "Q", 8})
                                 .find();
  REQUIRE(ports.caches.size() == 1);
  CHECK(ports.caches[0].batch == 1);
  CHECK(ports.caches[0].axis == 3);
}

TEST_CASE("an input that is not understood is named with its type") {
  const auto refused = [](const Ports& ports, const std::string& text) {
    CHECK_THROWS_WITH(ports.find(), Contains(text));
  };
  const Dims pair{"N", "T"};
  const Dims cache{"N", 4, "P", 8};
  refused(with_ids().in("token_type_ids", DType::int64, pair),
          "'token_type_ids', a tensor(int64)[N, T], is not understood");
  refused(with_ids().in("use_cache_branch", DType::boolean, {1}), "merged file");
  refused(with_ids().in("pixels", DType::float32, {"N", 3, 8, 8}),
          "'pixels', a tensor(float)[N, 3, 8, 8], is not understood");
  refused(with_ids().in("past", DType::float32, cache), "'past', a tensor(float)[N, 4, P, 8]");
  refused(with_ids().in("mask", DType::int64, pair).in("mask_2", DType::int64, pair),
          "second mask");
  refused({"x", DType::float32, pair}, "'x', a tensor(float)[N, T]");
  refused({"x", DType::boolean, pair}, "'x', a tensor(bool)[N, T]");
}

TEST_CASE("caches whose outputs the names do not tell apart are refused") {
  Ports ports = with_ids();
  ports.in("a", DType::float32, {"N", 4, "P", 8}).in("b", DType::float32, {"N", 4, "P", 8});
  ports.grow("a", 2, "c", {"N", 4, "Q", 8}).grow("b", 2, "d", {"N", 4, "Q", 8});
  CHECK_THROWS_WITH(ports.find(), Contains("'a'"));
  const SmallDecoder wide{.caches = true, .tokens = 3};
  CHECK_THROWS_WITH(find_decoder_ports(wide.model()), Contains("reads 3 tokens at a time"));
}
