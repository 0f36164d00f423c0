// Ranks that are threads, agreements, and sums with the same bits for any number of ranks.
#include <catch2/catch.hpp>
#include <cstring>

#include <ondine/error.h>

#include "tests/support/random_tensor.h"
#include "tests/trainer/cluster/on_ranks.h"
#include "trainer/cluster/agreement.h"
#include "trainer/cluster/tree_sum.h"

using namespace ondine;
using namespace ondine::test;
using namespace ondine::cluster;
using Catch::Contains;

namespace {

const std::vector<std::string> none(4);

template <class T>
std::span<const std::byte> bytes(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

Numbers term(std::uint64_t seed, std::int64_t count) {
  const Tensor floats = random_floats({count}, seed);
  Numbers result;
  for (const float value : floats.values<float>()) {
    result.floats.push_back(value * 1000);
    result.doubles.push_back(static_cast<double>(value) / 3);
  }
  return result;
}

// Sum of `terms` terms, divided among the ranks.
Numbers sum_on(std::size_t size, std::size_t terms, std::int64_t count, std::size_t piece) {
  std::vector<Numbers> sums(size);
  const auto errors = on_ranks(size, [&](const std::shared_ptr<Communicator>& ranks) {
    TreeSum sum;
    const std::size_t own = terms / size;
    for (std::size_t i = 0; i < own; ++i) {
      Numbers one = term(ranks->rank() * own + i, count);
      sum.add(one);
    }
    Numbers& result = sums[ranks->rank()];
    result = sum.finish();
    add_ranks(*ranks, result, piece);
  });
  CHECK(errors == std::vector<std::string>(size));
  for (const Numbers& one : sums) {
    CHECK(one.floats == sums[0].floats);
    CHECK(one.doubles == sums[0].doubles);
  }
  return sums[0];
}

}  // namespace

TEST_CASE("threads as ranks gather, exchange, broadcast and add") {
  const auto errors = on_ranks(4, [](const std::shared_ptr<Communicator>& ranks) {
    const auto rank = static_cast<int>(ranks->rank());
    const std::vector<int> mine{rank, 10 * rank};
    std::vector<int> all(8);
    ranks->all_gather(bytes(mine), std::as_writable_bytes(std::span(all)));
    if (all != std::vector{0, 0, 1, 10, 2, 20, 3, 30}) throw std::runtime_error("gathered");
    const std::vector<int> parts{rank, rank + 10, rank + 20, rank + 30};
    std::vector<int> received(4);
    ranks->all_to_all(bytes(parts), std::as_writable_bytes(std::span(received)));
    for (int from = 0; from < 4; ++from) {
      if (received[static_cast<std::size_t>(from)] != from + 10 * rank) {
        throw std::runtime_error("exchanged");
      }
    }
    int word = rank;
    ranks->broadcast(std::as_writable_bytes(std::span(&word, 1)), 2);
    if (word != 2) throw std::runtime_error("broadcast");
    std::vector<float> floats{1, static_cast<float>(rank)};
    ranks->add(std::span(floats));
    if (floats != std::vector<float>{4, 6}) throw std::runtime_error("added");
    ranks->barrier();
  });
  CHECK(errors == none);
}

TEST_CASE("a rank that ends by abort lets the others fail instead of waiting") {
  const auto errors = on_ranks(3, [](const std::shared_ptr<Communicator>& ranks) {
    if (ranks->rank() == 1) return ranks->abort();
    ranks->barrier();
  });
  CHECK_THAT(errors[0], Contains("another rank of the cluster ended"));
  CHECK(errors[1].empty());
  CHECK_THAT(errors[2], Contains("another rank of the cluster ended"));
}

TEST_CASE("a process that no mpirun started has no ranks") { CHECK(mpi_communicator() == nullptr); }

TEST_CASE("an error of one rank is thrown on all ranks with its name and its code") {
  const auto errors = on_ranks(4, [](const std::shared_ptr<Communicator>& ranks) {
    try {
      agree(*ranks, [&] {
        if (ranks->rank() == 2) throw Error(ErrorCode::io, "the disk is full");
      });
    } catch (const Error& error) {
      if (error.code() != ErrorCode::io) return;
      throw;
    }
  });
  CHECK(errors == std::vector<std::string>(4, "rank 2: the disk is full"));
}

TEST_CASE("an error that all ranks have names none") {
  const auto errors = on_ranks(2, [](const std::shared_ptr<Communicator>& ranks) {
    agree(*ranks, [] { throw Error(ErrorCode::mismatch, "no such option"); });
  });
  CHECK(errors == std::vector<std::string>(2, "no such option"));
}

TEST_CASE("what a rank throws between agreements reaches the others in their next one") {
  const auto errors = on_ranks(3, [](const std::shared_ptr<Communicator>& ranks) {
    agree(*ranks, [&] {
      agree(*ranks, [] {});
      if (ranks->rank() == 1) throw Error(ErrorCode::limit, "too much");
      agree(*ranks, [] {});
    });
  });
  CHECK(errors == std::vector<std::string>(3, "rank 1: too much"));
}

TEST_CASE("an error ends ranks that are in agreements of different depths") {
  const auto errors = on_ranks(3, [](const std::shared_ptr<Communicator>& ranks) {
    agree(*ranks, [&] {
      if (ranks->rank() == 0) throw Error(ErrorCode::io, "no place");
      agree(*ranks, [&] { agree(*ranks, [] {}); });
    });
  });
  CHECK(errors == std::vector<std::string>(3, "rank 0: no place"));
}

TEST_CASE("ranks learn the largest of their wishes") {
  const auto errors = on_ranks(3, [](const std::shared_ptr<Communicator>& ranks) {
    const auto wish = static_cast<std::uint32_t>(ranks->rank() == 1 ? 5 : ranks->rank());
    if (cluster::agree_on(
            *ranks, [] {}, wish) != 5)
      throw std::runtime_error("not the largest");
  });
  CHECK(errors == std::vector<std::string>(3));
}

TEST_CASE("facts that differ between ranks are refused by their names") {
  const auto errors = on_ranks(3, [](const std::shared_ptr<Communicator>& ranks) {
    const std::string rank = std::to_string(ranks->rank() / 2);
    require_same(*ranks, {{"the model", "m"}, {"the data", rank}, {"the options", rank}});
  });
  for (const std::string& error : errors) {
    CHECK_THAT(error, Contains("rank 2 differs from rank 0 in: the data, the options"));
  }
}

TEST_CASE("sums have the same bits for any number of ranks that divide the terms") {
  for (const std::size_t piece : {std::size_t{7}, std::size_t{64}, std::size_t{1000}}) {
    const Numbers one = sum_on(1, 8, 101, piece);
    for (const std::size_t size : {2U, 4U, 8U}) {
      const Numbers other = sum_on(size, 8, 101, piece);
      CHECK(other.floats == one.floats);
      CHECK(other.doubles == one.doubles);
    }
  }
  const Numbers six = sum_on(1, 6, 33, 16);
  CHECK(sum_on(3, 6, 33, 16).floats == six.floats);
  CHECK(sum_on(6, 6, 33, 16).floats == six.floats);
}

TEST_CASE("sums by the communicator's own order are the same but for rounding") {
  std::vector<Numbers> sums(2);
  on_ranks(2, [&](const std::shared_ptr<Communicator>& ranks) {
    sums[ranks->rank()] = term(ranks->rank(), 50);
    add_quickly(*ranks, std::span(sums[ranks->rank()].floats), 16);
  });
  CHECK(sums[0].floats == sums[1].floats);
  const Numbers a = term(0, 50);
  const Numbers b = term(1, 50);
  for (std::size_t i = 0; i < 50; ++i) {
    CHECK(sums[0].floats[i] == Approx(a.floats[i] + b.floats[i]).margin(1e-3));
  }
}

TEST_CASE("sums by way of bfloat16 are the same on all ranks and near those in float32") {
  for (const std::size_t count : {1U, 3U, 50U}) {
    std::vector<std::vector<float>> sums(3);
    on_ranks(3, [&](const std::shared_ptr<Communicator>& ranks) {
      sums[ranks->rank()] = term(ranks->rank(), count).floats;
      add_rounded(*ranks, std::span(sums[ranks->rank()]), 16);
    });
    CHECK(sums[0] == sums[1]);
    CHECK(sums[0] == sums[2]);
    bool is_rounded = false;
    for (std::size_t i = 0; i < count; ++i) {
      float expected = 0, greatest = 0;
      for (std::size_t rank = 0; rank < 3; ++rank) {
        expected += term(rank, count).floats[i];
        greatest = std::max(greatest, std::abs(term(rank, count).floats[i]));
      }
      CHECK(sums[0][i] == Approx(expected).epsilon(0.004).margin(0.012 * greatest));
      is_rounded = is_rounded || sums[0][i] != expected;
    }
    if (count == 50) CHECK(is_rounded);
  }
}
