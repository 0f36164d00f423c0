// How stored rows fit inputs, how names tell what data is for, and the fields of tables.
#include <catch2/catch.hpp>
#include <cmath>
#include <limits>

#include <ondine/error.h>

#include "core/float_formats.h"
#include "trainer/data/column.h"
#include "trainer/data/convert_row.h"
#include "trainer/data/split_words.h"
#include "trainer/data/table/csv.h"
#include "trainer/data/table/targets.h"

using namespace ondine;
using namespace ondine::data;
using Catch::Contains;

namespace {

std::optional<Dims> fitted(const Dims& wanted, const Dims& stored) {
  return fit_dims(wanted, stored);
}

template <class From, class To>
std::vector<To> converted(DType from, DType to, const std::vector<From>& values) {
  const RowCopy copy = find_copy(from, to);
  REQUIRE(copy != nullptr);
  std::vector<To> result(values.size());
  copy(values.data(), result.data(), static_cast<std::int64_t>(values.size()));
  return result;
}

struct FileRow {
  std::vector<std::string> fields;
  std::uint64_t line;
  bool operator==(const FileRow&) const = default;
};
std::vector<FileRow> rows_of(const std::string& text, char separator = ',') {
  std::vector<FileRow> rows;
  parse_csv(text, separator, [&](auto fields, std::uint64_t line) {
    rows.push_back({{fields.begin(), fields.end()}, line});
  });
  return rows;
}

std::pair<Split, std::string> cut(std::string name) {
  const Split split = cut_split(name);
  return {split, name};
}

Targets targets(std::vector<std::string> texts) {
  Targets result;
  result.begin("f.csv");
  result.column = "y";
  for (std::size_t i = 0; i < texts.size(); ++i) result.lines.push_back(i + 2);
  result.texts = std::move(texts);
  return result;
}

}  // namespace

TEST_CASE("a row fits dims that it has, that it groups or divides, or whose open one it fills") {
  CHECK(fitted({3, 4}, {3, 4}) == Dims{3, 4});
  CHECK(fitted({-1, 4}, {3, 4}) == Dims{3, 4});
  CHECK(fitted({-1, -1}, {3, 4}) == Dims{3, 4});
  CHECK(fitted({}, {}) == Dims{});
  CHECK(fitted({12}, {3, 4}) == Dims{12});
  CHECK(fitted({3, 4}, {12}) == Dims{3, 4});
  CHECK(fitted({1, 3, 4}, {3, 4}) == Dims{1, 3, 4});
  CHECK(fitted({3, 1, 4}, {12}) == Dims{3, 1, 4});
  CHECK(fitted({-1}, {3, 4}) == Dims{12});
  CHECK(fitted({1, -1, 4}, {12}) == Dims{1, 3, 4});
  CHECK(fitted({}, {1, 1}) == Dims{});
  CHECK_FALSE(fitted({4, 3}, {3, 4}));
  CHECK_FALSE(fitted({2, 6}, {3, 4}));
  CHECK_FALSE(fitted({2, 3, 2}, {4, 3}));
  CHECK_FALSE(fitted({-1, 5}, {12}));
  CHECK_FALSE(fitted({-1, -1}, {12}));
  CHECK_FALSE(fitted({-1, 0}, {12}));
  CHECK_FALSE(fitted({12}, {3, 4, 1, 2}));
  CHECK_FALSE(fitted({0, 5}, {5, 0}));
}

TEST_CASE("rows are converted to wider numbers") {
  using Floats = std::vector<float>;
  CHECK(converted<std::uint8_t, float>(DType::uint8, DType::float32, {0, 51, 255}) ==
        Floats{0, 51, 255});
  CHECK(converted<std::uint8_t, std::int64_t>(DType::uint8, DType::int64, {0, 255}) ==
        std::vector<std::int64_t>{0, 255});
  CHECK(converted<std::int8_t, float>(DType::int8, DType::float32, {-128, 127}) ==
        Floats{-128, 127});
  CHECK(converted<std::uint16_t, std::int32_t>(DType::uint16, DType::int32, {65535}) ==
        std::vector<std::int32_t>{65535});
  CHECK(converted<double, float>(DType::float64, DType::float32, {0.1}) == Floats{0.1F});
  CHECK(to_float(converted<std::int16_t, float16>(DType::int16, DType::float16, {255})[0]) == 255);
  CHECK(to_float(converted<float, bfloat16>(DType::float32, DType::bfloat16, {-2})[0]) == -2);
  CHECK(find_copy(DType::float32, DType::int64) == nullptr);
  CHECK(find_copy(DType::int64, DType::uint8) == nullptr);
  CHECK(find_copy(DType::string, DType::float32) == nullptr);
  CHECK(find_copy(DType::complex64, DType::float32) == nullptr);
}

