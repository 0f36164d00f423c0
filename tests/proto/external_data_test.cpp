#include "proto/external_data.h"

#include <catch2/catch.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <string>

#include <ondine/error.h>

#include "proto/import.h"
#include "tests/proto/wire.h"
#include "tests/support/temporary_folder.h"

using namespace ondine;
using test::TemporaryFolder;
using test::Wire;
using Entries = graph::Properties;

namespace {

void write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

std::string text_of(const ExternalData::View& view) {
  return {reinterpret_cast<const char*>(view.bytes.data()), view.bytes.size()};
}

Wire entry(const std::string& key, const std::string& value) {
  return Wire().block(1, key).block(2, value);
}

// A model with one initializer of `count` elements in a file "w.bin".
Wire model_with_file(DType dtype, std::int64_t count, const Entries& entries) {
  Wire tensor;
  tensor.number(1, static_cast<std::uint64_t>(count));
  tensor.number(2, static_cast<std::uint64_t>(dtype)).block(8, "w").number(14, 1);
  for (const auto& [key, value] : entries) tensor.message(13, entry(key, value));
  return Wire().number(1, 10).message(7, Wire().block(2, "g").message(5, tensor));
}

}  // namespace

TEST_CASE("the keys of external data are read") {
  const auto reference =
      parse_reference({{"location", "a/b"}, {"offset", "4096"}, {"length", "16"}});
  CHECK(reference.location == "a/b");
  CHECK(reference.offset == 4096);
  CHECK(reference.length == 16U);
  CHECK_FALSE(parse_reference({{"location", "a"}}).length.has_value());
}

TEST_CASE("unknown keys of external data are listed") {
  const auto reference = parse_reference({{"location", "a"}, {"basepath", "/"}, {"length", "2"}});
  CHECK(reference.unknown == std::vector<std::string>{"basepath"});
  CHECK(reference.length == 2U);
}

TEST_CASE("malformed keys of external data are refused") {
  const auto check = [](const Entries& entries, const std::string& why) {
    CHECK_THROWS_WITH(parse_reference(entries), Catch::Contains(why));
  };
  check({{"offset", "1"}}, "no location");
  check({{"location", "a"}, {"location", "a"}}, "'location' twice");
  for (const auto* number : {"", "-1", "+1", " 1", "1 ", "0x1", "1e3", "18446744073709551616"}) {
    check({{"location", "a"}, {"offset", number}}, "not a decimal number");
    check({{"location", "a"}, {"length", number}}, "not a decimal number");
  }
  check({{"location", "a"}, {"checksum", "abc"}}, "40 digits");
}

TEST_CASE("a view is exactly the bytes that the reference denotes") {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "sub");
  write(folder / "sub/w..bin", "0123456789");
  const Limits limits;
  ExternalData data(folder.path(), limits);
  CHECK(text_of(data.view({"sub/w..bin", 2, 3, ""}, 3)) == "234");
  CHECK(text_of(data.view({"./sub//w..bin", 7, std::nullopt, ""}, 3)) == "789");
  CHECK(text_of(data.view({"sub/w..bin", 0, std::nullopt, ""}, 9)) == "012345678");
  CHECK(text_of(data.view({"sub/w..bin", 10, 0, ""}, 0)).empty());
  const auto check = [&](const ExternalReference& reference, std::uint64_t size) {
    CHECK_THROWS_AS(data.view(reference, size), Error);
  };
  std::filesystem::create_directories(folder / "sub/deep/er");
  write(folder / "sub/deep/er/w.bin", "abc");
  CHECK(text_of(data.view({"sub/deep/er/w.bin", 1, 2, ""}, 2)) == "bc");
  check({"sub/w..bin", 8, 3, ""}, 3);
  check({"sub/w..bin", 11, 0, ""}, 0);
  check({"sub/w..bin", UINT64_MAX, 3, ""}, 3);
  check({"sub/w..bin", 0, 4, ""}, 3);
  check({"sub/w..bin", 2, std::nullopt, ""}, 9);
}

