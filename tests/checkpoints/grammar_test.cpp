// Checkpoints are written as docs/checkpoints.md says, byte for byte.
#include <catch2/catch.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <span>

#include "core/byte_order.h"
#include "tests/checkpoints/grammar_reader.h"
#include "tests/checkpoints/sample.h"
#include "tests/support/paths.h"

using namespace ondine;
using namespace ondine::test;

namespace {

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::byte> bytes_in(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const auto view = bytes_of(text);
  return {view.begin(), view.end()};
}

Checkpoint extreme() {
  Checkpoint checkpoint = sample_checkpoint(4);
  checkpoint.state = variables_of_every_dtype();
  checkpoint.state.push_back({"a name\nwith 3 parts", "", Tensor::scalar(1.0F)});
  checkpoint.model = {"", std::string("\0 x", 3), "\xff", std::numeric_limits<std::int64_t>::min()};
  checkpoint.random_seed = std::numeric_limits<std::uint64_t>::max();
  checkpoint.algorithm_steps = {0, 10, std::numeric_limits<std::uint64_t>::max()};
  checkpoint.properties.push_back({"", std::string(" 7 ")});
  return checkpoint;
}

}  // namespace

TEST_CASE("checkpoints follow the documented grammar byte for byte") {
  for (const Checkpoint& checkpoint : {Checkpoint{}, sample_checkpoint(3), extreme()}) {
    const auto bytes = encoded(checkpoint);
    const GrammarFile file = read_by_grammar(bytes);
    CHECK(write_by_grammar(file) == text_of(bytes));
    CHECK(file.model_version == checkpoint.model.model_version);
    CHECK(file.domain == checkpoint.model.domain);
    CHECK(file.random_seed == checkpoint.random_seed);
    CHECK(file.cursor[2] == checkpoint.cursor.position);
    CHECK(file.properties.size() == checkpoint.properties.size());
    REQUIRE(file.tensors.size() == checkpoint.state.size());
    for (std::size_t i = 0; i < file.tensors.size(); ++i) {
      const Tensor& value = checkpoint.state[i].value;
      INFO(checkpoint.state[i].name);
      CHECK(file.tensors[i].name == checkpoint.state[i].name);
      CHECK(file.tensors[i].dtype == static_cast<std::uint64_t>(value.dtype()));
      CHECK(file.tensors[i].dims ==
            std::vector<std::int64_t>(value.shape().begin(), value.shape().end()));
      if (value.dtype() == DType::string) continue;
      std::string elements(static_cast<const char*>(value.data()), value.bytes());
      if (other_byte_order) {
        swap_numbers(std::as_writable_bytes(std::span(elements)), value.dtype());
      }
      CHECK(file.tensors[i].elements == elements);
    }
  }
}

TEST_CASE("strings are stored as 8 bytes of length and their bytes") {
  Checkpoint checkpoint;
  const std::vector<std::string> words{"ab", "", "c"};
  checkpoint.state = {{"s", "weight", Tensor::of<std::string>({3}, words)}};
  const GrammarFile file = read_by_grammar(encoded(checkpoint));
  CHECK(file.tensors.at(0).elements ==
        std::string("\2\0\0\0\0\0\0\0ab\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0c", 27));
}

TEST_CASE("files written from the grammar alone are read") {
  GrammarFile file;
  file.version = 1;
  file.fingerprint = std::string(32, 'f');
  file.library_version = "by hand";
  file.name = "net";
  file.model_version = -1;
  file.algorithms = {2};
  file.cursor[1] = 5;
  file.properties = {{"rate", 1, 0, 0x3fe0000000000000, ""}};
  const std::string elements("\0\0\x80\x3f\0\0\0\xc0", 8);
  file.tensors = {{"empty", "weight", 1, {0, 3}, 0, 0, ""},
                  {"w", "weight", 1, {2}, 8, crc32c(bytes_of(elements)), elements}};
  const std::string text = write_by_grammar(file);
  const Checkpoint read = decoded(bytes_of(text));
  CHECK(read.library_version == "by hand");
  CHECK(read.model.model_version == -1);
  CHECK(read.cursor.shuffle_seed == 5);
  CHECK(std::get<double>(read.properties.at(0).second) == 0.5);
  CHECK(read.state.at(0).value.shape() == Shape{0, 3});
  CHECK(read.state.at(1).value.values<float>()[1] == -2.0F);
}

TEST_CASE("the golden checkpoints follow the grammar") {
  std::size_t count = 0;
  const std::filesystem::path folder = test::source_folder() / "tests/fuzz/corpus/checkpoint";
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    INFO(entry.path());
    const auto bytes = bytes_in(entry.path());
    CHECK(write_by_grammar(read_by_grammar(bytes)) == text_of(bytes));
    ++count;
  }
  CHECK(count >= 3);
}
