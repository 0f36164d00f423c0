#include "tests/checkpoints/sample.h"

#include <catch2/catch.hpp>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>

namespace ondine::test {
namespace {

// Bytes that every dtype takes: those of the types under a byte go through all of their patterns.
std::byte pattern(DType dtype, std::size_t i) {
  const auto n = static_cast<int>(i * 37 + 11);
  switch (dtype) {
    case DType::boolean:
      return static_cast<std::byte>(n % 2);
    case DType::uint4:
    case DType::float4e2m1:
      return static_cast<std::byte>(n % 16);
    case DType::uint2:
      return static_cast<std::byte>(n % 4);
    case DType::int4:
      return static_cast<std::byte>(n % 16 - 8);
    case DType::int2:
      return static_cast<std::byte>(n % 4 - 2);
    default:
      return static_cast<std::byte>(n);
  }
}

}  // namespace

std::vector<CheckpointVariable> variables_of_every_dtype() {
  std::vector<CheckpointVariable> variables;
  for (int d = 1; d < dtype_count; ++d) {
    const auto dtype = static_cast<DType>(d);
    Tensor value(dtype, {3, 7});
    if (dtype == DType::string) {
      auto texts = value.mutable_values<std::string>();
      texts[0] = std::string("zero\0inside", 11);
      texts[20] = std::string(300, 'x');
    } else {
      auto* bytes = static_cast<std::byte*>(value.mutable_data());
      for (std::size_t i = 0; i < value.bytes(); ++i) bytes[i] = pattern(dtype, i);
    }
    variables.push_back({std::string(to_string(dtype)), "weight", value});
  }
  variables.push_back({"scalar", "counter", Tensor::scalar<std::int64_t>(-1)});
  variables.push_back({"nothing", "weight", Tensor(DType::float32, {2, 0, 3})});
  variables.push_back({"no strings", "weight", Tensor(DType::string, {0})});
  variables.push_back({"", "", Tensor::scalar(std::numeric_limits<double>::quiet_NaN())});
  return variables;
}

Checkpoint sample_checkpoint(std::uint64_t step, std::int64_t elements) {
  Checkpoint result;
  for (std::size_t i = 0; i < 32; ++i) result.fingerprint[i] = static_cast<std::uint8_t>(i * 9);
  result.library_version = "0.1.0";
  result.model = {"exporter", "mnist 'two\nlines'", "org.example", -3};
  Tensor weight(DType::float32, {elements});
  for (float& x : weight.mutable_values<float>()) x = static_cast<float>(step) + 0.5F;
  result.state.push_back({"fc.weight", "weight", weight});
  result.state.push_back({"T", "counter", Tensor::scalar(static_cast<std::int64_t>(step))});
  result.state.push_back({"flag", "constant", Tensor::of<bool>({2}, std::array{true, false})});
  result.state.push_back(
      {"labels", "constant", Tensor::of<std::string>({2}, {"cat", std::to_string(step)})});
  result.random_seed = ~std::uint64_t{0};
  result.random_step = step;
  result.step = step;
  result.epoch = step / 10;
  result.algorithm_steps = {step, 0};
  result.cursor = {step / 10, 42, step % 10};
  result.properties = {{"note", std::string("a b  c\n")},
                       {"loss", 0.1 * static_cast<double>(step)},
                       {"best", std::numeric_limits<std::int64_t>::min()},
                       {"nothing", -std::numeric_limits<double>::infinity()}};
  return result;
}

bool identical(const Checkpoint& a, const Checkpoint& b) {
  const auto same_bits = [](const Property& x, const Property& y) {
    const auto* p = std::get_if<double>(&x);
    const auto* q = std::get_if<double>(&y);
    if (p == nullptr || q == nullptr) return x == y;
    return std::bit_cast<std::uint64_t>(*p) == std::bit_cast<std::uint64_t>(*q);
  };
  return a.format_version == b.format_version && a.fingerprint == b.fingerprint &&
         a.library_version == b.library_version && a.model == b.model &&
         a.random_seed == b.random_seed && a.random_step == b.random_step && a.step == b.step &&
         a.epoch == b.epoch && a.algorithm_steps == b.algorithm_steps &&
         a.cursor.epoch == b.cursor.epoch && a.cursor.shuffle_seed == b.cursor.shuffle_seed &&
         a.cursor.position == b.cursor.position &&
         std::ranges::equal(a.properties, b.properties,
                            [&](const auto& x, const auto& y) {
                              return x.first == y.first && same_bits(x.second, y.second);
                            }) &&
         std::ranges::equal(a.state, b.state, [](const auto& x, const auto& y) {
           return x.name == y.name && x.role == y.role && x.value.identical(y.value);
         });
}

std::vector<std::byte> encoded(const Checkpoint& checkpoint) {
  MemorySink sink;
  encode_checkpoint(checkpoint, sink);
  return sink.bytes();
}

Checkpoint decoded(std::span<const std::byte> bytes) {
  MemorySource source(bytes);
  return decode_checkpoint(source);
}

std::string refusal(std::span<const std::byte> bytes, ErrorCode code) {
  try {
    decoded(bytes);
    return "";
  } catch (const Error& error) {
    if (error.code() != code) FAIL(to_string(error.code()) << ": " << error.what());
    return error.what();
  }
}

TemporaryFolder::TemporaryFolder() {
  path_ = (std::filesystem::temp_directory_path() / "ondine-test-XXXXXX").string();
  if (::mkdtemp(path_.data()) == nullptr) FAIL("no temporary folder at " << path_);
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<std::string> TemporaryFolder::names() const {
  std::vector<std::string> result;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    result.push_back(entry.path().filename().string());
  }
  std::ranges::sort(result);
  return result;
}

}  // namespace ondine::test
