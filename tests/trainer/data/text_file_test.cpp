// Files of text: what they begin with, how their lines end, and how they are named.
#include <catch2/catch.hpp>
#include <fstream>

#include <ondine/data.h>

#include "tests/support/bitmap.h"
#include "tests/support/temporary_folder.h"

namespace ondine::test {
namespace {

namespace fs = std::filesystem;
using Catch::Contains;

struct Files {
  fs::path write(const std::string& name, const std::string& bytes) const {
    fs::create_directories((folder / name).parent_path());
    std::ofstream(folder / name, std::ios::binary) << bytes;
    return folder / name;
  }
  std::vector<std::string> columns(const std::string& name, const std::string& bytes) const {
    std::vector<std::string> names;
    for (const PortInfo& port : Dataset::open(write(name, bytes)).columns()) {
      names.push_back(port.name);
    }
    return names;
  }
  std::string refusal(const std::string& name, const std::string& bytes,
                      const DatasetOptions& options = {}) const {
    try {
      Dataset::open(write(name, bytes), options);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  }

  TemporaryFolder folder;
};

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != text.npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

std::string utf16(const std::string& text, bool big_endian) {
  std::string wide;
  for (const char c : text) {
    if (big_endian) wide += '\0';
    wide += c;
    if (!big_endian) wide += '\0';
  }
  return wide;
}

}  // namespace

TEST_CASE(
    "lists, tables and texts are told apart however their lines end and whatever is in front") {
  const Files files;
  const std::string image = bitmap(1, 1, {{1, 2, 3}});
  files.write("1.bmp", image);
  files.write("2.bmp", image);
  using Names = std::vector<std::string>;
  for (const std::string front : {"", "\n", "\r\n\r\n", "\xef\xbb\xbf", "\xef\xbb\xbf\n", "  \n"}) {
    for (const std::string end : {"\n", "\r\n", "\r", "\n\n"}) {
      for (const std::string extension : {".csv", ".CSV", ".Csv"}) {
        CAPTURE(front, end, extension);
        const auto text = [&](const std::string& rows) {
          return front + replaced(rows, "\n", end);
        };
        const auto columns = [&](const std::string& rows) {
          return files.columns("data" + extension, text(rows));
        };
        CHECK(columns("path,kind\n1.bmp,a\n2.bmp,b\n") == Names{"image", "kind"});
        CHECK(columns("text,kind\nhello,a\nyou,b\n") == Names{"text", "kind"});
        CHECK(columns("x,y,kind\n1,2,a\n3,4,b\n") == Names{"features", "kind"});
      }
    }
  }
  CHECK(files.columns("l.tsv", "a\tb\n1.bmp\tx\n") == Names{"image", "b"});
  CHECK(files.columns("L.TSV", "a\tb\r1.bmp\tx") == Names{"image", "b"});
  CHECK(files.columns("q.csv", "\"the\npath\",\"a\"\"b\"\n1.bmp,x\n") == Names{"image", "a\"b"});
  CHECK(files.columns("q.csv", "a,\"the\ntext\",text\n1,2,x\n") == Names{"text", "the\ntext"});
}

TEST_CASE(
    "a list whose rows are shorter than its header, or whose first row has no file, is refused") {
  const Files files;
  CHECK_THAT(files.refusal("a.csv", "\nx.png,1\na,b\n"), Contains("'a' is not a number"));
  CHECK_THAT(files.refusal("a.csv", "f,t\ro,1\ny.png,2"), Contains("'o' is not a number"));
  CHECK_THAT(files.refusal("a.csv", "f,t,u\ny.png,2\n"), Contains("line 2 has 2 fields"));
  CHECK_THAT(files.refusal("a.csv", "f\n" + std::string(300, ',') + "y.png\n"),
             Contains("line 2 has 301 fields, the header 1"));
  CHECK_THAT(files.refusal("a.csv", "f,t\ny.png,1\nx,2\n"), Contains("line 3") && Contains("'x'"));
}

TEST_CASE("text in UTF-16 and UTF-32, and bytes that are no text, are named as such") {
  const Files files;
  const std::string table = "a,b,y\n1,2,0.5\n";
  CHECK_THAT(files.refusal("a.csv", "\xff\xfe" + utf16(table, false)),
             Contains("not UTF-8 but UTF-16") && Contains("a.csv"));
  CHECK_THAT(files.refusal("a.csv", "\xfe\xff" + utf16(table, true)),
             Contains("not UTF-8 but UTF-16"));
  CHECK_THAT(files.refusal("a.jsonl", "\xff\xfe" + utf16("{}", false)), Contains("UTF-16"));
  CHECK_THAT(files.refusal("a.csv", utf16(table, false)), Contains("seems to be UTF-16"));
  CHECK_THAT(files.refusal("a.csv", std::string("\xff\xfe\0\0a\0\0\0", 8)), Contains("UTF-32"));
  CHECK_THAT(files.refusal("a.csv", std::string("a,b\n1,\0002\n", 9)),
             Contains("line 2, byte 3: a character U+0000 is no text"));
}

TEST_CASE("a table that another separator divides says which one") {
  const Files files;
  CHECK_THAT(files.refusal("a.csv", "a;b;y\n1,5;2,5;0,5\n"), Contains("separated by semicolons"));
  CHECK_THAT(files.refusal("a.csv", "a\tb\ty\n1\t2\t3\n"), Contains("tabs") && Contains(".tsv"));
  CHECK_THAT(files.refusal("a.tsv", "a,b,y\n1,2,3\n"), Contains("commas") && Contains(".csv"));
}

TEST_CASE("missing numbers have one rule for all spellings, and infinite ones are refused") {
  const Files files;
  const auto table = [](const std::string& cell) { return "a,b,y\n1,2,0.5\n" + cell + ",4,0.7\n"; };
  for (const char* word : {"NaN", "NAN", " NaN", "-nan", " ", "None", "#N/A", "null", "n/a"}) {
    CAPTURE(word);
    CHECK_THAT(files.refusal("t.csv", table(word)),
               Contains("line 3, column 'a': the number is missing; --fill"));
    CHECK(files.refusal("t.csv", table(word), {.fill = 0}).empty());
  }
  for (const char* word : {"inf", "-Infinity", "INF"}) {
    CAPTURE(word);
    CHECK_THAT(files.refusal("t.csv", table(word), {.fill = 0}),
               Contains("line 3, column 'a'") && Contains("is not a finite number"));
  }
  CHECK_THAT(files.refusal("t.csv", "a,y\n1,2\n3, NAN\n"),
             Contains("line 3, column 'y': the target is missing"));
  CHECK_THAT(files.refusal("t.jsonl", "{\"text\":\"a\",\"label\":NaN}"),
             Contains("line 1, column 'label': the target is missing"));
  CHECK(files.refusal("t.jsonl", "{\"text\":\"a\",\"label\":1,\"score\":NaN}").empty());
}

TEST_CASE("lists name files below their folder, unless others are allowed") {
  const Files files;
  const std::string image = bitmap(1, 1, {{1, 2, 3}});
  files.write("lists/in/1.bmp", image);
  const std::string outside = files.write("2.bmp", image).string();
  CHECK(files.refusal("lists/l.csv", "p,y\nin/1.bmp,0\n").empty());
  for (const std::string& path :
       {outside, std::string("../2.bmp"), std::string("in/../../2.bmp")}) {
    CAPTURE(path);
    const std::string list = "p,y\nin/1.bmp,0\n" + path + ",1\n";
    CHECK_THAT(files.refusal("lists/l.csv", list),
               Contains("line 3") && Contains("--outside-files"));
    CHECK(files.refusal("lists/l.csv", list, {.outside_files = true}).empty());
  }
}

}  // namespace ondine::test
