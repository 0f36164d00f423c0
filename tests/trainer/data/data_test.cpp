#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>
#include <iterator>

#include <ondine/data.h>

#include "tests/support/crc32.h"
#include "tests/support/port.h"

using namespace ondine;
using ondine::test::crc32;
using ondine::test::port;
namespace fs = std::filesystem;

namespace {

struct Folder {
  Folder() : path(fs::temp_directory_path() / ("ondine_data_" + std::to_string(getpid()))) {
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
  fs::path write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path / name, std::ios::binary) << bytes;
    return path / name;
  }
  fs::path path;
};

std::string idx(const std::string& extents, const std::string& elements) {
  return std::string("\0\0\x08", 3) + static_cast<char>(extents.size()) + [&] {
    std::string text;
    for (const char extent : extents) text += std::string(3, '\0') + extent;
    return text;
  }() + elements;
}

}  // namespace

TEST_CASE("an .npy file returns the saved array") {
  Folder folder;
  const auto tensor = Tensor::of<double>({2, 3}, {1, 2, 3, 4, 5, 6.5});
  save_array(folder.path / "a.npy", tensor);
  CHECK(load_array(folder.path / "a.npy").identical(tensor));
  const Tensor scalar = Tensor::scalar(std::int64_t{-7});
  save_array(folder.path / "s.npy", scalar);
  CHECK(load_array(folder.path / "s.npy").identical(scalar));
  const Tensor mask(DType::boolean, {3});
  save_array(folder.path / "m.npy", mask);
  CHECK(load_array(folder.path / "m.npy").identical(mask));
  CHECK_THROWS_AS(save_array(folder.path / "b.npy", Tensor(DType::bfloat16, {1})), Error);
  CHECK_FALSE(fs::exists(folder.path / "b.npy"));
}

TEST_CASE("column-major and big-endian .npy arrays are read in order") {
  Folder folder;
  std::string header = "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }";
  header.append(117 - header.size(), ' ');
  header += '\n';
  std::string bytes = std::string("\x93NUMPY\x01\x00", 8) + "v" + std::string(1, 0) + header;
  for (const char* value : {"\1", "\4", "\2", "\5", "\3", "\6"}) bytes += std::string(1, 0) + value;
  const Tensor array = load_array(folder.write("f.npy", bytes));
  CHECK(array.identical(Tensor::of<std::int16_t>({2, 3}, {1, 2, 3, 4, 5, 6})));
}

TEST_CASE("arrays of every element type of .npy come back, with any number of dims") {
  Folder folder;
  const auto check = [&](const Tensor& tensor) {
    INFO(to_string(tensor.dtype()));
    save_array(folder.path / "t.npy", tensor);
    CHECK(load_array(folder.path / "t.npy").identical(tensor));
    // Elements begin at a multiple of 64 and nothing follows them.
    const auto size = fs::file_size(folder.path / "t.npy");
    CHECK((size - tensor.bytes()) % 64 == 0);
  };
  for (const DType dtype :
       {DType::float32, DType::float64, DType::float16, DType::uint8, DType::uint16, DType::uint32,
        DType::uint64, DType::int8, DType::int16, DType::int32, DType::int64, DType::boolean,
        DType::complex64, DType::complex128}) {
    Tensor tensor(dtype, {3, 2});
    auto* bytes = static_cast<unsigned char*>(tensor.mutable_data());
    for (std::size_t i = 0; i < tensor.bytes(); ++i) bytes[i] = static_cast<unsigned char>(i % 2);
    check(tensor);
  }
  for (std::size_t rank = 0; rank < 12; ++rank) {
    check(Tensor(DType::int16, Shape::filled(rank, 1)));
    check(Tensor(DType::int16, Shape::filled(rank + 1, 0)));
  }
}

TEST_CASE("column-major arrays of any rank are turned to row-major order") {
  Folder folder;
  const auto file_of = [&](const std::string& shape, std::size_t count) {
    std::string header = "{'descr': '|u1', 'fortran_order': True, 'shape': " + shape + ", }\n";
    std::string bytes = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size());
    bytes += std::string(1, 0) + header;
    for (std::size_t i = 0; i < count; ++i) bytes += static_cast<char>(i);
    return folder.write("c.npy", bytes);
  };
  const Tensor array = load_array(file_of("(2, 3, 4)", 24));
  REQUIRE(array.shape() == Shape{2, 3, 4});
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      for (std::size_t k = 0; k < 4; ++k) {
        CHECK(array.values<std::uint8_t>()[(i * 3 + j) * 4 + k] == i + 2 * j + 6 * k);
      }
    }
  }
  CHECK(load_array(file_of("(5,)", 5)).item<std::uint8_t>(3) == 3);
  CHECK(load_array(file_of("()", 1)).shape() == Shape{});
  CHECK(load_array(file_of("(3, 0)", 0)).shape() == Shape{3, 0});
}

