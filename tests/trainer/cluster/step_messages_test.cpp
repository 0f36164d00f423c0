// Messages of a step: the calls and bytes that the model of docs/scaling.md counts.
#include <catch2/catch.hpp>
#include <cmath>

#include "tests/support/models.h"
#include "tests/trainer/cluster/on_ranks.h"
#include "tests/trainer/fit/small_task.h"

using namespace ondine;
using namespace ondine::test;

namespace {

struct Traffic {
  std::size_t exchanges = 0;  // all_to_all
  std::size_t gathers = 0;
  std::size_t others = 0;
  std::size_t bytes = 0;  // that a rank sends to others, where each part goes there once
};

// Passes every call on and counts it.
class CountedCommunicator final : public Communicator {
 public:
  CountedCommunicator(std::shared_ptr<Communicator> inner, Traffic& traffic)
      : inner_(std::move(inner)), traffic_(&traffic) {}

  std::size_t rank() const noexcept override { return inner_->rank(); }
  std::size_t size() const noexcept override { return inner_->size(); }
  std::string describe() const override { return inner_->describe(); }
  void all_gather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    ++traffic_->gathers;
    traffic_->bytes += mine.size() * (size() - 1);
    inner_->all_gather(mine, all);
  }
  void all_to_all(std::span<const std::byte> parts, std::span<std::byte> received) override {
    ++traffic_->exchanges;
    traffic_->bytes += parts.size() / size() * (size() - 1);
    inner_->all_to_all(parts, received);
  }
  void broadcast(std::span<std::byte> bytes, std::size_t from) override {
    ++traffic_->others;
    inner_->broadcast(bytes, from);
  }
  void add(std::span<float> values) override { count_sum(values); }
  void add(std::span<double> values) override { count_sum(values); }
  void barrier() override {
    ++traffic_->others;
    inner_->barrier();
  }
  void abort() noexcept override { inner_->abort(); }

 private:
  template <class T>
  void count_sum(std::span<T> values) {
    ++traffic_->others;
    traffic_->bytes += 2 * values.size_bytes() / size() * (size() - 1);
    inner_->add(values);
  }

  std::shared_ptr<Communicator> inner_;
  Traffic* traffic_;
};

// Traffic of rank 0 in a run of `steps` steps.
Traffic traffic_of(std::size_t ranks, std::uint64_t steps, bool fast_reduce) {
  std::vector<Traffic> traffic(ranks);
  const Dataset data = Dataset::from(classes_data(64));
  const auto errors = on_ranks(ranks, [&](std::shared_ptr<Communicator> one) {
    Model model = classifier_model();
    TrainerOptions options{.epochs = 10, .batch_size = 16};
    options.max_steps = steps;
    options.fast_reduce = fast_reduce;
    Traffic& own = traffic.at(one->rank());
    options.communicator = std::make_shared<CountedCommunicator>(std::move(one), own);
    Trainer(model, options).fit(data);
  });
  CHECK(errors == std::vector<std::string>(ranks));
  return traffic[0];
}

// Traffic of one step: that of 11 steps less that of 3, over 8. Both runs end in the middle of an
// epoch.
Traffic of_a_step(std::size_t ranks, bool fast_reduce) {
  const Traffic few = traffic_of(ranks, 3, fast_reduce);
  const Traffic many = traffic_of(ranks, 11, fast_reduce);
  const auto per_step = [](std::size_t a, std::size_t b) { return (b - a) / 8; };
  return {per_step(few.exchanges, many.exchanges), per_step(few.gathers, many.gathers),
          per_step(few.others, many.others), per_step(few.bytes, many.bytes)};
}

}  // namespace

TEST_CASE("a step sends each gradient twice, whatever the number of ranks") {
  const std::size_t gradients = 4 * classifier_model().parameters().size();
  for (const bool fast_reduce : {false, true}) {
    for (const std::size_t ranks : {2U, 4U}) {
      const Traffic step = of_a_step(ranks, fast_reduce);
      INFO(ranks << " ranks, fast " << fast_reduce << ": " << step.exchanges << " exchanges, "
                 << step.gathers << " gathers, " << step.others << " others, " << step.bytes
                 << " bytes, gradients " << gradients);
      const std::size_t volume = 2 * gradients * (ranks - 1) / ranks;
      CHECK(step.bytes >= volume);
      CHECK(step.bytes <= volume + 200 * ranks);  // losses, metrics, agreements
      CHECK(step.exchanges == (fast_reduce ? 0 : 2));
    }
  }
}
