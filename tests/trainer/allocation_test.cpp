#include <atomic>
#include <cstdlib>
#include <new>

#include <catch2/catch.hpp>

#include <ondine/model.h>

#include "tests/support/models.h"
#include "tests/support/op_harness.h"

namespace {
std::atomic<std::size_t> allocations{0};

void* counted(std::size_t bytes, std::size_t alignment) {
  ++allocations;
  void* memory = nullptr;
  if (posix_memalign(&memory, alignment, bytes == 0 ? alignment : bytes) != 0)
    throw std::bad_alloc();
  return memory;
}
}  // namespace

// Every allocation of this test program goes through these.
void* operator new(std::size_t bytes) { return counted(bytes, 16); }
void* operator new(std::size_t bytes, std::align_val_t a) {
  return counted(bytes, static_cast<std::size_t>(a));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return counted(bytes, 16); }
void* operator new(std::size_t bytes, std::align_val_t a, const std::nothrow_t&) noexcept {
  return counted(bytes, static_cast<std::size_t>(a));
}
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

using namespace ondine;
using namespace ondine::test;

TEST_CASE("a warm training step allocates nothing") {
  Model model = Model::load(encode(dropout_classifier()));
  Tensor labels(DType::int64, {6});
  const NamedValues feeds{{"x", random_floats({6, 8}, 1)}, {"label", labels}};
  NamedValues results{{"loss", Value()}};
  for (int i = 0; i < 3; ++i) model.train_step_into(feeds, 0, results);
  const std::size_t before = allocations;
  for (int i = 0; i < 10; ++i) model.train_step_into(feeds, 0, results);
  CHECK(allocations - before == 0);
  CHECK(results[0].second.tensor().values<float>()[0] > 0);
}