TEST_CASE("half-precision and unsigned numbers are converted like all others") {
  using Floats = std::vector<float>;
  CHECK(converted<float16, float>(DType::float16, DType::float32,
                                  {to_float16(0.5F), to_float16(-3)}) == Floats{0.5F, -3});
  CHECK(converted<bfloat16, float>(DType::bfloat16, DType::float32, {to_bfloat16(-2)}) ==
        Floats{-2});
  CHECK(converted<std::uint32_t, std::int64_t>(DType::uint32, DType::int64, {0, 4294967295U}) ==
        std::vector<std::int64_t>{0, 4294967295});
  CHECK(converted<std::uint64_t, std::int32_t>(DType::uint64, DType::int32, {7}) ==
        std::vector<std::int32_t>{7});
  CHECK(converted<std::uint64_t, float>(DType::uint64, DType::float32, {9}) == Floats{9});
}

TEST_CASE("a conversion says which element the type cannot hold") {
  const auto first_misfit = [](RowCopy copy, const auto& values) {
    std::vector<double> room(values.size() + 1);
    return copy(values.data(), room.data(), static_cast<std::int64_t>(values.size()));
  };
  using Wide = std::vector<std::int64_t>;
  const auto to_int32 = find_copy(DType::int64, DType::int32);
  CHECK(first_misfit(to_int32, Wide{2147483647, -2147483648}) == 2);
  CHECK(first_misfit(to_int32, Wide{1, 2147483648, 3}) == 1);
  CHECK(first_misfit(find_copy(DType::uint64, DType::int64),
                     std::vector<std::uint64_t>{1, std::uint64_t{1} << 63}) == 1);
  CHECK(first_misfit(find_copy(DType::float64, DType::float32), std::vector<double>{1e300, 1}) ==
        0);
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(first_misfit(find_copy(DType::float64, DType::float32),
                     std::vector<double>{infinity, -infinity, std::nan("")}) == 3);
  CHECK(first_misfit(find_copy(DType::int32, DType::float16),
                     std::vector<std::int32_t>{65504, 65520}) == 1);
  CHECK(first_misfit(find_copy(DType::float32, DType::float16), std::vector<float>{-65504, 1e5F}) ==
        1);
}

TEST_CASE("an exact conversion takes numbers without a fraction alone") {
  const auto fits = [](DType from, DType to, const auto& values) {
    std::vector<double> room(values.size() + 1);
    const RowCopy copy = find_exact_copy(from, to);
    REQUIRE(copy != nullptr);
    return copy(values.data(), room.data(), static_cast<std::int64_t>(values.size())) ==
           static_cast<std::int64_t>(values.size());
  };
  using Doubles = std::vector<double>;
  CHECK(fits(DType::float64, DType::int64, Doubles{1, -0.0, 9007199254740992, -0x1p63}));
  CHECK_FALSE(fits(DType::float64, DType::int64, Doubles{0x1p63}));
  CHECK_FALSE(fits(DType::float64, DType::int64, Doubles{0.5}));
  CHECK_FALSE(fits(DType::float64, DType::int64, Doubles{std::nan("")}));
  CHECK_FALSE(fits(DType::float64, DType::int32, Doubles{2147483648.0}));
  CHECK(fits(DType::float64, DType::uint8, Doubles{0, 255}));
  CHECK_FALSE(fits(DType::float64, DType::uint8, Doubles{-1}));
  CHECK(fits(DType::float64, DType::boolean, Doubles{0, 1}));
  CHECK_FALSE(fits(DType::float64, DType::boolean, Doubles{2}));
  CHECK_FALSE(fits(DType::int64, DType::uint8, std::vector<std::int64_t>{256}));
  CHECK(find_exact_copy(DType::int64, DType::float32) == nullptr);
  CHECK(find_exact_copy(DType::string, DType::int64) == nullptr);
}

TEST_CASE("pixels become 0..1 in every floating point type") {
  const std::uint8_t pixels[]{0, 51, 255};
  const auto scaled = [&]<class T>(DType dtype, T) {
    std::vector<T> result(3);
    find_pixel_copy(dtype)(pixels, result.data(), 3);
    return result;
  };
  CHECK(scaled(DType::float32, float()) == std::vector<float>{0, 51 / 255.0F, 1});
  CHECK(scaled(DType::float64, double()) == std::vector<double>{0, 51 / 255.0, 1});
  CHECK(to_float(scaled(DType::float16, float16())[2]) == 1);
  CHECK(to_float(scaled(DType::bfloat16, bfloat16())[2]) == 1);
  CHECK(find_pixel_copy(DType::int64) == nullptr);
}