TEST_CASE("IDX files hold big-endian elements of six types") {
  Folder folder;
  const auto read = [&](char type, const std::string& elements) {
    const std::string bytes = std::string(2, '\0') + type + std::string("\1\0\0\0\2", 5) + elements;
    return load_array(folder.write("a.idx", bytes));
  };
  CHECK(read(0x08, "\xff\x01").identical(Tensor::of<std::uint8_t>({2}, {255, 1})));
  CHECK(read(0x09, "\xff\x01").identical(Tensor::of<std::int8_t>({2}, {-1, 1})));
  CHECK(read(0x0b, std::string("\xff\xfe\x01\x00", 4))
            .identical(Tensor::of<std::int16_t>({2}, {-2, 256})));
  CHECK(read(0x0c, std::string("\xff\xff\xff\xfd\0\1\0\0", 8))
            .identical(Tensor::of<std::int32_t>({2}, {-3, 65536})));
  CHECK(read(0x0d, std::string("\x3f\x80\0\0\xc0\0\0\0", 8))
            .identical(Tensor::of<float>({2}, {1, -2})));
  CHECK(read(0x0e, std::string("\x3f\xf0\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0", 16))
            .identical(Tensor::of<double>({2}, {1, -2})));
  CHECK_THROWS_WITH(read(0x0a, "ab"), Catch::Contains("unknown IDX element type 10"));
  CHECK_THROWS_WITH(read(0x08, "abc"), Catch::StartsWith("1 bytes after the array"));
  CHECK_THROWS_WITH(load_array(folder.write("b.idx", "abcdef")),
                    Catch::StartsWith("the file is a text"));
  CHECK_THROWS_WITH(load_array(folder.write("b.idx", "abcde")),
                    Catch::Contains("too short for an array"));
}

TEST_CASE("headers of .npy are refused for what is wrong in them") {
  Folder folder;
  const auto refuse = [&](const std::string& header, const std::string& message, char version = 1) {
    std::string bytes = std::string("\x93NUMPY", 6) + version + std::string(1, 0);
    bytes += static_cast<char>(header.size());
    bytes += std::string(version == 1 ? 1 : 3, 0) + header;
    INFO(header);
    CHECK_THROWS_WITH(load_array(folder.write("h.npy", bytes)), Catch::Contains(message));
  };
  const std::string rest = "'fortran_order': False, 'shape': (1,), }";
  refuse("{'descr': '<f3', " + rest, ".npy element type '<f3'");
  refuse("{'descr': [('a', '<i4')], " + rest, "structured .npy arrays");
  refuse("{" + rest, "the .npy header has no 'descr'");
  refuse("{'descr': '<i4', 'fortran_order': False}", "the .npy header has no 'shape'");
  refuse("{'descr': '<i4', 'shape': (1,)}1234", "the .npy header has no 'fortran_order'");
  refuse("{'descr': '<i4', 'fortran_order': False, 'shape': [1]}", "bad shape in .npy header");
  refuse("{'descr': '<i4', 'fortran_order': False, 'shape': (1", "bad shape in .npy header");
  refuse("{'descr': '<i4', 'fortran_order': False, 'shape': (x)}", "bad shape in .npy header");
  refuse("{'descr': '<i4', " + rest, "an array [1] of int32 takes 4 bytes, the file has 0", 3);
  refuse("{}", ".npy version 0", 0);
  refuse("{}", ".npy version 4", 4);
  CHECK_THROWS_WITH(load_array(folder.write("h.npy", std::string("\x93NUMPY\1\0\x10\0{}", 12))),
                    Catch::Contains("cut off .npy header"));
}

TEST_CASE("the long integers that Python 2 wrote in shapes are read") {
  Folder folder;
  const auto file_of = [&](const std::string& shape) {
    const std::string header =
        "{'descr': '|u1', 'fortran_order': False, 'shape': " + shape + ", }\n";
    return folder.write("old.npy", std::string("\x93NUMPY\x01\x00", 8) +
                                       static_cast<char>(header.size()) + std::string(1, 0) +
                                       header + "abcdef");
  };
  CHECK(load_array(file_of("(2L, 3L)")).shape() == Shape{2, 3});
  CHECK(load_array(file_of("(6L,)")).shape() == Shape{6});
  CHECK_THROWS_WITH(load_array(file_of("(2LL, 3)")), Catch::Contains("bad shape in .npy header"));
}

