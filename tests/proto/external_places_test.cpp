// External data is held to the same rules wherever a tensor may be.
#include <catch2/catch.hpp>

#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <ondine/error.h>

#include "proto/import.h"
#include "tests/proto/wire.h"
#include "tests/support/temporary_folder.h"

using namespace ondine;
using test::TemporaryFolder;
using test::Wire;

namespace {

using Entries = std::vector<std::pair<std::string, std::string>>;

// Two float32, or one int64, in a file: 8 bytes.
Wire external(const Entries& entries, bool integer = false) {
  Wire tensor;
  tensor.number(1, integer ? 1 : 2).number(2, integer ? 7 : 1);
  tensor.block(8, "culprit").number(14, 1);
  for (const auto& [key, value] : entries) {
    tensor.message(13, Wire().block(1, key).block(2, value));
  }
  return tensor;
}

Wire inside(std::uint32_t field, const Wire& content) { return Wire().message(field, content); }

Wire attribute(std::uint64_t type, std::uint32_t field, const Wire& content) {
  return Wire().block(1, "value").message(field, content).number(20, type);
}

Wire node_with(const Wire& attribute) {
  return Wire().block(2, "y").block(4, "Constant").message(5, attribute);
}

// Field 7: the main graph, 20: training information, 25: a function.
Wire model(std::uint32_t field, Wire content) {
  Wire wire = Wire().number(1, 10);
  if (field == 7) return wire.message(7, content.block(2, "g"));
  return wire.message(7, Wire().block(2, "g")).message(field, content);
}

struct Place {
  std::string name;
  std::function<Wire(const Entries&)> with;
};

// A sparse tensor whose values or indices are in the file.
Wire sparse(const Entries& entries, bool indices) {
  Wire here;
  here.number(1, indices ? 1 : 2).number(2, indices ? 1 : 7).block(8, "culprit");
  here.block(
      9, std::string(indices ? 4 : 8, '\0') + (indices ? "" : std::string("\1\0\0\0\0\0\0\0", 8)));
  const Wire there = external(entries, indices);
  return Wire().message(1, indices ? here : there).message(2, indices ? there : here).number(3, 4);
}

std::vector<Place> places() {
  const auto body = [](const Wire& graph) { return node_with(attribute(5, 6, graph)); };
  return {
      {"initializer", [](const Entries& e) { return model(7, inside(5, external(e))); }},
      {"values of a sparse initializer",
       [](const Entries& e) { return model(7, inside(15, sparse(e, false))); }},
      {"indices of a sparse initializer",
       [](const Entries& e) { return model(7, inside(15, sparse(e, true))); }},
      {"attribute",
       [](const Entries& e) {
         return model(7, inside(1, node_with(attribute(4, 5, external(e)))));
       }},
      {"attribute of tensors",
       [](const Entries& e) {
         return model(7, inside(1, node_with(attribute(9, 10, external(e)))));
       }},
      {"sparse attribute",
       [](const Entries& e) {
         return model(7, inside(1, node_with(attribute(11, 22, sparse(e, false)))));
       }},
      {"attribute of sparse tensors",
       [](const Entries& e) {
         return model(7, inside(1, node_with(attribute(12, 23, sparse(e, true)))));
       }},
      {"initializer of a body",
       [=](const Entries& e) { return model(7, inside(1, body(inside(5, external(e))))); }},
      {"body in a body",
       [=](const Entries& e) {
         return model(7, inside(1, body(inside(1, body(inside(15, sparse(e, false)))))));
       }},
      {"one of several subgraphs",
       [](const Entries& e) {
         return model(7, inside(1, node_with(attribute(10, 11, inside(5, external(e))))));
       }},
      {"node of a function",
       [](const Entries& e) {
         return model(25, inside(7, node_with(attribute(4, 5, external(e)))).block(1, "f"));
       }},
      {"body in a function",
       [=](const Entries& e) {
         return model(25, inside(7, body(inside(5, external(e)))).block(1, "f"));
       }},
      {"default of a function's attribute",
       [](const Entries& e) {
         return model(25, inside(11, attribute(4, 5, external(e))).block(1, "f"));
       }},
      {"initialization graph",
       [](const Entries& e) { return model(20, inside(1, inside(5, external(e)))); }},
      {"algorithm graph",
       [](const Entries& e) { return model(20, inside(2, inside(5, external(e)))); }},
      {"node of an algorithm graph",
       [](const Entries& e) {
         return model(20, inside(2, inside(1, node_with(attribute(4, 5, external(e))))));
       }},
      {"body in an initialization graph",
       [=](const Entries& e) {
         return model(20, inside(1, inside(1, body(inside(15, sparse(e, false))))));
       }},
  };
}

struct Flaw {
  Entries entries;
  std::string rule;  // a part of the message
};

std::vector<Flaw> flaws() {
  const std::string length = "length";
  const std::string offset = "offset";
  const auto at = [](const std::string& location) { return Entries{{"location", location}}; };
  const auto with = [](const std::string& key, const std::string& value) {
    return Entries{{"location", "w.bin"}, {key, value}};
  };
  return {
      {{}, "no location"},
      {{{offset, "0"}}, "no location"},
      {{{"location", "w.bin"}, {"location", "w.bin"}}, "'location' twice"},
      {{{"location", "w.bin"}, {offset, "0"}, {offset, "0"}}, "'offset' twice"},
      {{{"location", "w.bin"}, {"basepath", "/"}}, "unknown key 'basepath'"},
      {{{"location", "w.bin"}, {"Offset", "0"}}, "unknown key 'Offset'"},
      {with(offset, "-8"), "not a decimal number"},
      {with(offset, "0x0"), "not a decimal number"},
      {with(offset, "00000000000000000000018446744073709551616"), "not a decimal number"},
      {with(length, "-1"), "not a decimal number"},
      {with(length, "1e1"), "not a decimal number"},
      {with(length, std::string("8\0", 2)), "not a decimal number"},
      {with(length, "8.0"), "not a decimal number"},
      {with(length, "7"), "length 7"},
      {with(offset, "9"), "bytes"},
      {with(offset, "18446744073709551615"), "bytes"},
      {with(offset, "9223372036854775807"), "bytes"},
      {with("checksum", std::string(40, '0')), "SHA-1"},
      {with("checksum", "sha1"), "40 digits"},
      {at(""), "is empty"},
      {at("/etc/hostname"), "absolute"},
      {at("../secret.bin"), "leaves"},
      {at("sub/../w.bin"), "leaves"},
      {at("sub/../../secret.bin"), "leaves"},
      {at("sub/.."), "leaves"},
      {at("sub/"), "does not name a file"},
      {at("./"), "does not name a file"},
      {at("w.bin/"), "does not name a file"},
      {at(std::string("w.bin\0.txt", 10)), "zero byte"},
      {at("sub"), "not a regular file"},
      {at("fifo"), "not a regular file"},
      {at("none.bin"), "No such file"},
      {at("link.bin"), "symbolic link"},
      {at("out.bin"), "symbolic link"},
      {at("linked/w.bin"), "symbolic link"},
      {at("up/secret.bin"), "symbolic link"},
      {at("twin.bin"), "2 names"},
      {at("short.bin"), "bytes"},
  };
}

void write(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file, std::ios::binary) << text;
}