TEST_CASE("the first or last word of a name says what the data is for, in any case") {
  using Pair = std::pair<Split, std::string>;
  CHECK(cut("train") == Pair{Split::train, ""});
  CHECK(cut("TRAINING") == Pair{Split::train, ""});
  CHECK(cut("x_train") == Pair{Split::train, "x"});
  CHECK(cut("train-images") == Pair{Split::train, "images"});
  for (const char* word : {"val", "valid", "validation"}) {
    CHECK(cut(word + std::string("-x")) == Pair{Split::validation, "x"});
    CHECK(cut(std::string("a.b_") + word) == Pair{Split::validation, "a.b"});
  }
  CHECK(cut("t10k-x") == Pair{Split::test, "x"});
  CHECK(cut("x_test") == Pair{Split::test, "x"});
  CHECK(cut("x") == Pair{Split::unknown, "x"});
  CHECK(cut("trainer_x") == Pair{Split::unknown, "trainer_x"});
  CHECK(cut("a_test_b") == Pair{Split::unknown, "a_test_b"});
}

TEST_CASE("fields are divided by the separator, quoted ones hold it, and rows know their line") {
  using Rows = std::vector<FileRow>;
  CHECK(rows_of("a,b\n1,\n") == Rows{{{"a", "b"}, 1}, {{"1", ""}, 2}});
  CHECK(rows_of("a\r\n\r\n,\r\rb") == Rows{{{"a"}, 1}, {{"", ""}, 3}, {{"b"}, 5}});
  CHECK(rows_of("\n  \na\n   \nb\n ") == Rows{{{"a"}, 3}, {{"b"}, 5}});
  CHECK(rows_of("a\tb,c\n", '\t') == Rows{{{"a", "b,c"}, 1}});
  CHECK(rows_of("\"a,\"\"b\"\"\nc\",d\ne") == Rows{{{"a,\"b\"\nc", "d"}, 1}, {{"e"}, 3}});
  CHECK(rows_of("\"a\rb\r\nc\"\rd") == Rows{{{"a\rb\r\nc"}, 1}, {{"d"}, 4}});
  CHECK(rows_of("\"\"") == Rows{{{""}, 1}});
  CHECK(rows_of("").empty());
  CHECK(rows_of("\n\n").empty());
  CHECK_THROWS_WITH(rows_of("a\n\"b"), Contains("line 2: a quoted field has no end"));
  CHECK_THROWS_WITH(rows_of("a\n\"b\"c"), Contains("line 2: text follows a quoted field"));
}

TEST_CASE("a quote between tabs is a letter") {
  using Rows = std::vector<FileRow>;
  CHECK(rows_of("\"Well,\" he said.\t0\n\"open\t1\nshut\"\t2\n", '\t') ==
        Rows{{{"\"Well,\" he said.", "0"}, 1}, {{"\"open", "1"}, 2}, {{"shut\"", "2"}, 3}});
}

TEST_CASE("a row has at most a million fields") {
  const std::string row(std::size_t{1} << 20, ',');
  CHECK(rows_of(row.substr(1)).at(0).fields.size() == row.size());
  CHECK_THROWS_WITH(rows_of("a\n" + row), "line 2 has more than 1048576 fields");
}

TEST_CASE("of several files that which holds an unknown target is named") {
  Targets all = targets({"cat", "dog"});
  Targets more = targets({"dog", "cow", "eel"});
  more.files[0].name = "g.csv";
  more.lines = {7, 9, 11};
  append(all, more);
  const TargetReader pets(targets({"cat", "dog"}), {});
  CHECK_THROWS_WITH(pets.read(all),
                    "file 'g.csv', line 9: class 'cow' is none of the training data");
  const TargetReader more_pets(targets({"cat", "dog", "cow"}), {});
  append(all, targets({"fox"}));
  CHECK_THROWS_WITH(more_pets.read(all),
                    "file 'g.csv', line 11: class 'eel' is none of the training data");
  CHECK(all.file_of(1) == "f.csv");
  CHECK(all.file_of(2) == "g.csv");
  CHECK(all.file_of(5) == "f.csv");
  const TargetReader numbers(targets({"1", "2.5"}), {});
  Targets mixed = targets({"3"});
  mixed.begin("h.csv");
  mixed.add("four", 2);
  CHECK_THROWS_WITH(numbers.read(mixed),
                    "column 'y' of 'h.csv' holds other values than in the training data");
}

