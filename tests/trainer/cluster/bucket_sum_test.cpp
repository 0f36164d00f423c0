// Sums over ranks while the numbers are being computed.
#include <catch2/catch.hpp>
#include <chrono>
#include <future>
#include <numeric>

#include "core/message.h"
#include "tests/trainer/cluster/on_ranks.h"
#include "trainer/cluster/agreement.h"
#include "trainer/cluster/bucket_sum.h"
#include "trainer/cluster/tree_sum.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;
using cluster::BucketSum;

namespace {

const std::vector<std::size_t> three_buckets{4, 10, 12};

std::vector<float> numbers_of(std::size_t rank) {
  std::vector<float> numbers(12);
  std::iota(numbers.begin(), numbers.end(), static_cast<float>(100 * rank));
  return numbers;
}

}  // namespace

TEST_CASE("buckets are summed when they are final, while the rest is computed") {
  std::promise<void> first_is_summed;
  std::shared_future<void> summed = first_is_summed.get_future().share();
  std::vector<std::vector<float>> results(2);
  std::vector<bool> was_early(2);
  const auto errors = on_ranks(2, [&](const std::shared_ptr<Communicator>& ranks) {
    const std::size_t rank = ranks->rank();
    results[rank] = numbers_of(rank);
    std::size_t added = 0;
    BucketSum buckets(*ranks, results[rank], three_buckets, [&](std::span<float> values) {
      cluster::add_quickly(*ranks, values);
      if (added++ == 0 && rank == 0) first_is_summed.set_value();
    });
    buckets.advance(5);  // the second bucket is not whole
    was_early[rank] = summed.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
    buckets.advance(11);
    buckets.finish();
    CHECK(added == 3);
  });
  CHECK(errors == std::vector<std::string>(2));
  CHECK(was_early == std::vector<bool>{true, true});
  for (std::size_t i = 0; i < 12; ++i) {
    CHECK(results[0][i] == numbers_of(0)[i] + numbers_of(1)[i]);
    CHECK(results[1][i] == results[0][i]);
  }
}

TEST_CASE("a rank that fails between buckets ends all ranks by its error") {
  const auto errors = on_ranks(3, [&](const std::shared_ptr<Communicator>& ranks) {
    std::vector<float> numbers = numbers_of(ranks->rank());
    cluster::agree_on(*ranks, [&] {
      BucketSum buckets(*ranks, numbers, three_buckets,
                        [&](std::span<float> values) { cluster::add_quickly(*ranks, values); });
      buckets.advance(4);
      if (ranks->rank() == 1) {
        buckets.give_up(std::make_exception_ptr(Error(ErrorCode::mismatch, "label 77")));
      }
      buckets.finish();
    });
  });
  for (const std::string& error : errors) CHECK(error == "rank 1: label 77");
}

TEST_CASE("a rank that fails after all buckets ends all ranks in the next agreement") {
  const auto errors = on_ranks(2, [&](const std::shared_ptr<Communicator>& ranks) {
    std::vector<float> numbers = numbers_of(ranks->rank());
    cluster::agree_on(*ranks, [&] {
      std::promise<void> all;
      std::size_t added = 0;
      BucketSum buckets(*ranks, numbers, three_buckets, [&](std::span<float> values) {
        cluster::add_quickly(*ranks, values);
        if (++added == 3) all.set_value();
      });
      buckets.advance(12);
      all.get_future().wait();
      if (ranks->rank() == 1) {
        buckets.give_up(std::make_exception_ptr(Error(ErrorCode::not_finite, "loss is nan")));
      }
      buckets.finish();
    });
  });
  for (const std::string& error : errors) CHECK(error == "rank 1: loss is nan");
}
