// Bounds on data sets: memory of all threads, batches, deadlines.
#include <atomic>
#include <catch2/catch.hpp>
#include <chrono>
#include <fstream>
#include <thread>

#include <ondine/data.h>
#include <ondine/data_limits.h>

#include "tests/support/port.h"
#include "tests/support/temporary_folder.h"
#include "trainer/data/files/decode_budget.h"

using namespace ondine;
using namespace ondine::test;
using Catch::Contains;
namespace fs = std::filesystem;

namespace {

void write(const fs::path& file, const std::string& bytes) {
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary) << bytes;
}

ErrorCode code_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    INFO(error.what());
    return error.code();
  }
  FAIL("no error");
  return ErrorCode::internal;
}

// Text of a graymap that takes some milliseconds to read.
std::string large_graymap() {
  std::string text = "P2 1000 1000 255";
  for (int i = 0; i < 1000 * 1000; ++i) text += " 1";
  return text;
}

const std::vector<PortInfo>& images() {
  static const std::vector ports{port("image", DType::float32, {-1, 1, 4, 4})};
  return ports;
}

void take_all(const Dataset& data, const std::vector<PortInfo>& inputs) {
  for ([[maybe_unused]] const Batch& batch : data.batches(2, {.inputs = inputs})) {
  }
}

}  // namespace

TEST_CASE("limits of data follow from the machine's memory") {
  const Limits limits = data_limits();
  CHECK(limits.tensor_bytes <= default_arena_bytes());
  CHECK(limits.weight_bytes <= default_arena_bytes());
  CHECK(DatasetOptions().limits.tensor_bytes == limits.tensor_bytes);
}

