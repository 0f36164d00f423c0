#include <cmath>
#include <limits>

#include "tests/kernels/common/numbers.h"
#include "tests/kernels/text/texts.h"

using namespace ondine;
using namespace ondine::test;

namespace {

using Int64s = std::vector<std::int64_t>;
using Floats = std::vector<float>;
using Strings = std::vector<std::string>;

OpCase ml(const std::string& op, std::vector<Value> inputs, graph::Attributes attributes = {},
          std::int64_t version = 5) {
  return {.op = op,
          .inputs = std::move(inputs),
          .attributes = std::move(attributes),
          .domain = "ai.onnx.ml",
          .version = version};
}

Tensor map_of(const Tensor& x, graph::Attributes attributes, std::int64_t version = 4) {
  return run_op_tensor(ml("LabelEncoder", {x}, std::move(attributes), version));
}

template <class T>
Tensor vector_of(std::vector<T> values) {
  return Tensor::of<T>({static_cast<std::int64_t>(values.size())}, values);
}

}  // namespace

TEST_CASE("LabelEncoder maps every key type to every value type") {
  const auto as = [](DType dtype, const Int64s& values) {
    if (dtype == DType::string) {
      Strings words;
      for (const auto value : values) words.push_back("w" + std::to_string(value));
      return texts(words);
    }
    std::vector<double> doubles(values.begin(), values.end());
    return numbers({static_cast<std::int64_t>(values.size())}, doubles, dtype);
  };
  const std::vector<DType> dtypes{DType::string, DType::int64, DType::float32,
                                  DType::int32,  DType::int16, DType::float64};
  for (const DType from : dtypes) {
    for (const DType to : dtypes) {
      INFO(to_string(from) << " to " << to_string(to));
      const graph::Attributes attributes{{"keys_tensor", as(from, {5, 3, 9})},
                                         {"values_tensor", as(to, {1, 2, 3})},
                                         {"default_tensor", as(to, {7})}};
      CHECK(map_of(as(from, {3, 4, 9, 5, 5}), attributes).identical(as(to, {2, 7, 3, 1, 1})));
      CHECK(map_of(Tensor(from, {0, 2}), attributes).shape() == Shape{0, 2});
    }
  }
}

TEST_CASE("LabelEncoder has the defaults of the standard") {
  const Tensor x = texts({2, 1}, {"a", "b"});
  const graph::Attribute keys{"keys_strings", Strings{"a"}};
  CHECK(map_of(x, {keys, {"values_int64s", Int64s{4}}}, 2)
            .identical(Tensor::of<std::int64_t>({2, 1}, Int64s{4, -1})));
  CHECK(map_of(x, {keys, {"values_strings", Strings{"z"}}}, 2)
            .identical(texts({2, 1}, {"z", "_Unused"})));
  CHECK(map_of(x, {keys, {"values_floats", Floats{2}}}).item<float>(1) == 0);
  CHECK(map_of(x, {keys, {"values_int64s", Int64s{4}}, {"default_int64", std::int64_t{9}}})
            .item<std::int64_t>(1) == 9);
}

TEST_CASE("LabelEncoder finds NaN, by its bits in version 2") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = vector_of<float>({nan, -nan, 0.0F, -0.0F});
  const graph::Attributes attributes{{"keys_floats", Floats{nan, 0.0F}},
                                     {"values_int64s", Int64s{1, 2}}};
  CHECK(map_of(x, attributes, 2).identical(int64s({1, -1, 2, -1})));
  CHECK(map_of(x, attributes, 4).identical(int64s({1, 1, 2, 2})));
  CHECK(map_of(int64s({3}), {{"keys_int64s", Int64s{3, 3}}, {"values_int64s", Int64s{1, 2}}}, 4)
            .identical(int64s({2})));
}

TEST_CASE("LabelEncoder 1 has positions in a list") {
  const graph::Attributes classes{{"classes_strings", Strings{"a", "b"}}};
  CHECK(map_of(texts({"b", "c", "a"}), classes, 1).identical(int64s({1, -1, 0})));
  CHECK(
      map_of(int64s({1, 2, 0, -1}), classes, 1).identical(texts({"b", "_Unused", "a", "_Unused"})));
}

