#include "proto/detach.h"

#include <catch2/catch.hpp>

#include <fstream>

#include <ondine/error.h>

#include "graph/ir/fingerprint.h"
#include "proto/import.h"
#include "proto/wire_reader.h"
#include "tests/proto/wire.h"
#include "tests/support/resident_bytes.h"
#include "tests/support/temporary_folder.h"

using namespace ondine;
using test::resident_bytes;
using test::TemporaryFolder;
using test::Wire;

namespace {

std::string noise(std::size_t bytes, unsigned seed = 1) {
  std::string text(bytes, '\0');
  for (char& c : text) {
    seed = seed * 1664525 + 1013904223;
    c = static_cast<char>(seed >> 24);
  }
  return text;
}

Wire tensor(const std::string& name, DType dtype, std::uint64_t count, const std::string& raw) {
  return Wire()
      .number(1, count)
      .number(2, static_cast<std::uint64_t>(dtype))
      .block(8, name)
      .block(9, raw);
}

// `before` moves what follows by as many bytes.
Wire model(std::initializer_list<Wire> tensors, const std::string& before = "") {
  Wire graph;
  graph.block(2, "g").block(10, before);
  for (const Wire& one : tensors) graph.message(5, one);
  return Wire().number(1, 10).message(8, Wire().number(2, 20)).message(7, graph);
}

graph::ModelDef from_file(const Wire& wire, const TemporaryFolder& folder) {
  const auto file = folder / "m.onnx";
  std::ofstream(file, std::ios::binary) << wire.text();
  return load_model(file, Limits());
}

std::string elements(const Tensor& tensor) {
  return {static_cast<const char*>(tensor.data()), tensor.bytes()};
}

}  // namespace