TEST_CASE("files that do not fit beside each other are decoded one after the other") {
  Limits limits;
  limits.tensor_bytes = 100;
  const data::DecodeBudget decoding(limits);
  const auto charge = [&](std::uint64_t bytes) {
    return decoding.run([&](const std::shared_ptr<MemoryBudget>& budget) {
      BudgetShare share(budget);
      share.add(bytes);
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
      return budget->used();
    });
  };
  std::atomic<int> failures = 0;
  std::atomic<int> beyond = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 5; ++k) {
        try {
          if (charge(60) > 100) ++beyond;
        } catch (const Error&) {
          ++failures;
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(failures == 0);
  CHECK(beyond == 0);
  CHECK_THROWS_WITH(charge(101), Contains("101 bytes do not fit: 0 of 100"));
}

TEST_CASE("an image above the budget is refused by name, on any number of threads") {
  const TemporaryFolder folder;
  for (int i = 0; i < 6; ++i) {
    write(folder / ("a/" + std::to_string(i) + ".png"), "P2 2 2 9 1 2 3 4");
  }
  write(folder / "a/large.png", large_graymap());
  for (const int threads : {1, 3}) {
    DatasetOptions options{.threads = threads};
    options.limits.tensor_bytes = std::uint64_t{4} << 20;
    const Dataset data = Dataset::open(folder.path(), options);
    CHECK_THROWS_WITH(take_all(data, images()), Contains("large.png") && Contains("do not fit"));
    options.skip_broken = true;
    const Dataset others = Dataset::open(folder.path(), options);
    CHECK(others.rows() == 6);
    CHECK_NOTHROW(take_all(others, images()));
  }
}

TEST_CASE("a batch takes no more than the limit") {
  const TemporaryFolder folder;
  write(folder / "a/1.png", "P2 2 2 9 1 2 3 4");
  write(folder / "a/2.png", "P2 2 2 9 1 2 3 4");
  DatasetOptions options;
  options.limits.arena_bytes = 100'000;
  const Dataset data = Dataset::open(folder.path(), options);
  CHECK_NOTHROW(take_all(data, images()));
  const std::vector large{port("image", DType::float32, {-1, 3, 1000, 1000})};
  CHECK_THROWS_WITH(take_all(data, large),
                    Contains("a batch of 2 rows of input 'image'") && Contains("12000000"));
}

TEST_CASE("a deadline and a cancelled flag end the reading of batches") {
  const TemporaryFolder folder;
  write(folder / "a/1.png", large_graymap());
  write(folder / "a/2.png", large_graymap());
  for (const int threads : {1, 2}) {
    CAPTURE(threads);
    const Dataset late = Dataset::open(
        folder.path(), {.threads = threads, .deadline = std::chrono::milliseconds(1)});
    CHECK(code_of([&] { take_all(late, images()); }) == ErrorCode::limit);
    const auto cancel = std::make_shared<CancelFlag>(false);
    const Dataset stopped = Dataset::open(folder.path(), {.threads = threads, .cancel = cancel});
    *cancel = true;
    CHECK(code_of([&] { take_all(stopped, images()); }) == ErrorCode::cancelled);
  }
  const auto cancel = std::make_shared<CancelFlag>(true);
  const Dataset arrays =
      Dataset::from({{"x", Tensor(DType::float32, {4, 2})}}, {}, {.cancel = cancel});
  CHECK(code_of([&] {
          take_all(arrays, {port("x", DType::float32, {-1, 2})});
        }) == ErrorCode::cancelled);
}

TEST_CASE("a deadline ends opening, and no whole image counts as broken for it") {
  const TemporaryFolder folder;
  for (int i = 0; i < 8; ++i) write(folder / ("a/" + std::to_string(i) + ".png"), large_graymap());
  CHECK(code_of([&] {
          Dataset::open(
              folder.path(),
              {.skip_broken = true, .threads = 2, .deadline = std::chrono::milliseconds(1)});
        }) == ErrorCode::limit);
}

TEST_CASE("a deadline ends the reading of tables and texts") {
  const TemporaryFolder folder;
  std::string csv = "a,label\n";
  std::string json;
  for (int i = 0; i < 200'000; ++i) {
    csv += "1,2\n";
    json += "{\"text\": \"a\"}\n";
  }
  write(folder / "a.csv", csv);
  write(folder / "a.jsonl", json);
  for (const char* name : {"a.csv", "a.jsonl"}) {
    CAPTURE(name);
    const DatasetOptions options{.deadline = std::chrono::milliseconds(1)};
    CHECK(code_of([&] { Dataset::open(folder / name, options); }) == ErrorCode::limit);
  }
}

namespace {

// `count` texts of 20 bytes and one of `longest`.
void write_texts(const fs::path& file, int count, std::size_t longest) {
  std::string lines;
  for (int i = 0; i < count; ++i) {
    if (i == 7) lines += "{\"text\": \"" + std::string(longest, 'x') + "\", \"label\": 0}\n";
    lines += "{\"text\": \"" + std::string(20, 'a') + "\", \"label\": 1}\n";
  }
  write(file, lines);
}

}  // namespace

TEST_CASE("a long text that would pad all others beyond proportion is named") {
  const TemporaryFolder folder;
  write_texts(folder / "a.jsonl", 2000, 150'000);
  const Dataset data = Dataset::open(folder / "a.jsonl");
  const std::vector open_length{port("text", DType::int64, {-1, -1})};
  const BatchOptions options{.shuffle = false, .inputs = open_length};
  REQUIRE(data.notes().size() == 1);
  CHECK_THAT(data.notes()[0], Contains("150000 ids of row 7") && Contains("--text-length"));
  CHECK_THROWS_WITH(data.batches(1000, options).begin(), Contains("1000 rows") &&
                                                             Contains("150000 ids of row 7") &&
                                                             Contains("--text-length"));
  // Small batches are within the bound, and a length is what a person wants.
  CHECK((*data.batches(2, options).begin()).feeds()[0].second.tensor().shape() ==
        Shape{2, 150'000});
  const Dataset cut = Dataset::open(folder / "a.jsonl", {.text = {.length = 32}});
  CHECK(cut.notes().empty());
  CHECK((*cut.batches(1000, options).begin()).feeds()[0].second.tensor().shape() ==
        Shape{1000, 32});
  // The model's own length needs no padding to the longest text.
  const std::vector fixed{port("text", DType::int64, {-1, 16})};
  CHECK_NOTHROW(data.batches(1000, {.inputs = fixed}).begin());
}

TEST_CASE("texts of usual lengths are padded without a note") {
  const TemporaryFolder folder;
  write_texts(folder / "a.jsonl", 50, 60);
  const Dataset data = Dataset::open(folder / "a.jsonl");
  CHECK(data.notes().empty());
  const std::vector open_length{port("text", DType::int32, {-1, -1})};
  CHECK_NOTHROW(data.batches(40, {.inputs = open_length}).begin());
}
