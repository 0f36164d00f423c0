#include <catch2/catch.hpp>

#include "core/deferred.h"
#include "trainer/state/state_store.h"

using namespace ondine;           // NOLINT
using namespace ondine::trainer;  // NOLINT

namespace {

// One variable whose present value is 2, in memory of its own.
StateStore written_store() {
  Variable variable;
  variable.name = "w";
  variable.initial = Tensor::of<float>({1}, {1});
  std::vector<Variable> variables;
  variables.push_back(variable);
  StateStore store(std::move(variables));
  store.next(0).mutable_values<float>()[0] = 2;
  store.commit();
  return store;
}

float number(const Tensor& tensor) { return tensor.values<float>()[0]; }

}  // namespace

TEST_CASE("a variable is overwritten where only the caller reads it") {
  StateStore store = written_store();
  const StateStore::Reader caller = store.read();
  const void* present = caller[0].data();
  CHECK(store.overwrite(0).data() == present);
}

TEST_CASE("a variable is not overwritten while another call reads it") {
  StateStore store = written_store();
  const StateStore::Reader caller = store.read();
  const StateStore::Reader other = store.read();
  Tensor& next = store.overwrite(0);
  CHECK(next.data() != other[0].data());
  next.mutable_values<float>()[0] = 3;
  store.commit();
  CHECK(number(other[0]) == 2);
  CHECK(number(store.read()[0]) == 3);
}

TEST_CASE("a variable is not overwritten while an old version that shares its memory is read") {
  StateStore store = written_store();
  const StateStore::Reader old = store.read();
  store.commit();  // a new version with the same tensor
  const StateStore::Reader caller = store.read();
  REQUIRE(caller[0].data() == old[0].data());
  CHECK(store.overwrite(0).data() != old[0].data());
}

TEST_CASE("an initial value is never overwritten") {
  StateStore store = written_store();
  store.reset();
  store.commit();
  const StateStore::Reader caller = store.read();
  REQUIRE(number(caller[0]) == 1);
  store.overwrite(0).mutable_values<float>()[0] = 5;
  store.commit();
  CHECK(number(store.variable(0).initial) == 1);
}

TEST_CASE("a value that is replaced before it is published takes the memory of the last draft") {
  StateStore store = written_store();
  const StateStore::Reader old = store.read();
  const void* present = old[0].data();
  store.replace(0, Tensor::of<float>({1}, {7}));
  store.replace(0, Tensor::of<float>({1}, {8}));
  CHECK(number(store.drafted(0)) == 8);
  CHECK(store.next(0).data() == store.drafted(0).data());
  store.discard();
  CHECK(number(store.drafted(0)) == 2);
  store.replace(0, Tensor::of<float>({1}, {9}));
  store.commit();
  CHECK(number(store.read()[0]) == 9);
  CHECK(old[0].data() == present);
  CHECK(number(old[0]) == 2);
}

TEST_CASE("versions keep their values when the store moves") {
  StateStore first = written_store();
  first.reset();
  StateStore second = std::move(first);
  second.commit();
  CHECK(number(second.read()[0]) == 1);
  CHECK(&second.read()[0] == &second.variable(0).initial);
}

TEST_CASE("an initial value that is computed when it is needed is overwritten as another copy") {
  const auto elements = std::make_shared<DeferredElements>(
      4, [](std::span<std::byte> memory) { memory[0] = std::byte{7}; });
  std::vector<Variable> variables(1);
  variables[0].initial = Tensor::share(DType::uint8, {4}, elements);
  StateStore store(std::move(variables));
  for (int round = 0; round < 2; ++round) {
    const StateStore::Reader caller = store.read();
    CHECK(caller[0].item<std::uint8_t>() == 7);
    CHECK_FALSE(store.is_initial(0));
    Tensor& next = store.overwrite(0);
    CHECK(next.data() == caller[0].data());
    next.mutable_values<std::uint8_t>()[0] = 9;
    store.commit();
    CHECK(store.read()[0].item<std::uint8_t>() == 9);
    store.reset();
    store.commit();
  }
  CHECK(deferred_elements(store.variable(0).initial)->again() != nullptr);
}