TEST_CASE("LabelEncoder refuses attributes that do not fit") {
  const auto refused = [](graph::Attributes attributes, ErrorCode code, const std::string& part) {
    check_refused(ml("LabelEncoder", {texts({"a"})}, std::move(attributes), 4), code, part);
  };
  const graph::Attribute keys{"keys_strings", Strings{"a"}};
  refused({keys}, ErrorCode::invalid_model, "exactly one attribute values_*");
  refused({keys, {"keys_int64s", Int64s{1}}, {"values_int64s", Int64s{1}}},
          ErrorCode::invalid_model, "found 2");
  refused({keys, {"values_int64s", Int64s{1, 2}}}, ErrorCode::invalid_model, "1 keys and 2 values");
  refused({{"keys_int64s", Int64s{1}}, {"values_int64s", Int64s{1}}}, ErrorCode::mismatch,
          "x has dtype string");
  refused({keys, {"values_int64s", Int64s{1}}, {"default_tensor", texts({"a"})}},
          ErrorCode::invalid_model, "'default_tensor'");
}

TEST_CASE("CategoryMapper maps strings and integers to each other") {
  const graph::Attributes lists{{"cats_strings", Strings{"cat", "dog"}},
                                {"cats_int64s", Int64s{7, -2}}};
  CHECK(run_op_tensor(ml("CategoryMapper", {texts({1, 3}, {"dog", "cow", "cat"})}, lists))
            .identical(Tensor::of<std::int64_t>({1, 3}, Int64s{-2, -1, 7})));
  CHECK(run_op_tensor(ml("CategoryMapper", {int64s({7, 0, -2})}, lists))
            .identical(texts({"cat", "_Unused", "dog"})));
  check_refused(ml("CategoryMapper", {int64s({7})}, {{"cats_int64s", Int64s{7}}}),
                ErrorCode::invalid_model, "1 keys and 0 values");
}

