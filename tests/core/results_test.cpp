#include <ondine/results.h>

#include <array>
#include <catch2/catch.hpp>
#include <complex>
#include <type_traits>

#include <ondine/error.h>

using namespace ondine;

namespace {

NamedValues seen(Feeds feeds) { return {feeds.values().begin(), feeds.values().end()}; }
std::vector<std::string> names(Fetches fetches) {
  return {fetches.names().begin(), fetches.names().end()};
}

Results sample() {
  return Results(NamedValues{{"loss", Tensor::of<float>({1, 1}, {0.5F})},
                             {"logits", Tensor::of<float>({2, 2}, {1, 2, 3, 4})},
                             {"words", Tensor::of<std::string>({1}, {"one"})},
                             {"list", Value::sequence({})}});
}

}  // namespace

TEST_CASE("feeds are made from a braced list, a vector, an array, a span or results") {
  const Tensor x = Tensor::scalar(1.0F);
  const Tensor y = Tensor::scalar(std::int64_t{2});
  const NamedValues list{{"x", x}, {"y", y}};
  const std::array<NamedValue, 2> array{list[0], list[1]};
  const auto check = [&](const NamedValues& got) {
    REQUIRE(got.size() == 2);
    CHECK(got[0].first == "x");
    CHECK(got[0].second.tensor().identical(x));
    CHECK(got[1].first == "y");
    CHECK(got[1].second.tensor().identical(y));
  };
  check(seen({{"x", x}, {"y", y}}));
  check(seen(list));
  check(seen(array));
  check(seen(std::span<const NamedValue>(list)));
  check(seen(Results(list)));
  CHECK(seen({}).empty());
  CHECK(seen({{"x", x}}).size() == 1);
}

TEST_CASE("feeds made from a braced list or a temporary keep their values") {
  const Tensor x = Tensor::scalar(1.0F);
  const auto braced = [&]() -> Feeds { return {{"x", x}, {"y", x}}; };
  const auto vector = [&]() -> Feeds { return NamedValues{{"x", x}, {"y", x}}; };
  const auto array = [&]() -> Feeds { return std::array<NamedValue, 2>{{{"x", x}, {"y", x}}}; };
  const auto result = [&]() -> Feeds { return Results(NamedValues{{"x", x}, {"y", x}}); };
  for (const Feeds& feeds : {braced(), vector(), array(), result()}) {
    const Feeds copy = feeds;
    REQUIRE(copy.values().size() == 2);
    CHECK(copy.values()[1].first == "y");
    CHECK(copy.values()[1].second.tensor().identical(x));
  }
  const auto fetches = []() -> Fetches { return {"a long name that is not stored in place", "b"}; };
  CHECK(names(fetches())[0] == "a long name that is not stored in place");
}

TEST_CASE("feeds view a vector that has a name") {
  const NamedValues list{{"x", Tensor::scalar(1.0F)}};
  const Feeds feeds = list;
  CHECK(feeds.values().data() == list.data());
  CHECK(Feeds(std::span(list)).values().data() == list.data());
}

TEST_CASE("fetches are made from a braced list of names or a range of them") {
  const std::vector<std::string> list{"a", "b"};
  CHECK(names({"a", "b"}) == list);
  CHECK(names(list) == list);
  CHECK(names({"a"}) == std::vector<std::string>{"a"});
  CHECK(names({}).empty());
}

TEST_CASE("results are found by name and by position") {
  const Results results = sample();
  CHECK(results.size() == 4);
  CHECK(results["logits"].tensor().item<float>(3) == 4);
  CHECK(&results["logits"] == &results[1].second);
  CHECK(results[0].first == "loss");
  CHECK(results.contains("words"));
  CHECK_FALSE(results.contains("word"));
  CHECK_THROWS_WITH(results["accuracy"],
                    "there is no result 'accuracy'; results are 'loss' 'logits' 'words' 'list'");
  CHECK_THROWS_WITH(Results()["x"], "there is no result 'x'; results are none");
  std::string order;
  for (const auto& [name, value] : results) order += name + " ";
  CHECK(order == "loss logits words list ");
}

TEST_CASE("values taken from temporary results do not dangle") {
  static_assert(std::is_same_v<decltype(sample()["loss"]), Value>);
  static_assert(std::is_same_v<decltype(sample()[0]), NamedValue>);
  const Value& value = sample()["logits"];
  CHECK(value.tensor().item<float>(2) == 3);
  const NamedValues moved = sample();
  CHECK(moved.size() == 4);
  NamedValues assigned;
  assigned = sample();
  CHECK(assigned[1].first == "logits");
}

TEST_CASE("a scalar result is read as a number whatever its type") {
  const auto read = [](const Tensor& tensor) {
    return Results(NamedValues{{"x", tensor}}).scalar("x");
  };
  CHECK(read(Tensor::scalar(-1.5F)) == -1.5);
  CHECK(read(Tensor::scalar(0.1)) == 0.1);
  CHECK(read(Tensor::scalar(float16{0xC100})) == -2.5);  // 1.01b * 2^1
  CHECK(read(Tensor::scalar(bfloat16{0x3FC0})) == 1.5);  // 1.1b * 2^0
  CHECK(read(Tensor::scalar(std::int64_t{-7})) == -7);
  CHECK(read(Tensor::scalar(std::uint64_t{1} << 40)) == 1099511627776.0);
  CHECK(read(Tensor::scalar(std::int32_t{-2147483647})) == -2147483647.0);
  CHECK(read(Tensor::scalar(std::uint32_t{4294967295U})) == 4294967295.0);
  CHECK(read(Tensor::scalar(std::int16_t{-300})) == -300);
  CHECK(read(Tensor::scalar(std::uint16_t{65535})) == 65535);
  CHECK(read(Tensor::scalar(std::int8_t{-128})) == -128);
  CHECK(read(Tensor::scalar(std::uint8_t{255})) == 255);
  CHECK(read(Tensor::scalar(true)) == 1);
  const std::int8_t minus_three = -3;
  CHECK(read(Tensor::wrap(DType::int4, {1}, &minus_three)) == -3);
  const std::uint8_t bits = 0x38;  // float8e4m3fn: exponent 7 - 7, mantissa 0
  CHECK(read(Tensor::wrap(DType::float8e4m3fn, {}, &bits)) == 1);
}

TEST_CASE("a scalar of a result that is not one number is an error that describes the result") {
  const Results results = sample();
  CHECK(results.scalar("loss") == 0.5);
  CHECK_THROWS_WITH(results.scalar("logits"), "result 'logits' is a float[2, 2], not one number");
  CHECK_THROWS_WITH(results.scalar("words"), "result 'words' is a string[1], not one number");
  CHECK_THROWS_WITH(results.scalar("list"), "result 'list' is a sequence, not one number");
  CHECK_THROWS_WITH(results.scalar("none"), Catch::Contains("no result 'none'"));
  const Results complex(NamedValues{{"c", Tensor::scalar(std::complex<float>(1, 2))}});
  CHECK_THROWS_WITH(complex.scalar("c"), "result 'c' is a complex64[], not one number");
  const Results empty(NamedValues{{"e", Tensor(DType::float32, {0})}});
  CHECK_THROWS_WITH(empty.scalar("e"), "result 'e' is a float[0], not one number");
}