TEST_CASE("arrays of more dims than the limit are refused by their header") {
  Folder folder;
  CHECK_THROWS_WITH(load_array(folder.write("deep.idx", idx(std::string(33, '\1'), "a"))),
                    Catch::Contains("an array of 33 dims"));
  std::string shape;
  for (int i = 0; i < 33; ++i) shape += "1,";
  const std::string header =
      "{'descr': '|u1', 'fortran_order': False, 'shape': (" + shape + "), }\n";
  CHECK_THROWS_WITH(load_array(folder.write("deep.npy", std::string("\x93NUMPY\x01\x00", 8) +
                                                            static_cast<char>(header.size()) +
                                                            std::string(1, 0) + header + "a")),
                    Catch::Contains("an array of more than 32 dims"));
}

TEST_CASE("damaged arrays are refused with the file's name") {
  Folder folder;
  const std::string good = idx("\x02\x03", "abcdef");
  CHECK(load_array(folder.write("good-idx2-ubyte", good)).shape() == Shape{2, 3});
  for (std::size_t length = 0; length < good.size(); ++length) {
    const fs::path file = folder.write("cut-idx2-ubyte", good.substr(0, length));
    CHECK_THROWS_WITH(load_array(file), Catch::Contains("cut-idx2-ubyte"));
  }
  CHECK_THROWS_AS(load_array(folder.write("long-idx2-ubyte", good + "x")), Error);
  CHECK_THROWS_AS(load_array(folder.write("huge-idx2-ubyte", idx(std::string(8, '\x7f'), ""))),
                  Error);
  CHECK_THROWS_WITH(load_array(folder.path / "missing"), Catch::Contains("missing"));
  CHECK_THROWS_AS(load_array(folder.write("not.npz", "PK not a zip")), Error);
  CHECK_THROWS_AS(load_arrays(folder.path / "not.npz"), Error);
}

TEST_CASE("headers of .npy that break a rule are refused") {
  Folder folder;
  const auto refuse = [&](const std::string& header) {
    std::string bytes = std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(header.size());
    INFO(header);
    CHECK_THROWS_AS(load_array(folder.write("h.npy", bytes + std::string(1, 0) + header)), Error);
  };
  const std::string rest = "'fortran_order': False, 'shape': (1,), }";
  for (const char* code : {"''", "'<'", "'>>i4'", "'O'", "'<f3'", "'", "[('a', '<i4')]", "'|S4'"}) {
    refuse(std::string("{'descr': ") + code + ", " + rest + "12345678");
  }
  for (const char* shape : {"", "(", "(1", "(-1,)", "(x,)", "(99999999999999999999,)", "[1]",
                            "(4611686018427387904, 4)", "(0, 1099511627776, 1099511627776)"}) {
    refuse(std::string("{'descr': '<i4', 'fortran_order': False, 'shape': ") + shape);
  }
  refuse("{'descr': '<i4', 'shape': (1,), }1234");
  refuse("");
}

TEST_CASE("randomly changed arrays are read or refused, nothing else") {
  Folder folder;
  save_array(folder.path / "a.npy", Tensor::of<float>({2, 2}, {1, 2, 3, 4}));
  const auto read = [](const fs::path& file) {
    std::ifstream stream(file, std::ios::binary);
    return std::string{std::istreambuf_iterator<char>(stream), {}};
  };
  const std::string npy = read(folder.path / "a.npy");
  // A stored member, its directory entry and the end record.
  const auto number = [](std::size_t value, std::size_t bytes) {
    std::string text;
    for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(value >> 8 * i & 255);
    return text;
  };
  const std::string sizes = number(crc32(npy), 4) + number(npy.size(), 4) + number(npy.size(), 4);
  const std::string local = "PK\3\4" + number(20, 2) + std::string(8, '\0') + sizes + number(5, 2) +
                            number(0, 2) + "a.npy";
  const std::string entry = "PK\1\2" + number(20, 2) + number(20, 2) + std::string(8, '\0') +
                            sizes + number(5, 2) + std::string(16, '\0') + "a.npy";
  const std::string npz = local + npy + entry + "PK\5\6" + std::string(4, '\0') + number(1, 2) +
                          number(1, 2) + number(entry.size(), 4) +
                          number(local.size() + npy.size(), 4) + number(0, 2);
  REQUIRE(load_arrays(folder.write("good.npz", npz)).at(0).first == "a");
  std::uint32_t state = 1;
  const auto below = [&](std::size_t n) {
    state = state * 1664525U + 1013904223U;
    return (state >> 8) % n;
  };
  int refused = 0;
  const std::vector<std::pair<std::string, std::string>> files{
      {"r.npy", npy}, {"r.npz", npz}, {"r-idx2-ubyte", idx("\x02\x03", "abcdef")}};
  for (const auto& [name, good] : files) {
    for (int round = 0; round < 1500; ++round) {
      std::string bytes = good;
      for (std::size_t n = 1 + below(3); n > 0 && !bytes.empty(); --n) {
        const std::size_t at = below(bytes.size());
        if (below(2) == 0) bytes[at] = static_cast<char>(below(256));
        if (below(4) == 0) bytes.erase(at, below(9));
        if (below(4) == 0) bytes.insert(at, 1, "0123456789(),' <>"[below(17)]);
      }
      try {
        load_arrays(folder.write(name, bytes));
      } catch (const Error& error) {
        ++refused;
        if (error.code() == ErrorCode::internal) FAIL(error.what());
      }
    }
  }
  CHECK(refused > 1000);
}