// The files that the flaws are about.
void fill(const std::filesystem::path& outer) {
  const auto folder = outer / "model";
  std::filesystem::create_directories(folder / "sub");
  write(outer / "secret.bin", std::string(16, 's'));
  for (const char* name : {"w.bin", "sub/w.bin", "twin.bin"}) {
    write(folder / name, std::string(8, '\0'));
  }
  write(folder / "short.bin", std::string(7, '\0'));
  std::filesystem::create_hard_link(folder / "twin.bin", folder / "twin2.bin");
  std::filesystem::create_symlink("w.bin", folder / "link.bin");
  std::filesystem::create_symlink("../secret.bin", folder / "out.bin");
  std::filesystem::create_directory_symlink("sub", folder / "linked");
  std::filesystem::create_directory_symlink("..", folder / "up");
  REQUIRE(::mkfifo((folder / "fifo").c_str(), 0600) == 0);
}

}  // namespace

TEST_CASE("every defect of external data is refused wherever it occurs, naming tensor and rule") {
  const TemporaryFolder outer;
  fill(outer.path());
  const auto file = outer.path() / "model" / "m.onnx";
  std::size_t refused = 0;
  for (const Place& place : places()) {
    INFO(place.name);
    for (const char* good : {"w.bin", "./sub//w.bin"}) {
      write(file, place.with({{"location", good}, {"length", "8"}}).text());
      CHECK_NOTHROW(load_model(file));
    }
    for (const Flaw& flaw : flaws()) {
      write(file, place.with(flaw.entries).text());
      INFO(flaw.rule);
      try {
        load_model(file);
        FAIL_CHECK("was loaded");
      } catch (const Error& error) {
        INFO(error.what());
        ++refused;
        CHECK((error.code() == ErrorCode::invalid_model || error.code() == ErrorCode::io ||
               error.code() == ErrorCode::not_found));
        CHECK_THAT(error.what(), Catch::Contains("culprit"));
        CHECK_THAT(error.what(), Catch::Contains(flaw.rule));
      }
    }
  }
  CHECK(refused == places().size() * flaws().size());
}

