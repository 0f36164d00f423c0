// Inference while another thread trains.
#include <atomic>
#include <catch2/catch.hpp>
#include <cstring>
#include <map>
#include <thread>

#include <ondine/model.h>

#include "tests/support/models.h"
#include "tests/support/random_tensor.h"

using namespace ondine;
using namespace ondine::test;

namespace {

NamedValues batch(int step) {
  const auto seed = static_cast<std::uint64_t>(step);
  Tensor label(DType::int64, {6});
  for (std::int64_t i = 0; i < 6; ++i) {
    label.mutable_values<std::int64_t>()[static_cast<std::size_t>(i)] = (i + step) % 4;
  }
  return {{"x", random_floats({6, 8}, seed)}, {"label", label}};
}

std::string bits(const NamedValues& results) {
  const Tensor& tensor = results[0].second.tensor();
  return {static_cast<const char*>(tensor.data()), tensor.bytes()};
}

}  // namespace

TEST_CASE("every output of inference during training is that of exactly one version of the state") {
  constexpr int steps = 60;
  const NamedValues feeds{{"x", random_floats({5, 8}, 1000)}};
  LoadOptions options;
  options.threads = 2;
  // Version by the bits of its answer, from a model that is trained alone.
  std::map<std::string, int> version_of;
  Model alone = Model::load(encode(dropout_classifier()), options);
  version_of[bits(alone.infer(feeds))] = 0;
  for (int step = 1; step <= steps; ++step) {
    alone.train_step(batch(step));
    version_of[bits(alone.infer(feeds))] = step;
  }
  REQUIRE(version_of.size() == steps + 1);

  Model model = Model::load(encode(dropout_classifier()), options);
  std::atomic<int> unknown{0};
  std::atomic<int> backwards{0};
  std::atomic<int> calls{0};
  std::atomic<bool> over{false};
  std::vector<std::thread> readers;
  for (int r = 0; r < 2; ++r) {
    readers.emplace_back([&] {
      int last = 0;
      while (!over.load()) {
        const auto found = version_of.find(bits(model.infer(feeds)));
        ++calls;
        if (found == version_of.end()) {
          ++unknown;
          continue;
        }
        if (found->second < last) ++backwards;
        last = found->second;
      }
    });
  }
  const std::vector<std::string> loss{"loss"};  // the new values are not returned: no copies
  for (int step = 1; step <= steps; ++step) {
    model.train_step(batch(step), 0, loss);
    // Readers see some versions of each run.
    for (const int before = calls.load(); calls.load() < before + 2;) std::this_thread::yield();
  }
  over = true;
  for (std::thread& reader : readers) reader.join();
  CHECK(unknown == 0);
  CHECK(backwards == 0);
  CHECK(calls >= 2 * steps);
  CHECK(bits(model.infer(feeds)) == bits(alone.infer(feeds)));
}
