// Large results of a call take the memory of those that the caller let go of.
#include <thread>
#include <vector>

#include <catch2/catch.hpp>

#include "core/budget.h"
#include "trainer/exec/output_memory.h"

using namespace ondine;
using namespace ondine::trainer;

namespace {

constexpr std::int64_t mebibyte = std::int64_t{1} << 20;

Tensor of_bytes(std::int64_t bytes, std::uint8_t value) {
  Tensor tensor(DType::uint8, {bytes});
  for (std::uint8_t& element : tensor.mutable_values<std::uint8_t>()) element = value;
  return tensor;
}

struct Kept {
  explicit Kept(std::uint64_t limit = std::uint64_t{1} << 30)
      : budget(std::make_shared<MemoryBudget>(limit)),
        memory(std::make_shared<OutputMemory>(budget)) {}
  std::shared_ptr<MemoryBudget> budget;
  std::shared_ptr<OutputMemory> memory;
};

}  // namespace

TEST_CASE("memory of a released result is taken again by one of its size") {
  Kept kept;
  const Tensor from = of_bytes(3 * mebibyte, 1);
  Tensor first = kept.memory->copy(from);
  const void* const data = first.data();
  CHECK(first.identical(from));
  CHECK(kept.budget->used() == 0);
  first = Tensor();
  CHECK(kept.budget->used() == 3 * mebibyte);
  const Tensor other = kept.memory->copy(of_bytes(2 * mebibyte, 3));
  CHECK(other.data() != data);
  const Tensor next = of_bytes(3 * mebibyte, 2);
  const Tensor second = kept.memory->copy(next);
  CHECK(second.data() == data);
  CHECK(second.identical(next));
  CHECK(kept.budget->used() == 0);
  // Both are in use: a third has memory of its own.
  CHECK(kept.memory->copy(next).data() != data);
}

TEST_CASE("results that a caller holds keep their elements, also after the model is gone") {
  Tensor held;
  {
    Kept kept;
    held = kept.memory->copy(of_bytes(2 * mebibyte, 7));
    for (int i = 0; i < 3; ++i) kept.memory->copy(of_bytes(2 * mebibyte, 9));
  }
  CHECK(held.identical(of_bytes(2 * mebibyte, 7)));
}

TEST_CASE("memory that no call takes goes back, as does all of it on demand") {
  Kept kept;
  kept.memory->copy(of_bytes(2 * mebibyte, 1));
  CHECK(kept.budget->used() == 2 * mebibyte);
  for (int i = 0; i < 10; ++i) kept.memory->begin_call();
  CHECK(kept.budget->used() == 0);
  CHECK_FALSE(kept.memory->drop());
  kept.memory->copy(of_bytes(2 * mebibyte, 1));
  CHECK(kept.memory->drop());
  CHECK(kept.budget->used() == 0);
}

TEST_CASE("what is kept is bounded, and small results are not kept") {
  Kept kept;
  std::vector<Tensor> many;
  for (int i = 0; i < 40; ++i) many.push_back(kept.memory->copy(of_bytes(3 * mebibyte, 1)));
  many.clear();
  CHECK(kept.budget->used() > 0);
  CHECK(kept.budget->used() <= 64 * mebibyte);
  kept.memory->drop();
  kept.memory->copy(of_bytes(1000, 1));
  CHECK(kept.budget->used() == 0);
  Kept narrow(4 * mebibyte);
  narrow.memory->copy(of_bytes(2 * mebibyte, 1));
  CHECK(narrow.budget->used() == 0);
}

TEST_CASE("several threads make and release results at once") {
  Kept kept;
  std::vector<std::thread> threads;
  std::vector<char> right(4);
  for (std::size_t t = 0; t < right.size(); ++t) {
    threads.emplace_back([&, t] {
      const Tensor from = of_bytes(mebibyte + static_cast<std::int64_t>(t % 2), std::uint8_t(t));
      bool all = true;
      for (int i = 0; i < 50; ++i) {
        kept.memory->begin_call();
        all = all && kept.memory->copy(from).identical(from);
      }
      right[t] = all;
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(right == std::vector<char>(4, 1));
}
