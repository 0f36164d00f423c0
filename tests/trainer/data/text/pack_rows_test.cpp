// Rows that hold several texts: which, in what order, and what is refused.
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

DatasetOptions packed(std::int64_t length) {
  DatasetOptions options;
  options.text.length = length;
  options.text.next.pack = true;
  return options;
}

Dataset open(const TemporaryFolder& folder, const std::string& lines,
             const DatasetOptions& options) {
  std::ofstream(folder / "rows.jsonl", std::ios::binary) << lines;
  return Dataset::open(folder / "rows.jsonl", options);
}

std::string refusal(const std::string& lines, const DatasetOptions& options,
                    const std::vector<PortInfo>& inputs = {}) {
  const TemporaryFolder folder;
  try {
    const Dataset data = open(folder, lines, options);
    Feeder feeder(inputs, data);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Bytes, and the token of 0 at the end of each text: 4, 2, 6 and 3 ids.
const std::string texts =
    "{\"text\": \"abc\"}\n{\"text\": \"d\"}\n{\"text\": \"efghi\"}\n{\"text\": \"jk\"}\n";

const std::vector<PortInfo> ports{
    port("input_ids", DType::int64, {-1, -1}), port("label", DType::int64, {-1, -1}),
    port("segment_ids", DType::int64, {-1, -1}), port("attention_mask", DType::int64, {-1, -1}),
    port("position_ids", DType::int64, {-1, -1})};

Ids fed(Feeder& feeder, std::size_t input) {
  const std::vector<std::uint64_t> rows{0, 1};
  const auto values = feeder.take(rows)[input].second.tensor().values<std::int64_t>();
  return {values.begin(), values.end()};
}

}  // namespace

TEST_CASE("texts are packed into the fullest rows that have room, the longest first") {
  const TemporaryFolder folder;
  const Dataset data = open(folder, texts, packed(8));
  REQUIRE(data.rows() == 2);
  CHECK(data.notes() == std::vector<std::string>{"4 texts are packed into 2 rows of 8 ids"});
  Feeder feeder(ports, data);
  // "efghi_" and "jk_" fill 9 ids, 8 and the last label; "abc_" and "d_" take 6.
  CHECK(fed(feeder, 0) ==
        Ids{'a', 'b', 'c', 0, 'd', 0, 0, 0, 'e', 'f', 'g', 'h', 'i', 0, 'j', 'k'});
  // The first id of a text is no label of the text before it.
  CHECK(fed(feeder, 1) ==
        Ids{'b', 'c', 0, -100, 0, -100, -100, -100, 'f', 'g', 'h', 'i', 0, -100, 'k', 0});
  CHECK(fed(feeder, 2) == Ids{0, 0, 0, 0, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 1, 1});
  CHECK(fed(feeder, 3) == Ids{1, 1, 1, 1, 1, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1});
  CHECK(fed(feeder, 4) == Ids{0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7});
}

TEST_CASE("a text that is as long as a row or longer has one of its own") {
  const TemporaryFolder folder;
  const Dataset data = open(folder, texts, packed(4));
  REQUIRE(data.rows() == 3);
  const std::vector<PortInfo> inputs{port("input_ids", DType::int64, {-1, 4}),
                                     port("segment_ids", DType::int32, {-1, 4})};
  Feeder feeder(inputs, data);
  const std::vector<std::uint64_t> rows{1, 2};
  const auto feeds = feeder.take(rows);
  const auto ids = feeds[0].second.tensor().values<std::int64_t>();
  CHECK(Ids(ids.begin(), ids.end()) == Ids{'d', 0, 'j', 'k', 'e', 'f', 'g', 'h'});
  const auto segments = feeds[1].second.tensor().values<std::int32_t>();
  CHECK(std::vector<std::int32_t>(segments.begin(), segments.end()) ==
        std::vector<std::int32_t>{0, 0, 1, 1, 0, 0, 0, 0});
}

TEST_CASE("rows of one text have one segment") {
  const TemporaryFolder folder;
  DatasetOptions alone;
  alone.text.length = 8;
  const Dataset data = open(folder, texts, alone);
  Feeder feeder(ports, data);
  CHECK(fed(feeder, 2) == Ids(16, 0));
}

TEST_CASE("packing is refused without the length of rows, or a model that tells texts apart") {
  CHECK_THAT(refusal(texts, packed(0)), Contains("--text-length"));
  const std::vector<PortInfo> without{ports[0], ports[1]};
  CHECK_THAT(refusal(texts, packed(8), without), Contains("a model prepared with --packing"));
  CHECK(refusal(texts, packed(8), ports).empty());
  DatasetOptions weighed = packed(8);
  weighed.weights = "w";
  CHECK_THAT(refusal("{\"text\": \"abc\", \"w\": 2}\n", weighed),
             Contains("rows of several texts (--pack) have no weights of their own ('w')"));
}

TEST_CASE("packing is refused for data that it has no effect on") {
  const char* no_effect = "packing (--pack) has an effect on rows of .jsonl files";
  CHECK_THAT(refusal("{\"text\": \"abc\", \"label\": 1}\n", packed(8)), Contains(no_effect));
  DatasetOptions inference = packed(8);
  inference.use = DataUse::inference;
  CHECK_THAT(refusal(texts, inference), Contains(no_effect));
}

}  // namespace ondine::test