TEST_CASE(
    "several invalid references to external data are reported in one error with a line each") {
  Wire graph = Wire().block(2, "g");
  graph.message(5, external({{"location", "/a"}}));
  graph.message(15, sparse({{"location", "../b"}}, false));
  graph.message(1, node_with(attribute(4, 5, external({{"location", "c"}, {"offset", "x"}}))));
  graph.message(1, node_with(attribute(5, 6, inside(5, external({{"offset", "0"}})))));
  Wire wire = Wire().number(1, 10).message(7, graph);
  wire.message(20, inside(2, inside(5, external({{"location", "d"}, {"location", "d"}}))));
  wire.message(25, inside(7, node_with(attribute(9, 10, external({})))).block(1, "f"));
  const TemporaryFolder folder;
  write(folder / "m.onnx", wire.text());
  try {
    load_model(folder / "m.onnx");
    FAIL("was loaded");
  } catch (const Error& error) {
    const std::string text = error.message();
    INFO(text);
    CHECK(std::count(text.begin(), text.end(), '\n') == 5);
    for (const char* rule : {"'/a' is absolute", "'../b' leaves", "offset 'x'", "no location",
                             "'location' twice", "function 'f'"}) {
      CHECK_THAT(text, Catch::Contains(rule));
    }
  }
}

TEST_CASE("a tensor with a file and data of its own, or a reference that nobody follows") {
  const TemporaryFolder folder;
  write(folder / "w.bin", std::string(8, '\0'));
  const auto refused = [&](Wire tensor, const std::string& rule) {
    write(folder / "m.onnx", model(7, inside(5, tensor)).text());
    CHECK_THROWS_WITH(load_model(folder / "m.onnx"),
                      Catch::Contains("culprit") && Catch::Contains(rule));
  };
  refused(external({{"location", "w.bin"}}).block(9, std::string(8, '\0')), "raw_data");
  refused(external({{"location", "w.bin"}}).packed_fixed<float>(4, {1, 2}), "float_data");
  const Wire reference = Wire().block(1, "location").block(2, "/etc/hostname");
  Wire unused = Wire().number(1, 2).number(2, 1).block(8, "culprit").message(13, reference);
  refused(unused, "data_location is not EXTERNAL");
  refused(unused.number(14, 0), "data_location is not EXTERNAL");
}

TEST_CASE("data_location decides where the data is: entries left behind are not followed") {
  const TemporaryFolder folder;
  const auto loaded = [&](const Wire& tensor) {
    write(folder / "m.onnx", model(7, inside(5, tensor)).text());
    const auto def = load_model(folder / "m.onnx");
    const auto values = def.graph.initializers.at(0).value.values<float>();
    return std::vector<float>(values.begin(), values.end());
  };
  const std::vector<float> expected{1, 2};
  Wire left = Wire().number(1, 2).number(2, 1).block(8, "culprit");
  left.message(13, Wire().block(1, "location").block(2, "/etc/hostname"));
  left.message(13, Wire().block(1, "anything").block(2, "at all"));
  CHECK(loaded(Wire(left).packed_fixed<float>(4, {1, 2})) == expected);
  CHECK(loaded(Wire(left).number(14, 0).packed_fixed<float>(4, {1, 2})) == expected);
  CHECK(loaded(Wire(left).block(9, std::string("\0\0\x80\x3f\0\0\0\x40", 8))) == expected);
}

TEST_CASE("external data without a length takes what the tensor needs, whatever follows") {
  const TemporaryFolder folder;
  write(folder / "w.bin", std::string("....\0\0\x80\x3f\0\0\0\x40"
                                      "and more",
                                      20));
  write(folder / "m.onnx",
        model(7, inside(5, external({{"location", "w.bin"}, {"offset", "4"}}))).text());
  const auto def = load_model(folder / "m.onnx");
  const auto values = def.graph.initializers.at(0).value.values<float>();
  CHECK(std::vector<float>(values.begin(), values.end()) == std::vector<float>{1, 2});
}
