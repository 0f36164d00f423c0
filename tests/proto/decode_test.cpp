// The bounds of size and nesting, each from both sides.
#include <sys/mman.h>

#include <catch2/catch.hpp>
#include <limits>

#include <ondine/error.h>

#include "proto/import.h"
#include "proto/import_operator_set.h"
#include "tests/proto/wire.h"

namespace ondine::test {
namespace {

// A model with `depth` messages below it, one in the other: graph, node, attribute, graph ...
Wire nested(int depth) {
  Wire inner;
  for (int level = depth; level > 0; --level) {
    // Fields of the model, then of attribute, graph and node in turn.
    constexpr std::uint32_t fields[] = {6, 1, 5};
    inner = Wire().message(level == 1 ? 7 : fields[(level - 1) % 3], inner);
  }
  return inner;
}

// The message of the error that loading a model ends with; empty without.
std::string refusal(std::span<const std::byte> bytes, const Limits& limits) {
  LeftOut left_out;
  try {
    load_model(bytes, limits, {}, left_out);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

}  // namespace

TEST_CASE("messages are decoded down to the limit of their depth and no deeper") {
  for (const int depth : {1, 2, 3, 4, 99, 100, 999, 1000}) {
    CAPTURE(depth);
    Limits limits;
    limits.message_depth = depth;
    // Models that deep are not worth importing, but it is not decoding that refuses them.
    CHECK_THAT(refusal(nested(depth).bytes(), limits),
               !Catch::Contains("nested deeper than " + std::to_string(depth)) &&
                   !Catch::Contains("wire format"));
    CHECK(refusal(nested(depth + 1).bytes(), limits) ==
          "messages are nested deeper than " + std::to_string(depth));
  }
}

TEST_CASE("a model of just Limits::model_bytes is decoded, one byte more is not") {
  const Wire model = nested(7);
  Limits limits;
  limits.model_bytes = model.bytes().size();
  CHECK(refusal(model.bytes(), limits).empty());
  limits.model_bytes -= 1;
  CHECK(refusal(model.bytes(), limits) == "the model has " + std::to_string(model.bytes().size()) +
                                              " bytes, more than " +
                                              std::to_string(limits.model_bytes));
}

TEST_CASE("a model or message of 2 GiB is refused before its bytes are read") {
  constexpr std::size_t size = std::size_t{1} << 31;
  void* const none =
      mmap(nullptr, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  REQUIRE(none != MAP_FAILED);
  const std::span bytes(static_cast<const std::byte*>(none), size);
  Limits limits;
  limits.model_bytes = std::numeric_limits<std::uint64_t>::max();
  const std::string message =
      "a message of 2147483648 bytes: the format ends at 2147483647; keep weights as external data";
  CHECK(refusal(bytes, limits) == message);
  LeftOut left_out;
  CHECK_THROWS_WITH(load_operator_set(bytes, limits, {}, left_out), message);
  // One byte less is decoded, here up to a tag of 0.
  REQUIRE(mprotect(none, size, PROT_READ) == 0);
  CHECK_THAT(refusal(bytes.first(size - 1), limits), Catch::Contains("field number 0 at byte 1"));
  munmap(none, size);
}

}  // namespace ondine::test