TEST_CASE("a checksum is that of the whole file, in either case of its digits") {
  const TemporaryFolder folder;
  write(folder / "w.bin", "abc");
  const Limits limits;
  ExternalData data(folder.path(), limits);
  const auto with = [](const std::string& sum) {
    return parse_reference({{"location", "w.bin"}, {"offset", "1"}, {"checksum", sum}});
  };
  CHECK(text_of(data.view(with("a9993e364706816aba3e25717850c26c9cd0d89d"), 2)) == "bc");
  CHECK(text_of(data.view(with("A9993E364706816ABA3E25717850C26C9CD0D89D"), 2)) == "bc");
  CHECK_THROWS_WITH(data.view(with("b9993e364706816aba3e25717850c26c9cd0d89d"), 2),
                    Catch::Contains("SHA-1"));
}

TEST_CASE("a checksum is computed for files up to the limit of weights") {
  const TemporaryFolder folder;
  write(folder / "w.bin", "abc");
  const auto reference = parse_reference(
      {{"location", "w.bin"}, {"checksum", "a9993e364706816aba3e25717850c26c9cd0d89d"}});
  Limits limits;
  limits.weight_bytes = 3;
  ExternalData fits(folder.path(), limits);
  CHECK(text_of(fits.view(reference, 3)) == "abc");
  limits.weight_bytes = 2;
  ExternalData large(folder.path(), limits);
  CHECK_THROWS_WITH(large.view(reference, 3),
                    Catch::Contains("'w.bin' has 3 bytes, too many for a checksum"));
}

TEST_CASE("nothing outside the folder and nothing but a plain file is opened") {
  const TemporaryFolder outer;
  std::filesystem::create_directories(outer / "model/inner");
  write(outer / "outside.bin", "secret");
  write(outer / "model/w.bin", "data");
  write(outer / "model/inner/w.bin", "data");
  write(outer / "model/twin.bin", "data");
  const auto folder = outer / "model";
  std::filesystem::create_hard_link(folder / "twin.bin", folder / "twin2.bin");
  std::filesystem::create_symlink("w.bin", folder / "link.bin");
  std::filesystem::create_symlink("../outside.bin", folder / "out.bin");
  std::filesystem::create_directory_symlink("inner", folder / "linked");
  std::filesystem::create_directory_symlink("..", folder / "up");
  REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);

  for (const Resolver resolver : {Resolver::kernel, Resolver::walk}) {
    const auto open = [&](const std::string& name, const Limits& limits = {}) {
      return open_below(folder, name, limits, resolver).is_open();
    };
    CHECK(open("w.bin"));
    CHECK(open("inner/w.bin"));
    CHECK(open("./inner//w.bin"));
    struct Row {
      std::string name, why;
    };
    for (const Row& row : std::vector<Row>{
             {"", "location '' is empty"},
             {"/etc/passwd", "'/etc/passwd' is absolute"},
             {"../outside.bin", "leaves the model's folder"},
             {"inner/../../outside.bin", "leaves the model's folder"},
             {"inner/../w.bin", "leaves the model's folder"},
             {"..", "leaves the model's folder"},
             {".", "location '.' does not name a file"},
             {"inner/", "location 'inner/' does not name a file"},
             {std::string("w.bin\0x", 7), "has a zero byte"},
             {"link.bin", "location 'link.bin' is reached through a symbolic link"},
             {"out.bin", "location 'out.bin' is reached through a symbolic link"},
             {"linked/w.bin", "location 'linked/w.bin' is reached through a symbolic link"},
             {"up/outside.bin", "location 'up/outside.bin' is reached through a symbolic link"},
             {"fifo", "'fifo' is not a regular file"},
             {"inner", "'inner' is not a regular file"},
             {"twin.bin", "'twin.bin' is a file with 2 names (hard links)"},
             {"none", "none': No such file"},
             {"w.bin/x", "w.bin/x': Not a directory"},
             {"none/w.bin", "none/w.bin': No such file"}}) {
      INFO(row.name);
      CHECK_THROWS_WITH(open(row.name), Catch::Contains(row.why));
    }
    Limits generous;
    generous.allow_hard_links = true;
    CHECK(open("twin.bin", generous));
  }
  Limits generous;
  generous.allow_symlinks = true;
  CHECK(open_below(folder, "link.bin", generous).is_open());
  for (const std::string name : {"out.bin", "up/outside.bin"}) {
    CHECK_THROWS_WITH(open_below(folder, name, generous),
                      Catch::Contains("location '" + name + "' leaves the model's folder"));
  }
}