TEST_CASE("OneHotEncoder writes a 1 at the category") {
  const graph::Attribute ints{"cats_int64s", Int64s{3, 5, -1}};
  for (const DType dtype : {DType::int64, DType::int32, DType::float32, DType::float64}) {
    INFO(to_string(dtype));
    const Tensor y =
        run_op_tensor(ml("OneHotEncoder", {numbers({2, 2}, {5, 3, 4, -1}, dtype)}, {ints}));
    CHECK(y.identical(Tensor::of<float>({2, 2, 3}, Floats{0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1})));
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(run_op_tensor(ml("OneHotEncoder", {vector_of<float>({5.9F, nan, 1e30F})}, {ints}))
            .identical(Tensor::of<float>({3, 3}, Floats{0, 1, 0, 0, 0, 0, 0, 0, 0})));
  const graph::Attribute words{"cats_strings", Strings{"a", "b"}};
  CHECK(run_op_tensor(ml("OneHotEncoder", {texts({}, {"b"})}, {words}))
            .identical(Tensor::of<float>({2}, Floats{0, 1})));
  CHECK(run_op_tensor(ml("OneHotEncoder", {Tensor(DType::int64, {0})}, {ints})).shape() ==
        Shape{0, 3});
  const graph::Attribute strict{"zeros", std::int64_t{0}};
  check_refused(ml("OneHotEncoder", {int64s({3, 4})}, {ints, strict}), ErrorCode::mismatch,
                "element 1 of x is none of the 3 categories");
  check_refused(ml("OneHotEncoder", {int64s({3})}, {words}), ErrorCode::mismatch, "int64");
  check_refused(ml("OneHotEncoder", {int64s({3})}, {ints, words}), ErrorCode::invalid_model,
                "exactly one");
}

TEST_CASE("ZipMap makes a map of each row") {
  const Tensor x = iota({2, 3});
  for (const bool words : {false, true}) {
    graph::Attributes labels;
    if (words) {
      labels.emplace_back("classlabels_strings", Strings{"a", "b", "c"});
    } else {
      labels.emplace_back("classlabels_int64s", Int64s{4, 2, 9});
    }
    const Value z = run_op(ml("ZipMap", {x}, labels)).at(0);
    REQUIRE(z.elements().size() == 2);
    for (std::size_t r = 0; r < 2; ++r) {
      const Value& map = z.elements()[r];
      CHECK(map.keys().identical(words ? texts({"a", "b", "c"}) : int64s({4, 2, 9})));
      REQUIRE(map.elements().size() == 3);
      for (std::size_t k = 0; k < 3; ++k) {
        CHECK(map.elements()[k].tensor().identical(Tensor::scalar(static_cast<float>(3 * r + k))));
      }
    }
  }
  const graph::Attributes labels{{"classlabels_int64s", Int64s{1, 2}}};
  CHECK(run_op(ml("ZipMap", {Tensor(DType::float32, {0, 2})}, labels)).at(0).elements().empty());
  CHECK(run_op(ml("ZipMap", {iota({2})}, labels)).at(0).elements().size() == 1);
  check_refused(ml("ZipMap", {x}, labels), ErrorCode::mismatch, "needed: [N, 2]");
}

namespace {

Value float_map(const Tensor& keys, const Floats& values) {
  std::vector<Value> elements;
  for (const float value : values) elements.emplace_back(Tensor::scalar(value));
  return Value::map(keys, std::move(elements));
}

}  // namespace

TEST_CASE("DictVectorizer puts values at the places of their keys") {
  const graph::Attributes words{{"string_vocabulary", Strings{"a", "c", "b", "z"}}};
  const Value map = float_map(texts({"z", "c"}), {4, 8});
  CHECK(
      run_op_tensor(ml("DictVectorizer", {map}, words)).identical(vector_of<float>({0, 8, 0, 4})));
  const Value ints = Value::map(int64s({5}), {Value(texts({}, {"five"}))});
  CHECK(run_op_tensor(ml("DictVectorizer", {ints}, {{"int64_vocabulary", Int64s{3, 5}}}))
            .identical(texts({"", "five"})));
  const Value counts = Value::map(texts({"a"}), {Value(Tensor::scalar(std::int64_t{2}))});
  CHECK(run_op_tensor(ml("DictVectorizer", {counts}, words)).identical(int64s({2, 0, 0, 0})));
  const Value doubles = Value::map(texts({"b"}), {Value(Tensor::scalar(0.5))});
  CHECK(run_op_tensor(ml("DictVectorizer", {doubles}, words))
            .identical(vector_of<double>({0, 0, 0.5, 0})));
  check_refused(ml("DictVectorizer", {float_map(texts({"q"}), {1})}, words), ErrorCode::mismatch,
                "not in the vocabulary");
  check_refused(ml("DictVectorizer", {map}, {{"int64_vocabulary", Int64s{3}}}), ErrorCode::mismatch,
                "keys of string");
}

TEST_CASE("CastMap orders by key or places by key, and casts") {
  const Value map = float_map(int64s({3, 1}), {1.5F, -2});
  const auto cast = [](const Value& x, const std::string& to, const std::string& form) {
    return run_op_tensor(
        ml("CastMap", {x}, {{"cast_to", to}, {"map_form", form}, {"max_map", std::int64_t{4}}}));
  };
  CHECK(cast(map, "TO_FLOAT", "DENSE").identical(Tensor::of<float>({1, 2}, Floats{-2, 1.5F})));
  CHECK(
      cast(map, "TO_FLOAT", "SPARSE").identical(Tensor::of<float>({1, 4}, Floats{0, -2, 0, 1.5F})));
  CHECK(cast(map, "TO_INT64", "DENSE").identical(Tensor::of<std::int64_t>({1, 2}, Int64s{-2, 1})));
  CHECK(cast(map, "TO_STRING", "DENSE").identical(texts({1, 2}, {"-2", "1.5"})));
  const Value words = Value::map(int64s({0, 2}), {Value(texts({}, {"7"})), texts({}, {"1e1"})});
  CHECK(
      cast(words, "TO_INT64", "DENSE").identical(Tensor::of<std::int64_t>({1, 2}, Int64s{7, 10})));
  CHECK(cast(words, "TO_STRING", "SPARSE").identical(texts({1, 4}, {"7", "", "1e1", ""})));
  check_refused(ml("CastMap", {float_map(int64s({4}), {1})},
                   {{"map_form", std::string("SPARSE")}, {"max_map", std::int64_t{4}}}),
                ErrorCode::mismatch, "key 4, needed: 0 to 3");
  check_refused(ml("CastMap", {map}, {{"cast_to", std::string("FLOAT")}}), ErrorCode::invalid_model,
                "'FLOAT'");
}
