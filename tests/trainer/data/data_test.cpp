#include <unistd.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <fstream>

#include <ondine/data.h>

using namespace ondine;
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

PortInfo port(const std::string& name, DType dtype, std::vector<std::int64_t> dims) {
  PortInfo result;
  result.name = name;
  result.dtype = dtype;
  result.dims = std::move(dims);
  return result;
}

}  // namespace

TEST_CASE("an .npy file gives back what was saved") {
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

TEST_CASE("file names say where an array belongs") {
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
  CHECK(feeds[0].second.tensor().values<float>()[0] == 0.8F);
  CHECK(feeds[0].second.tensor().values<float>()[5] == 0.2F);
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
  CHECK(sequence.elements()[0].tensor().values<std::int64_t>()[0] == 3);
  CHECK_THROWS_WITH(load_value(folder.write("bad.pb", "\xff\xff"), ""), Catch::Contains("bad.pb"));
}
