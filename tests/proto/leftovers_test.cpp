#include "proto/leftovers.h"

#include <catch2/catch.hpp>
#include <cstring>

#include "proto/export.h"
#include "proto/import.h"
#include "tests/proto/wire.h"

using namespace ondine;
using test::Wire;

namespace {

std::string exported(const Wire& wire) {
  LeftOut left_out;
  const auto def = load_model(wire.bytes(), {}, {}, left_out);
  const auto bytes = export_model(def, left_out.leftovers);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Wire model(const Wire& graph) {
  return Wire().number(1, 10).message(7, graph).message(8, Wire().block(1, "").number(2, 18));
}

// An initializer of this type and number of elements; `data` are the fields with its elements that
// come before the name, `after` those after it.
std::string round_trip(std::uint64_t dtype, std::uint64_t count, const Wire& data,
                       const Wire& after = {}) {
  Wire tensor = Wire().number(1, count).number(2, dtype).raw(data.text()).block(8, "w");
  tensor.raw(after.text());
  const Wire whole = model(Wire().block(2, "g").message(5, tensor));
  const std::string out = exported(whole);
  CHECK(out == whole.text());
  return out;
}

}  // namespace

TEST_CASE("unknown fields of every message survive an export byte for byte") {
  const auto add = [](Wire wire) { return wire.number(900, 5).block(901, "more").fixed32(902, 1); };
  const Wire shape = add(Wire().message(1, add(Wire().number(1, 2))));
  const Wire type = add(Wire().message(1, add(Wire().number(1, 1).message(2, shape))));
  const Wire value = add(Wire().block(1, "x").message(2, type));
  const Wire attribute = add(Wire().block(1, "alpha").fixed32(2, 0.5F).number(20, 1));
  const Wire node =
      add(Wire().block(1, "x").block(2, "y").block(4, "LeakyRelu").message(5, attribute));
  const Wire weight = add(Wire().number(1, 1).number(2, 1).block(8, "w").block(9, "1234"));
  Wire graph = Wire().message(1, node).block(2, "g").message(5, weight).message(11, value);
  const Wire whole = add(model(add(graph)));
  CHECK(exported(whole) == whole.text());
}

TEST_CASE("unknown fields go back to the message that had them") {
  const Wire plain = Wire().block(1, "x").block(2, "y").block(4, "Relu");
  const Wire marked = Wire().block(1, "y").block(2, "z").block(4, "Relu").number(900, 7);
  const Wire whole =
      model(Wire().message(1, plain).message(1, marked).message(1, plain).block(2, "g"));
  CHECK(exported(whole) == whole.text());
}

TEST_CASE("lengths and numbers whose encoding takes another byte survive an export") {
  for (const std::size_t near : {0x80U, 0x4000U}) {
    for (std::size_t length = near - 40; length < near + 10; ++length) {
      const std::string doc(length, 'd');
      const Wire node =
          Wire().block(1, "x").block(2, "y").block(4, "Relu").block(6, doc).number(900, length);
      const Wire whole = model(Wire().message(1, node).block(2, "g"));
      CHECK(exported(whole) == whole.text());
    }
  }
  round_trip(6, 6, Wire().packed(5, {0x7f, 0x80, 0x81, 0x3fff, 0x4000, 0x4001}));
  round_trip(7, 2, Wire().packed(7, {0x80, std::int64_t{1} << 49}));
  round_trip(13, 3, {}, Wire().packed(11, {0x7f, 0x80, 0x4000}));
}

TEST_CASE("elements stay in the typed fields of their tensors") {
  round_trip(1, 2, Wire().packed_fixed<float>(4, {1.5F, -2}));
  round_trip(14, 1, Wire().packed_fixed<float>(4, {1.5F, -2}));  // complex64
  round_trip(6, 3, Wire().packed(5, {1, -2, 1 << 30}));
  round_trip(5, 2, Wire().packed(5, {-32768, 32767}));
  round_trip(3, 2, Wire().packed(5, {-128, 127}));
  round_trip(2, 2, Wire().packed(5, {0, 255}));
  round_trip(4, 2, Wire().packed(5, {0, 65535}));
  round_trip(9, 2, Wire().packed(5, {0, 1}));
  round_trip(10, 1, Wire().packed(5, {0x3c00}));
  round_trip(16, 1, Wire().packed(5, {0x3f80}));
  round_trip(17, 2, Wire().packed(5, {0x38, 0xb8}));
  round_trip(21, 3, Wire().packed(5, {0x21, 0x03}));  // uint4, two in a byte
  round_trip(7, 2, Wire().packed(7, {-1, std::int64_t{1} << 40}));
  round_trip(8, 1, Wire().block(6, "text"));
  round_trip(11, 2, {}, Wire().packed_fixed<double>(10, {0.1, -1e300}));
  round_trip(12, 2, {}, Wire().packed(11, {0, 4294967295}));
  round_trip(13, 1, {}, Wire().packed(11, {-1}));
  round_trip(1, 1, {}, Wire().block(9, "1234"));  // raw_data stays, too
}

TEST_CASE("an export for inference takes along what belongs to what stays") {
  const Wire info = Wire().number(900, 1).message(2, Wire().block(2, "step").number(900, 2));
  Wire whole = Wire().number(1, 10).message(7, Wire().block(2, "g").number(900, 3));
  whole.message(20, info).number(900, 4);
  const Leftovers leftovers(whole.bytes());
  const Wire without = Wire().number(1, 10).message(7, Wire().block(2, "g"));
  const auto bytes = without.bytes();
  const auto merged = leftovers.for_inference().put_back({bytes.begin(), bytes.end()});
  const Wire expected = Wire().number(1, 10).message(7, Wire().block(2, "g").number(900, 3));
  const std::string wanted = Wire(expected).number(900, 4).text();
  CHECK(std::string(reinterpret_cast<const char*>(merged.data()), merged.size()) == wanted);
}
