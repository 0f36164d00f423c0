// Tables of texts with targets: which columns they are, and what is refused.
#include <catch2/catch.hpp>
#include <fstream>

#include <ondine/data.h>
#include <ondine/error.h>

#include "tests/support/temporary_folder.h"

namespace ondine::test {
namespace {

using Names = std::vector<std::string>;

struct File {
  std::string name;
  std::string text;
};

struct Tables {
  Tables(std::initializer_list<File> files) {
    for (const auto& [name, text] : files) {
      std::ofstream(folder / name, std::ios::binary) << text;
      places.push_back(folder / name);
    }
  }
  // Its message without the folder; "" where the files are read.
  std::string refusal(const DatasetOptions& options = {}) const {
    try {
      Dataset::open(places, options);
    } catch (const Error& error) {
      std::string text = error.what();
      for (auto at = text.find(folder.path().string()); at != text.npos;
           at = text.find(folder.path().string())) {
        text.erase(at, folder.path().string().size() + 1);
      }
      return text;
    }
    return "";
  }
  Names columns(const DatasetOptions& options = {}) const {
    Names names;
    for (const PortInfo& port : Dataset::open(places, options).columns())
      names.push_back(port.name);
    return names;
  }

  TemporaryFolder folder;
  std::vector<std::filesystem::path> places;
};

DatasetOptions with_target(const std::string& target, const std::string& column = "") {
  DatasetOptions options;
  options.target = target;
  options.text.column = column;
  return options;
}

using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

}  // namespace

TEST_CASE("the target of texts is the last column that is not the text") {
  const std::string rows = "\na,b,c\nd,e,f\n";
  CHECK(Tables{{"t.csv", "text,x,y" + rows}}.columns() == Names{"text", "y"});
  CHECK(Tables{{"t.csv", "x,y,text" + rows}}.columns() == Names{"text", "y"});
  CHECK(Tables{{"t.csv", "x,text,y" + rows}}.columns() == Names{"text", "y"});
  CHECK(Tables{{"t.csv", "x,text,y" + rows}}.columns(with_target("x")) == Names{"text", "x"});
  CHECK(Tables{{"t.csv", "x,y,z" + rows}}.columns(with_target("", "y")) == Names{"y", "z"});
  CHECK(Tables{{"t.csv", "text\na\nb\n"}}.columns() == Names{"text"});
  CHECK(Tables{{"t.tsv", "text\ty\na,b\t1\nc\t2\n"}}.columns() == Names{"text", "y"});
}

TEST_CASE("the target of JSON lines is the label or what the options say, if it is there") {
  const std::string labelled = R"({"text": "a", "label": "x", "kind": "p"})";
  CHECK(Tables{{"t.jsonl", labelled}}.columns() == Names{"text", "label"});
  CHECK(Tables{{"t.jsonl", labelled}}.columns(with_target("kind")) == Names{"text", "kind"});
  DatasetOptions inference;
  inference.use = DataUse::inference;
  CHECK(Tables{{"t.jsonl", R"({"text": "a", "kind": "p"})"}}.columns(inference) == Names{"text"});
  CHECK(Tables{{"t.jsonl", labelled}}.columns(with_target("", "kind")) == Names{"kind", "label"});
}

TEST_CASE("columns that are missing, doubled or uneven are named") {
  const Tables table{{"t.csv", "text,x\na,b\n"}};
  CHECK_THAT(table.refusal(with_target("y")), StartsWith("there is no column 'y' (--target)"));
  CHECK_THAT(table.refusal(with_target("text")),
             StartsWith("column 'text' is the target (--target)"));
  CHECK_THAT((Tables{{"a.csv", "text,x\na,b\n"}, {"b.csv", "text,y\na,b\n"}}).refusal(),
             StartsWith("its target is 'y', that of 'a.csv' is 'x'"));
  CHECK_THAT((Tables{{"a.csv", "text,x\na,b\n"}, {"b.csv", "text\na\n"}}).refusal(),
             StartsWith("its target is nothing, that of 'a.csv' is 'x'"));
  CHECK_THAT((Tables{{"a.csv", "text\na\n"}, {"b.csv", "text,x\na,b\n"}}).refusal(),
             StartsWith("its target is 'x', that of 'a.csv' is nothing"));
  CHECK_THAT((Tables{{"t.csv", "text,x\na,b\nc\n"}}).refusal(),
             StartsWith("line 3 has 1 fields, the header 2"));
  CHECK_THAT((Tables{{"t.csv", "text,x\na,b,c\n"}}).refusal(),
             StartsWith("line 2 has 3 fields, the header 2"));
}

TEST_CASE("targets that are missing are named with their line and column") {
  CHECK_THAT((Tables{{"t.csv", "text,x\na,b\nc,\n"}}).refusal(),
             StartsWith("line 3, column 'x': the target is missing"));
  for (const char* second : {R"({"text": "b"})", R"({"text": "b", "label": null})"}) {
    CHECK_THAT((Tables{{"t.jsonl", std::string(R"({"text": "a", "label": 1})") + "\n" + second}})
                   .refusal(),
               StartsWith("line 2, column 'label': the target is missing"));
  }
  CHECK_THAT((Tables{{"t.jsonl", R"({"text": "a", "label": 1})"}}).refusal(with_target("kind")),
             StartsWith("line 1, column 'kind': the target is missing"));
  CHECK_THAT((Tables{{"t.jsonl", R"({"text": "a", "label": [1]})"}}).refusal(),
             StartsWith("line 1: 'label' is no single value"));
}

TEST_CASE("rows of validation have the target of those of training") {
  const std::string rows = "\na,b\nc,d\n";
  const Tables same{{"mail_train.csv", "text,x" + rows}, {"mail_test.csv", "text,x\ne,b\n"}};
  const Dataset data = Dataset::open(same.places, {});
  CHECK(data.rows() == 2);
  CHECK(data.validation().rows() == 1);
  CHECK_THAT(
      (Tables{{"mail_train.csv", "text,x" + rows}, {"mail_test.csv", "text,y\ne,b\n"}}).refusal(),
      Contains("the target of 'mail_test.csv' is not that of 'mail_train.csv'"));
}

TEST_CASE("a class that training lacks is named with the file and line that have it") {
  for (const std::string header : {"text,x", "z,x"}) {  // texts and numbers
    const std::string one = header + "\n1,b\n2,d\n";
    const std::string other = header + "\n3,d\n5,e\n";
    DatasetOptions options;
    if (header == "text,x") options.text.column = "text";
    const Tables tables{{"mail_train.csv", one}, {"a_test.csv", one}, {"b_test.csv", other}};
    CHECK_THAT(tables.refusal(options),
               StartsWith("file 'b_test.csv', line 3: class 'e' is none of the training data"));
    const Tables numbers{{"mail_train.csv", header + "\n1,2\n"},
                         {"a_test.csv", header + "\n1,2\n"},
                         {"b_test.csv", other}};
    CHECK_THAT(numbers.refusal(options),
               StartsWith("column 'x' of 'b_test.csv' holds other values than in the training"));
  }
}

}  // namespace ondine::test