TEST_CASE("targets are whole numbers, numbers or classes, as those of the training data are") {
  const auto read = [](const TargetReader& reader, std::vector<std::string> texts) {
    return reader.read(targets(std::move(texts)));
  };
  const TargetReader whole(targets({"1", " +20 ", "-3"}), {});
  CHECK(read(whole, {"1", " +20 ", "-3"}).identical(Tensor::of<std::int64_t>({3}, {1, 20, -3})));
  CHECK_THROWS_WITH(read(whole, {"1.5"}),
                    "column 'y' of 'f.csv' holds other values than in the "
                    "training data");
  const TargetReader numbers(targets({"1", "2.5"}), {});
  CHECK(read(numbers, {"4", "1e-2"}).identical(Tensor::of<double>({2}, {4, 0.01})));
  const TargetReader classes(targets({"dog", "cat", "dog"}), {});
  CHECK(classes.classes() == std::vector<std::string>{"cat", "dog"});
  CHECK(read(classes, {"dog", "cat"}).identical(Tensor::of<std::int64_t>({2}, {1, 0})));
  CHECK_THROWS_WITH(read(classes, {"cat", "cow"}),
                    Contains("file 'f.csv', line 3: class 'cow' is none of the training data"));
  // Names that are given decide, where they name all that there is; "1" and "2" are classes then.
  const TargetReader given(targets({"2", "1"}), {"2", "1", "0"});
  CHECK(read(given, {"2", "0"}).identical(Tensor::of<std::int64_t>({2}, {0, 2})));
  CHECK_THROWS_WITH(read(given, {"3"}), Contains("is none of the model's classes"));
  const TargetReader other(targets({"2", "7"}), {"2", "1"});
  CHECK(read(other, {"7"}).identical(Tensor::of<std::int64_t>({1}, {7})));
  for (const char* text : {"",     " ",    "\t",   "NA",   "N/A",  "n/a",     "NaN",    "nan",
                           "NAN",  "Nan",  "-nan", "-NaN", " NaN", "NaN ",    "null",   "NULL",
                           "None", "none", "#N/A", "#NA",  "<NA>", "1.#QNAN", "-1.#IND"}) {
    CAPTURE(text);
    CHECK(is_missing(text));
  }
  for (const char* text : {"0", "inf", "-", "nano", "not a number", "N.A"}) {
    CAPTURE(text);
    CHECK_FALSE(is_missing(text));
  }
  CHECK(parse_number(" -1.5e3 ") == -1500.0);
  CHECK_FALSE(parse_number("1,5"));
  CHECK_FALSE(parse_number("+-1"));
  CHECK_FALSE(parse_number("+"));
  CHECK_FALSE(parse_number(" "));
}

TEST_CASE("a target that is infinite is refused with its line, and so is no class of numbers") {
  const TargetReader numbers(targets({"1", "inf", "2.5"}), {});
  CHECK(numbers.classes().empty());
  CHECK_THROWS_WITH(numbers.read(targets({"1", "inf", "2.5"})),
                    "file 'f.csv', line 3, column 'y': 'inf' is not a finite number");
}

TEST_CASE("a column of numbers with a few texts is noted for an example") {
  CHECK(TargetReader(targets({"1.5", "2.5", "x.5", "4"}), {}).note() ==
        "column 'y' holds classes, not numbers, for example 'x.5' in line 4 of 'f.csv'");
  CHECK(TargetReader(targets({"a", "b", "1"}), {}).note().empty());
  CHECK(TargetReader(targets({"1", "2.5"}), {}).note().empty());
}

TEST_CASE("classes are counted among the rows of a part, with those that have none") {
  Tensor x(DType::float32, {6, 1});
  const Tensor label = Tensor::of<std::int64_t>({6}, {0, 3, 1, 3, 3, 0});
  const Dataset data = Dataset::from({{"x", x}, {"label", label}});
  CHECK(data.class_counts() == std::vector<std::uint64_t>{2, 1, 0, 3});
  const auto [first, second] = data.split(0.5, 1);
  const auto a = first.class_counts();
  const auto b = second.class_counts();
  for (std::size_t c = 0; c < 4; ++c) {
    CHECK((c < a.size() ? a[c] : 0) + (c < b.size() ? b[c] : 0) == data.class_counts()[c]);
  }
  const Tensor negative = Tensor::of<std::int64_t>({2}, {0, -1});
  CHECK(Dataset::from({{"x", Tensor(DType::float32, {2, 1})}, {"label", negative}})
            .class_counts()
            .empty());
  CHECK(Dataset::from({{"label", label}, {"other", label}}).class_counts().empty());
  CHECK(Dataset::from({{"x", x}}).class_counts().empty());
}