TEST_CASE("the number of files is bounded") {
  const TemporaryFolder folder;
  write(folder / "a", "1");
  write(folder / "b", "2");
  Limits limits;
  limits.external_files = 1;
  ExternalData data(folder.path(), limits);
  CHECK(text_of(data.view({"a", 0, 1, ""}, 1)) == "1");
  CHECK(text_of(data.view({"a", 0, 1, ""}, 1)) == "1");
  CHECK_THROWS_WITH(data.view({"b", 0, 1, ""}, 1), Catch::Contains("more than 1 files"));
}

TEST_CASE("the first 64 files are watched for changes, further ones take no descriptor") {
  const TemporaryFolder folder;
  const Limits limits;
  ExternalData data(folder.path(), limits);
  for (int i = 100; i < 166; ++i) {
    write(folder / std::to_string(i), "1");
    data.view({std::to_string(i), 0, 1, ""}, 1);
    write(folder / std::to_string(i), "12");
  }
  const auto mappings = data.mappings();
  REQUIRE(mappings.size() == 66);
  const std::string why = " was changed while the model used it; load the model again";
  CHECK_THROWS_WITH(mappings[0]->require_unchanged(), Catch::Contains("'100'" + why));
  CHECK_THROWS_WITH(mappings[63]->require_unchanged(), Catch::Contains("'163'" + why));
  CHECK_NOTHROW(mappings[64]->require_unchanged());
  CHECK_NOTHROW(mappings[65]->require_unchanged());
}

TEST_CASE("tensors are read from files, at any offset and in packed form") {
  const TemporaryFolder folder;
  write(folder / "w.bin", std::string("\x01\x00\x00\x80\x3f\x00\x00\x00\xc0\xe4\x02", 11));
  const auto load = [&](DType dtype, std::int64_t count, const std::string& offset,
                        const std::string& length) {
    const Wire wire = model_with_file(
        dtype, count, {{"location", "w.bin"}, {"offset", offset}, {"length", length}});
    write(folder / "m.onnx", wire.text());
    return load_model(folder / "m.onnx").graph.initializers[0].value;
  };
  const Tensor floats = load(DType::float32, 2, "1", "8");
  CHECK(floats.values<float>()[0] == 1.0F);
  CHECK(floats.values<float>()[1] == -2.0F);
  CHECK(load(DType::uint2, 5, "9", "2").item<uint2>(1).bits == 1);
  CHECK(load(DType::boolean, 3, "2", "3").item<bool>(1));
  CHECK_THROWS_WITH(load(DType::string, 1, "0", "1"), Catch::Contains("cannot hold strings"));
}

TEST_CASE("a model from bytes has no files") {
  const Wire wire = model_with_file(DType::uint8, 1, {{"location", "w.bin"}});
  CHECK_THROWS_WITH(load_model(wire.bytes()), Catch::Contains("has no folder"));
}

TEST_CASE("a model file must be a file of bounded size") {
  const TemporaryFolder folder;
  CHECK_THROWS_WITH(load_model(folder / "none"), Catch::Contains("No such file"));
  CHECK_THROWS_WITH(load_model(folder.path()), Catch::Contains("not a regular file"));
  REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
  CHECK_THROWS_WITH(load_model(folder / "fifo"), Catch::Contains("not a regular file"));
  write(folder / "m.onnx", std::string(100, 'x'));
  Limits limits;
  limits.model_bytes = 99;
  CHECK_THROWS_WITH(load_model(folder / "m.onnx", limits), Catch::Contains("more than 99"));
}

TEST_CASE("weights of more than 2 GiB are mapped, not read") {
  const TemporaryFolder folder;
  write(folder / "w.bin", "");
  const std::uint64_t size = (std::uint64_t{5} << 30) / 2;
  std::filesystem::resize_file(folder / "w.bin", size);  // without blocks
  const Wire wire =
      model_with_file(DType::float32, static_cast<std::int64_t>(size / 4), {{"location", "w.bin"}});
  write(folder / "m.onnx", wire.text());
  const auto model = load_model(folder / "m.onnx");
  CHECK(model.graph.initializers[0].value.bytes() == size);
  CHECK(model.graph.initializers[0].value.values<float>().back() == 0.0F);
}