TEST_CASE("large raw data is the same from a file as from memory, at any offset") {
  const std::string floats = noise(400'000);
  const std::string shorts = noise(200'002, 2);
  const std::string sixteen = noise(16, 3);
  const std::string few = noise(40, 4);
  const TemporaryFolder folder;
  for (std::size_t shift = 0; shift < 9; ++shift) {
    const Wire wire =
        model({tensor("a", DType::float32, 100'000, floats), tensor("b", DType::int64, 2, sixteen),
               tensor("c", DType::int16, 100'001, shorts), tensor("d", DType::float64, 5, few)},
              std::string(shift, 'x'));
    const graph::ModelDef def = from_file(wire, folder);
    REQUIRE(def.graph.initializers.size() == 4);
    CHECK(elements(def.graph.initializers[0].value) == floats);
    CHECK(elements(def.graph.initializers[1].value) == sixteen);
    CHECK(elements(def.graph.initializers[2].value) == shorts);
    CHECK(elements(def.graph.initializers[3].value) == few);
    const graph::ModelDef same = load_model(wire.bytes(), Limits(), {});
    CHECK(graph::fingerprint(def, {}) == graph::fingerprint(same, {}));
  }
}

TEST_CASE("large raw data in attributes and bodies is found") {
  const std::string inner = noise(100'000);
  const Wire attribute =
      Wire().block(1, "value").number(20, 4).message(5, tensor("", DType::float32, 25'000, inner));
  const Wire node = Wire().block(2, "y").block(4, "Constant").message(5, attribute);
  const Wire body = Wire().block(2, "body").message(1, node);
  const Wire branch = Wire().block(1, "then_branch").number(20, 5).message(6, body);
  const Wire choice = Wire().block(1, "c").block(2, "z").block(4, "If").message(5, branch);
  const Wire wire = Wire()
                        .number(1, 10)
                        .message(8, Wire().number(2, 20))
                        .message(7, Wire().block(2, "g").message(1, choice));
  const TemporaryFolder folder;
  const graph::ModelDef def = from_file(wire, folder);
  const auto& nested =
      std::get<std::shared_ptr<const graph::GraphDef>>(def.graph.nodes[0].attributes[0].data);
  CHECK(elements(*tensor_of(nested->nodes[0].attributes[0])) == inner);
}

TEST_CASE("booleans and packed elements of a file are converted when they are read") {
  const std::string raw = noise(200'000);
  const TemporaryFolder folder;
  const graph::ModelDef def = from_file(
      model({tensor("a", DType::boolean, 200'000, raw), tensor("b", DType::uint4, 400'000, raw)}),
      folder);
  const Tensor& a = def.graph.initializers[0].value;
  const Tensor& b = def.graph.initializers[1].value;
  bool equal = true;
  for (std::size_t i = 0; i < raw.size(); ++i) {
    const auto byte = static_cast<unsigned char>(raw[i]);
    const auto* nibbles = static_cast<const std::uint8_t*>(b.data());
    equal = equal && static_cast<const std::uint8_t*>(a.data())[i] == (byte != 0 ? 1 : 0) &&
            nibbles[2 * i] == (byte & 15U) && nibbles[2 * i + 1] == byte >> 4U;
  }
  CHECK(equal);
}

TEST_CASE("raw data of the wrong size is refused with both sizes") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(
      from_file(model({tensor("a", DType::float32, 100'001, noise(400'000))}), folder),
      Catch::Contains("400004 bytes in raw_data, there are 400000") && Catch::Contains("'a'"));
}

TEST_CASE("the last of several raw_data fields counts") {
  Wire twice = tensor("a", DType::float32, 25'000, noise(90'000));
  const std::string last = noise(100'000, 5);
  twice.block(9, last);
  const TemporaryFolder folder;
  CHECK(elements(from_file(model({twice}), folder).graph.initializers[0].value) == last);
}

TEST_CASE("lengths keep their width, also those written wider than needed") {
  // The length of the tensor takes five bytes.
  const std::string raw = noise(70'000);
  const std::string inside = tensor("a", DType::float32, 17'500, raw).text();
  std::string wide(1, static_cast<char>(5 << 3 | 2));
  for (int i = 0; i < 5; ++i) {
    const auto bits = static_cast<unsigned>(inside.size() >> (7 * i) & 0x7fU);
    wide += static_cast<char>(bits | (i < 4 ? 0x80U : 0U));
  }
  const Wire wire = Wire()
                        .number(1, 10)
                        .message(8, Wire().number(2, 20))
                        .message(7, Wire().block(2, "g").raw(wide + inside));
  const auto detached = DetachedModel::make(wire.bytes());
  REQUIRE(detached);
  CHECK(detached->rest().size() == wire.text().size() - raw.size() + 16);
  const TemporaryFolder folder;
  CHECK(elements(from_file(wire, folder).graph.initializers[0].value) == raw);
}

TEST_CASE("a model of little raw data is not detached") {
  CHECK_FALSE(DetachedModel::make(model({}).bytes()));
  const Wire small =
      model({tensor("a", DType::float32, 25'000, noise(100'000))}, std::string(300'000, 'x'));
  CHECK_FALSE(DetachedModel::make(small.bytes()));
  CHECK_FALSE(DetachedModel::make({}));
}

TEST_CASE("loading a file reads none of its weights, and zeros take no memory") {
  constexpr std::size_t each = std::size_t{32} << 20;
  const TemporaryFolder folder;
  const auto file = folder / "m.onnx";
  {
    const Wire wire = model({tensor("a", DType::float32, each / 4, noise(each)),
                             tensor("b", DType::float32, each / 4, std::string(each, '\0')),
                             tensor("c", DType::float32, each / 4, noise(each, 2))},
                            "x");
    std::ofstream(file, std::ios::binary) << wire.text();
  }
  const std::size_t before = resident_bytes();
  const graph::ModelDef def = load_model(file, Limits());
  CHECK(resident_bytes() < before + (std::size_t{8} << 20));
  const auto zeros = def.graph.initializers[1].value.values<float>();
  CHECK(std::all_of(zeros.begin(), zeros.end(), [](float x) { return x == 0; }));
  CHECK(resident_bytes() < before + (std::size_t{12} << 20));
  CHECK(elements(def.graph.initializers[0].value) == noise(each));
}

TEST_CASE("raw data of 4 kB stays in the file, as the matrices of adapters have") {
  const auto rest_of = [](std::uint64_t bytes) {
    Wire graph;
    for (unsigned i = 0; i < 40; ++i) {
      graph.message(5, tensor("t" + std::to_string(i), DType::uint8, bytes, noise(bytes, i)));
    }
    const std::string text = Wire().number(1, 10).message(7, graph).text();
    const auto detached = DetachedModel::make(std::as_bytes(std::span(text)));
    return detached ? detached->rest().size() : text.size();
  };
  CHECK(rest_of(4 << 10) < 40 * 128);
  CHECK(rest_of((4 << 10) - 1) > 40 * 4000);
}
