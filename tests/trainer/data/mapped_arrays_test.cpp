// Arrays that stay in their files.
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>
#include <string>

#include <ondine/data.h>

#include "tests/support/crc32.h"
#include "tests/support/resident_bytes.h"
#include "tests/support/temporary_folder.h"

using namespace ondine;
using namespace ondine::test;
namespace fs = std::filesystem;

namespace {

std::string read(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

std::string number(std::uint64_t value, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i & 255U);
  return text;
}

// A .npy of zeros, which takes no space on disk.
void write_zeros(const fs::path& file, std::uint64_t count) {
  std::string header =
      "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(count / 4) + ", 4), }";
  header.append(117 - header.size(), ' ');
  header += '\n';
  std::ofstream(file, std::ios::binary)
      << std::string("\x93NUMPY\x01\x00", 8) << number(header.size(), 2) << header;
  fs::resize_file(file, 10 + header.size() + 4 * count);
}

// An archive with one stored member that begins after `padding` bytes more than it must.
std::string stored_npz(const std::string& name, const std::string& member, std::size_t padding) {
  const std::string sizes =
      number(crc32(member), 4) + number(member.size(), 4) + number(member.size(), 4);
  const std::string local = "PK\3\4" + number(20, 2) + number(0, 2) + number(0, 2) + number(0, 4) +
                            sizes + number(name.size(), 2) + number(padding, 2) + name +
                            std::string(padding, '\0') + member;
  const std::string entry = "PK\1\2" + number(20, 2) + number(20, 2) + number(0, 2) + number(0, 2) +
                            number(0, 4) + sizes + number(name.size(), 2) + std::string(12, '\0') +
                            number(0, 4) + name;
  return local + entry + "PK\5\6" + number(0, 4) + number(1, 2) + number(1, 2) +
         number(entry.size(), 4) + number(local.size(), 4) + number(0, 2);
}

}  // namespace

TEST_CASE("a large array takes memory only where it is read") {
  const TemporaryFolder folder;
  const fs::path file = folder / "x.npy";
  write_zeros(file, 64 << 20);  // 256 MB
  const std::size_t before = resident_bytes();
  const Dataset data = Dataset::open(file);
  CHECK(data.rows() == 16 << 20);
  PortInfo input;
  input.name = "x";
  input.dtype = DType::float32;
  input.dims = {-1, 4};
  Feeder feeder(std::vector{input}, data);
  const std::vector<std::uint64_t> rows{0, 12'345'678, (16 << 20) - 1};
  CHECK(feeder.take(rows)[0].second.tensor().item<float>(11) == 0);
  CHECK(resident_bytes() < before + (std::size_t{20} << 20));
}

TEST_CASE("what is written to a mapped array does not reach its file") {
  const TemporaryFolder folder;
  const fs::path file = folder / "x.npy";
  save_array(file, Tensor::of<float>({4}, {1, 2, 3, 4}));
  const std::string bytes = read(file);
  Tensor array = load_array(file);
  array.mutable_values<float>()[2] = 9;
  CHECK(array.identical(Tensor::of<float>({4}, {1, 2, 9, 4})));
  CHECK(read(file) == bytes);
  CHECK(load_array(file).identical(Tensor::of<float>({4}, {1, 2, 3, 4})));
  fs::remove(file);
  CHECK(array.item<float>(3) == 4);
}

TEST_CASE("a stored member of an .npz is read at any place in the archive") {
  const TemporaryFolder folder;
  const Tensor array = Tensor::of<double>({3}, {1.5, -2, 1e300});
  save_array(folder / "a.npy", array);
  const std::string member = read(folder / "a.npy");
  // The elements are aligned with one padding of eight.
  for (std::size_t padding = 0; padding < 9; ++padding) {
    INFO("padding " << padding);
    const fs::path file = folder / ("m" + std::to_string(padding) + ".npz");
    std::ofstream(file, std::ios::binary) << stored_npz("a.npy", member, padding);
    const NamedValues arrays = load_arrays(file);
    REQUIRE(arrays.size() == 1);
    CHECK(arrays[0].first == "a");
    const Tensor& found = arrays[0].second.tensor();
    CHECK(found.identical(array));
    CHECK(reinterpret_cast<std::uintptr_t>(found.data()) % alignof(double) == 0);
  }
}