TEST_CASE("file names determine the input of an array") {
  Folder folder;
  folder.write("train-images-idx3-ubyte", idx("\x02\x02\x02", "abcdefgh"));
  folder.write("train-labels-idx1-ubyte", idx("\x02", "ab"));
  folder.write("t10k-images-idx3-ubyte", idx("\x01\x02\x02", "abcd"));
  folder.write("t10k-labels-idx1-ubyte", idx("\x01", "a"));
  save_array(folder.path / "weights_test.npy", Tensor::of<float>({1}, {2.0F}));
  const DataSplits splits = load_splits(std::vector{folder.path});
  const auto names = [](const NamedValues& values) {
    std::vector<std::string> result;
    for (const auto& one : values) result.push_back(one.first);
    return result;
  };
  CHECK(names(splits.train) == std::vector<std::string>{"images", "labels"});
  CHECK(names(splits.validation) == std::vector<std::string>{"images", "labels", "weights"});
}

TEST_CASE("a shuffle is a permutation that seed and epoch decide") {
  const auto order = shuffled(100, 1, 2);
  auto sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (std::uint64_t i = 0; i < 100; ++i) CHECK(sorted[i] == i);
  CHECK(order == shuffled(100, 1, 2));
  CHECK(order != shuffled(100, 1, 3));
  CHECK(order != shuffled(100, 2, 2));
  CHECK(shuffled(0, 1, 1).empty());
}

TEST_CASE("arrays find their inputs, by name, by map or by shape") {
  NamedValues arrays;
  arrays.emplace_back("images",
                      Tensor::of<std::uint8_t>({2, 2, 2}, {0, 51, 102, 153, 204, 255, 0, 0}));
  arrays.emplace_back("labels", Tensor::of<std::uint8_t>({2}, {3, 9}));
  const std::vector<PortInfo> inputs{port("x", DType::float32, {-1, 1, 2, 2}),
                                     port("y", DType::int64, {-1})};
  Feeder feeder(inputs, arrays);
  CHECK(feeder.size() == 2);
  CHECK_FALSE(feeder.fixed_batch());
  const std::vector<std::uint64_t> rows{1, 0};
  const auto feeds = feeder.take(rows);
  REQUIRE(feeds.size() == 2);
  CHECK(feeds[0].second.tensor().shape() == Shape{2, 1, 2, 2});
  CHECK(feeds[0].second.tensor().item<float>() == 0.8F);
  CHECK(feeds[0].second.tensor().item<float>(5) == 0.2F);
  CHECK(feeds[1].second.tensor().identical(Tensor::of<std::int64_t>({2}, {9, 3})));

  CHECK_THROWS_WITH(Feeder(inputs, arrays, {{"x", "pictures"}}), Catch::Contains("'pictures'"));
  CHECK_THROWS_WITH(Feeder(inputs, arrays, {{"z", "images"}}), Catch::Contains("'z'"));
  CHECK_THROWS_WITH(Feeder(inputs, arrays, {{"x", "labels"}}), Catch::Contains("'x'"));
  const std::vector<std::uint64_t> beyond{2};
  CHECK_THROWS_AS(feeder.take(beyond), Error);
}

TEST_CASE("numbers with a fraction never become integers") {
  NamedValues arrays;
  arrays.emplace_back("y", Tensor::of<float>({2}, {0.5F, 1}));
  const std::vector<PortInfo> inputs{port("y", DType::int64, {-1})};
  CHECK_THROWS_AS(Feeder(inputs, arrays), Error);
}

TEST_CASE("a stored value comes back with its name and type") {
  Folder folder;
  const fs::path file = folder.path / "v.pb";
  save_value(file, {"weights", Tensor::of<float>({2}, {1, 2})});
  const NamedValue tensor = load_value(file, "");
  CHECK(tensor.first == "weights");
  CHECK(tensor.second.tensor().identical(Tensor::of<float>({2}, {1, 2})));
  save_value(file, {"s", Value::sequence({Tensor::scalar(std::int64_t{3})})});
  const Value sequence = load_value(file, "seq(tensor(int64)[])").second;
  REQUIRE(sequence.elements().size() == 1);
  CHECK(sequence.elements()[0].tensor().item<std::int64_t>() == 3);
  CHECK_THROWS_WITH(load_value(folder.write("bad.pb", "\xff\xff"), ""), Catch::Contains("bad.pb"));
}
