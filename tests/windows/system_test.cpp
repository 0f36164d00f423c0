// Memory, random bytes and processes of Windows.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <span>

#include "core/message.h"
#include "core/out_of_memory.h"
#include "core/secure/entropy.h"
#include "core/system/pages.h"
#include "core/system/system_memory.h"

using namespace ondine;

TEST_CASE("pages come as zeros and can be used after they were dropped") {
  constexpr std::size_t size = std::size_t{1} << 20;
  auto* const memory = static_cast<unsigned char*>(map_pages(size));
  CHECK(std::all_of(memory, memory + size, [](unsigned char byte) { return byte == 0; }));
  std::fill_n(memory, size, static_cast<unsigned char>(1));
  drop_pages(memory, size);
  std::fill_n(memory, size, static_cast<unsigned char>(2));
  CHECK(std::all_of(memory, memory + size, [](unsigned char byte) { return byte == 2; }));
  unmap_pages(memory, size);
}

TEST_CASE("more pages than there are addresses are out of memory") {
  CHECK_THROWS_AS(map_pages(std::size_t{1} << 60), OutOfMemory);
}

TEST_CASE("the memory of the machine is known") {
  CHECK(system_memory_bytes() >= std::uint64_t{64} << 20);
  CHECK(system_memory_bytes() < std::uint64_t{1} << 50);
}

TEST_CASE("the system's generator gives other bytes each time") {
  std::array<std::byte, 256> first{};
  std::array<std::byte, 256> second{};
  fill_with_entropy(first);
  fill_with_entropy(second);
  CHECK(first != second);
  CHECK(std::ranges::count(first, std::byte{0}) < 64);
}

TEST_CASE("a message shows a name of Windows as it is") {
  CHECK(quoted(std::string("C:\\net's.onnx")) == "'C:\\net\\x27s.onnx'");
}
