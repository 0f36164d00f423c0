#include "trainer/plan/place/streaming.h"

#include <catch2/catch.hpp>

#include <map>

using namespace ondine;           // NOLINT
using namespace ondine::trainer;  // NOLINT

namespace {

using Kind = StreamEvent::Kind;

constexpr std::uint64_t megabyte = std::uint64_t{1} << 20;

// Elements that nobody reads here.
StreamedConstant constant(std::uint64_t megabytes, std::vector<std::uint32_t> readers) {
  StreamedConstant one;
  one.stored = {static_cast<const std::byte*>(nullptr), megabytes * megabyte};
  one.readers = std::move(readers);
  return one;
}

// Forward and backward through layers of 10 MB, two nodes each.
std::vector<StreamedConstant> layers(std::uint32_t count) {
  std::vector<StreamedConstant> result;
  for (std::uint32_t i = 0; i < count; ++i) {
    result.push_back(constant(10, {2 * i, 2 * i + 1, 4 * count - 2 * i - 1}));
  }
  return result;
}

// Follows the events: what a node reads is held, never more than `room` is, and nothing is left.
void check(const Streaming& streaming, std::size_t nodes, std::uint64_t room) {
  std::map<std::uint32_t, bool> held, announced;
  std::uint64_t resident = 0, most = 0;
  std::size_t event = 0;
  for (std::uint32_t node = 0; node <= nodes; ++node) {
    for (; event < streaming.events.size() && streaming.events[event].node == node; ++event) {
      const auto [at, c, kind] = streaming.events[event];
      const std::uint64_t bytes = streaming.constants[c].bytes();
      if (kind == Kind::announce) announced[c] = true;
      if (kind == Kind::hold) {
        CHECK_FALSE(held[c]);
        CHECK(announced[c]);
        held[c] = true;
        resident += bytes;
      } else if (kind == Kind::drop) {
        CHECK(held[c]);
        held[c] = announced[c] = false;
        resident -= bytes;
      }
      most = std::max(most, resident);
    }
    for (std::uint32_t c = 0; c < streaming.constants.size(); ++c) {
      const auto& readers = streaming.constants[c].readers;
      if (std::find(readers.begin(), readers.end(), node) != readers.end()) CHECK(held[c]);
    }
  }
  CHECK(event == streaming.events.size());
  CHECK(resident == 0);
  CHECK(most == streaming.resident_bytes);
  CHECK(most <= room);
}

std::size_t count(const Streaming& streaming, Kind kind) {
  return static_cast<std::size_t>(
      std::count_if(streaming.events.begin(), streaming.events.end(),
                    [&](const StreamEvent& event) { return event.kind == kind; }));
}

}  // namespace

TEST_CASE("constants are held when they are read, in the room that there is") {
  for (const std::uint64_t room : {10, 11, 25, 40, 79, 80}) {
    INFO(room);
    check(stream(layers(8), 32, room * megabyte), 32, room * megabyte);
  }
}

TEST_CASE("constants that are read again soonest stay") {
  // All fit: each is held once.
  CHECK(count(stream(layers(8), 32, 80 * megabyte), Kind::hold) == 8);
  // Seven fit. The first, read again last, goes for the eighth, and comes again at the end.
  CHECK(count(stream(layers(8), 32, 70 * megabyte), Kind::hold) == 9);
  // One fits: all but the last, which the backward pass begins with, come twice.
  CHECK(count(stream(layers(8), 32, 10 * megabyte), Kind::hold) == 15);
}

TEST_CASE("a constant is dropped right after its last reader") {
  const Streaming streaming = stream({constant(3, {1, 4})}, 9, 100 * megabyte);
  REQUIRE(count(streaming, Kind::drop) == 1);
  CHECK(streaming.events.back().kind == Kind::drop);
  CHECK(streaming.events.back().node == 5);
}

TEST_CASE("the system is told of the next constants while one is in use") {
  const Streaming streaming = stream(layers(3), 12, 10 * megabyte);
  std::vector<std::uint32_t> at_once;
  for (const StreamEvent& event : streaming.events) {
    if (event.node == 0 && event.kind == Kind::announce) at_once.push_back(event.constant);
  }
  CHECK(at_once == std::vector<std::uint32_t>{0, 1});
  CHECK(count(streaming, Kind::announce) == count(streaming, Kind::hold));
}

TEST_CASE("the least room is what one node reads") {
  const std::vector<StreamedConstant> constants{constant(3, {0, 1}), constant(5, {1, 2}),
                                                constant(7, {2})};
  CHECK(least_bytes(constants, 3) == 12 * megabyte);
  CHECK(bytes_of(constants) == 15 * megabyte);
  check(stream(constants, 3, 12 * megabyte), 3, 12 * megabyte);
  CHECK(least_bytes({}, 0) == 0);
  CHECK(stream({}, 3, 0).events.empty());
}
