// Inputs that follow from ids: masks, positions and types of tokens.
#include <catch2/catch.hpp>
#include <fstream>

#include <ondine/data.h>
#include <ondine/error.h>

#include "tests/support/port.h"
#include "tests/support/temporary_folder.h"

namespace ondine::test {
namespace {

using Catch::Matchers::Contains;
using Ids = std::vector<std::int64_t>;

Dataset open(const TemporaryFolder& folder, const std::string& lines) {
  std::ofstream(folder / "rows.jsonl", std::ios::binary) << lines;
  return Dataset::open(folder / "rows.jsonl");
}

// Rows of 3, 2 and 1 ids.
const std::string texts = "{\"text\": \"abc\"}\n{\"text\": \"de\"}\n{\"text\": \"f\"}\n";

template <class T>
std::vector<T> fed(Feeder& feeder, std::size_t input) {
  const std::vector<std::uint64_t> rows{0, 2};
  const auto values = feeder.take(rows)[input].second.tensor().values<T>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("a mask, positions and types of tokens follow from the ids") {
  const TemporaryFolder folder;
  const Dataset data = open(folder, texts);
  const std::vector<PortInfo> inputs{
      port("position_ids", DType::int64, {-1, -1}), port("attention_mask", DType::int64, {-1, -1}),
      port("token_type_ids", DType::int32, {-1, -1}), port("input_ids", DType::int64, {-1, -1})};
  Feeder feeder(inputs, data);
  CHECK(fed<std::int64_t>(feeder, 0) == Ids{0, 1, 2, 0, 1, 2});
  CHECK(fed<std::int64_t>(feeder, 1) == Ids{1, 1, 1, 1, 0, 0});
  CHECK(fed<std::int32_t>(feeder, 2) == std::vector<std::int32_t>(6, 0));
  CHECK(fed<std::int64_t>(feeder, 3) == Ids{'a', 'b', 'c', 'f', 0, 0});
}

TEST_CASE("they have the length of their input, and masks may be floats") {
  const TemporaryFolder folder;
  const Dataset data = open(folder, texts);
  const std::vector<PortInfo> inputs{port("input_ids", DType::int64, {-1, 4}),
                                     port("attention_mask", DType::float32, {-1, 4})};
  Feeder feeder(inputs, data);
  CHECK(fed<float>(feeder, 1) == std::vector<float>{1, 1, 1, 0, 1, 0, 0, 0});
}

TEST_CASE("a mask is one where an id is, with texts to classify too") {
  const TemporaryFolder folder;
  const Dataset data = open(folder,
                            "{\"text\": \"abc\", \"label\": 1}\n{\"text\": \"d\", \"label\": 0}\n"
                            "{\"text\": \"ef\", \"label\": 1}\n");
  const std::vector<PortInfo> inputs{port("input_ids", DType::int64, {-1, -1}),
                                     port("attention_mask", DType::int64, {-1, -1}),
                                     port("label", DType::int64, {-1})};
  Feeder feeder(inputs, data);
  CHECK(fed<std::int64_t>(feeder, 1) == Ids{1, 1, 1, 1, 1, 0});
}

TEST_CASE("an input of another name gets a mask where the map says so") {
  const TemporaryFolder folder;
  const Dataset data = open(folder, texts);
  const std::vector<PortInfo> inputs{port("input_ids", DType::int64, {-1, -1}),
                                     port("keep", DType::boolean, {-1, -1})};
  Feeder feeder(inputs, data, {{"keep", "attention_mask"}});
  const std::vector<std::uint64_t> rows{2};
  const Tensor mask = feeder.take(rows)[1].second.tensor();
  CHECK(mask.values<bool>()[0]);
  CHECK_FALSE(mask.values<bool>()[1]);
}

TEST_CASE("labels go to no input that is known to be no target") {
  const TemporaryFolder folder;
  const Dataset data = open(folder, texts);
  const std::vector<PortInfo> inputs{port("text", DType::int64, {-1, -1}),
                                     port("speakers", DType::int64, {-1, -1}),
                                     port("goal", DType::int64, {-1, -1})};
  FeedRoles roles;
  roles.targets = {"goal"};
  CHECK_THROWS_WITH(Feeder(inputs, data, {}, roles), Contains("no array fits input 'speakers'"));
  const std::vector<PortInfo> known{inputs[0], inputs[2]};
  CHECK(Feeder(known, data, {}, roles).inputs() == std::vector<std::string>{"text", "goal"});
}

TEST_CASE("without ids an attention mask is an array as any other") {
  const NamedValues arrays{{"x", Tensor::of(Shape{2, 2}, std::vector<float>{1, 2, 3, 4})}};
  const std::vector<PortInfo> inputs{port("x", DType::float32, {-1, 2}),
                                     port("attention_mask", DType::int64, {-1, -1})};
  CHECK_THROWS_WITH(Feeder(inputs, arrays), Contains("no array fits input 'attention_mask'"));
}

TEST_CASE("caches of earlier tokens are empty, as their names and dims tell") {
  const TemporaryFolder folder;
  const Dataset data = open(folder, texts);
  const std::vector<PortInfo> inputs{port("input_ids", DType::int64, {-1, -1}),
                                     port("past_key_values.0.key", DType::float32, {-1, 4, -1, 16}),
                                     port("v_cache", DType::float16, {-1, -1, 4, 16})};
  Feeder feeder(inputs, data);
  const std::vector<std::uint64_t> rows{0, 2};
  const auto feeds = feeder.take(rows);
  CHECK(feeds[1].second.tensor().shape() == Shape{2, 4, 0, 16});
  CHECK(feeds[2].second.tensor().shape() == Shape{2, 0, 4, 16});
  CHECK(feeds[2].second.tensor().dtype() == DType::float16);
}

TEST_CASE("inputs that are no cache by name, type or dims are not fed as one") {
  const TemporaryFolder folder;
  const Dataset data = open(folder, texts);
  const auto refused = [&](const PortInfo& input) {
    const std::vector<PortInfo> inputs{port("input_ids", DType::int64, {-1, -1}), input};
    CHECK_THROWS_WITH(Feeder(inputs, data), Contains("no array fits input '" + input.name + "'"));
  };
  refused(port("memory", DType::float32, {-1, 4, -1, 16}));
  refused(port("past", DType::int64, {-1, 4, -1, 16}));
  refused(port("past", DType::float32, {-1, 4, -1, -1}));
  refused(port("past", DType::float32, {-1, 4, 8, 16}));
}

}  // namespace ondine::test
