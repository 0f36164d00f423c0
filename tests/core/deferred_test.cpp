#include "core/deferred.h"

#include <catch2/catch.hpp>

#include <atomic>
#include <thread>
#include <vector>

#include <ondine/tensor.h>

using namespace ondine;

namespace {

// 0, 1, 2, ...; counts how often it computes.
Tensor counting(std::int64_t n, std::atomic<int>& calls) {
  const auto bytes = static_cast<std::size_t>(n) * sizeof(float);
  auto elements = std::make_shared<DeferredElements>(bytes, [&](std::span<std::byte> memory) {
    ++calls;
    auto* values = reinterpret_cast<float*>(memory.data());
    for (std::size_t i = 0; i < memory.size() / sizeof(float); ++i) {
      values[i] = static_cast<float>(i);
    }
  });
  return Tensor::share(DType::float32, {n}, std::move(elements));
}

// Four threads at the same time.
template <class Body>
void in_threads(const Body& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) threads.emplace_back(body);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace

TEST_CASE("deferred elements are computed when they are first read, through any accessor") {
  std::atomic<int> calls{0};
  const Tensor untouched = counting(100, calls);
  const Tensor copy = untouched;  // NOLINT: a copy is what the test is about
  CHECK(copy.shape() == untouched.shape());
  CHECK(copy.bytes() == 400);
  CHECK(calls == 0);
  CHECK(copy.reshaped({10, 10}).item<float>(99) == 99);
  CHECK(calls == 1);
  CHECK(static_cast<const float*>(untouched.data())[7] == 7);
  CHECK(untouched.values<float>()[8] == 8);
  CHECK(calls == 1);
  Tensor written = counting(100, calls);
  written.mutable_values<float>()[3] = -1;
  CHECK(calls == 2);
  CHECK(written.item<float>(3) == -1);
  CHECK(written.item<float>(4) == 4);
}

TEST_CASE("deferred elements are cloned and compared by value") {
  std::atomic<int> calls{0};
  const Tensor clone = counting(100, calls).clone();
  CHECK(clone.item<float>(50) == 50);
  CHECK(counting(100, calls).identical(clone));
  CHECK(clone.identical(counting(100, calls)));
  CHECK(calls == 3);
}

TEST_CASE("deferred elements that nobody reads are never computed") {
  std::atomic<int> calls{0};
  counting(1 << 20, calls);
  CHECK(calls == 0);
}

TEST_CASE("threads that read deferred elements at the same time see all of them") {
  constexpr std::int64_t n = 1 << 20;
  std::atomic<int> calls{0};
  std::atomic<int> wrong{0};
  const Tensor tensor = counting(n, calls);
  in_threads([&] {
    if (tensor.values<float>()[n - 1] != static_cast<float>(n - 1)) ++wrong;
  });
  CHECK(calls == 1);
  CHECK(wrong == 0);
}

TEST_CASE("what computes deferred elements goes as soon as it has computed them") {
  const auto held = std::make_shared<int>(3);
  auto elements = std::make_shared<DeferredElements>(
      4, [held](std::span<std::byte> memory) { memory[0] = static_cast<std::byte>(*held); });
  const Tensor tensor = Tensor::share(DType::uint8, {4}, std::move(elements));
  CHECK(held.use_count() == 2);
  CHECK(tensor.item<std::uint8_t>() == 3);
  CHECK(held.use_count() == 1);
}

TEST_CASE("held elements go when nobody holds them any more, and come again") {
  std::atomic<int> calls{0};
  const Tensor tensor = counting(1 << 18, calls);
  const DeferredElements& elements = *deferred_elements(tensor);
  const auto* const values = static_cast<const float*>(elements.memory());
  elements.hold();
  elements.hold();
  CHECK(calls == 1);
  elements.drop();
  CHECK(values[200'000] == 200'000);
  elements.drop();
#ifdef __linux__
  CHECK(values[200'000] == 0);
#endif
  {
    const HeldElements held(tensor);
    CHECK(calls == 2);
    CHECK(static_cast<const float*>(held.data())[100'000] == 100'000);
  }
#ifdef __linux__
  CHECK(values[100'000] == 0);
#endif
  CHECK_FALSE(elements.computed());
}

TEST_CASE("elements that were read stay, whoever holds and drops them") {
  std::atomic<int> calls{0};
  const Tensor tensor = counting(1 << 18, calls);
  const DeferredElements& elements = *deferred_elements(tensor);
  elements.hold();
  CHECK(tensor.item<float>(100'000) == 100'000);
  CHECK(calls == 1);
  elements.drop();
  CHECK(elements.computed());
  const HeldElements held(tensor);
  CHECK(static_cast<const float*>(held.data())[200'000] == 200'000);
  CHECK(tensor.item<float>(200'000) == 200'000);
  CHECK(calls == 1);
}

TEST_CASE("threads that hold and drop elements at the same time never see them gone") {
  constexpr std::int64_t n = 1 << 18;
  std::atomic<int> calls{0};
  std::atomic<int> wrong{0};
  const Tensor tensor = counting(n, calls);
  in_threads([&] {
    for (int i = 0; i < 50; ++i) {
      const HeldElements held(tensor);
      if (static_cast<const float*>(held.data())[n - 1] != static_cast<float>(n - 1)) ++wrong;
    }
  });
  CHECK(wrong == 0);
  CHECK(calls >= 1);
}

TEST_CASE("deferred elements are had again in other memory until they are computed") {
  std::atomic<int> calls{0};
  const Tensor first = counting(100, calls);
  const auto elements = deferred_elements(first)->again();
  REQUIRE(elements != nullptr);
  Tensor second = Tensor::share(DType::float32, {100}, elements);
  second.mutable_values<float>()[3] = -1;
  CHECK(calls == 1);
  CHECK(second.item<float>(4) == 4);
  CHECK(deferred_elements(second)->again() == nullptr);
  CHECK(first.item<float>(3) == 3);
  CHECK(calls == 2);
}
