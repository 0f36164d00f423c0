#include <limits>

#include "core/float_formats.h"
#include "tests/kernels/common/numbers.h"

using namespace ondine;
using namespace ondine::test;

namespace {

const double inf = std::numeric_limits<double>::infinity();
const double undefined = std::numeric_limits<double>::quiet_NaN();

Tensor cast(const Tensor& x, DType to, graph::Attributes attributes = {}) {
  attributes.emplace_back("to", static_cast<std::int64_t>(to));
  return run_op_tensor({.op = "Cast", .inputs = {x}, .attributes = std::move(attributes)});
}

std::vector<int> bits_of(const Tensor& tensor) {
  const auto* bytes = static_cast<const std::uint8_t*>(tensor.data());
  return {bytes, bytes + tensor.bytes()};
}

std::vector<double> through(DType dtype, const std::vector<double>& values) {
  const Tensor x = numbers({static_cast<std::int64_t>(values.size())}, values);
  return as_doubles(cast(cast(x, dtype), DType::float64));
}

}  // namespace

TEST_CASE("Small numbers keep their value between any two number types") {
  std::vector<DType> dtypes = float_dtypes;
  dtypes.insert(dtypes.end(), integer_dtypes.begin(), integer_dtypes.end());
  for (const DType d : {DType::float8e4m3fn, DType::float8e4m3fnuz, DType::float8e5m2,
                        DType::float8e5m2fnuz, DType::uint4, DType::int4, DType::float4e2m1}) {
    dtypes.push_back(d);
  }
  const Tensor x = numbers({4}, {0, 1, 2, 6});
  for (const DType from : dtypes) {
    for (const DType to : dtypes) {
      INFO(to_string(from) << " to " << to_string(to));
      CHECK(as_doubles(cast(cast(cast(x, from), to), DType::float64)) == as_doubles(x));
    }
    CHECK(
        cast(cast(x, from), DType::boolean).identical(numbers({4}, {0, 1, 1, 1}, DType::boolean)));
    CHECK(as_doubles(cast(cast(cast(x, DType::boolean), from), DType::float64)) ==
          std::vector<double>{0, 1, 1, 1});
    CHECK(
        cast(cast(x, from), DType::string)
            .identical(Tensor::of<std::string>({4}, std::vector<std::string>{"0", "1", "2", "6"})));
  }
}

TEST_CASE("Long tensors are cast in full") {
  const Tensor x = as_dtype(random_tensor({3, 20001}, 4, -100, 100), DType::float32);
  const Tensor doubles = cast(x, DType::float64);
  CHECK(as_doubles(doubles) == as_doubles(x));
  for (const DType to : {DType::float32, DType::float16, DType::int32, DType::int8}) {
    check_close(cast(x, to), as_dtype(doubles, to), {0, 0});
    check_close(cast(doubles, to), as_dtype(doubles, to), {0, 0});
  }
}

TEST_CASE("Doubles are rounded once to 16-bit floats") {
  // Just above the middle between two neighbours, but on it after rounding to float.
  const double above = 1 + 0x1p-11 + 0x1p-40;
  CHECK(through(DType::float16, {above, 1 + 0x1p-11, 1 + 3 * 0x1p-11}) ==
        std::vector<double>{1 + 0x1p-10, 1, 1 + 0x1p-9});
  CHECK(through(DType::bfloat16, {1 + 0x1p-8 + 0x1p-40, 1 + 0x1p-8}) ==
        std::vector<double>{1 + 0x1p-7, 1});
  CHECK(through(DType::float16, {1e300, -1e300, 65519, 65520, 0x1p-25}) ==
        std::vector<double>{inf, -inf, 65504, inf, 0});
  const std::int64_t big = (std::int64_t{1} << 60) + (std::int64_t{1} << 52) + 1;
  CHECK(as_doubles(cast(Tensor::scalar(big), DType::bfloat16))[0] == 0x1p60 + 0x1p53);
  const std::uint64_t top = ~std::uint64_t{0};
  CHECK(as_doubles(cast(Tensor::scalar(top), DType::float32))[0] == 0x1p64);
  CHECK(as_doubles(cast(Tensor::scalar(top), DType::bfloat16))[0] == 0x1p64);
}

TEST_CASE("Reals become integers by cutting, out of range the nearest one, NaN 0") {
  for (const DType dtype : integer_dtypes) {
    INFO(to_string(dtype));
    const auto lowest = as_doubles(numbers({1}, {-1e30}, dtype))[0];
    const auto highest = as_doubles(numbers({1}, {1e30}, dtype))[0];
    CHECK(through(dtype, {2.9, 0.5, undefined, -inf, inf, 1e25}) ==
          std::vector<double>{2, 0, 0, lowest, highest, highest});
  }
  CHECK(through(DType::int32, {-2.9}) == std::vector<double>{-2});
  CHECK(through(DType::int4, {-9, 7.9, 8}) == std::vector<double>{7, 7, -8});
  CHECK(through(DType::uint4, {-9, 17}) == std::vector<double>{7, 1});
  CHECK(through(DType::int2, {-3, 2, 3}) == std::vector<double>{1, -2, -1});
  CHECK(through(DType::uint2, {-3, 7}) == std::vector<double>{1, 3});
  CHECK(through(DType::boolean, {0, -0.0, undefined, 0.5}) == std::vector<double>{0, 0, 1, 1});
}

TEST_CASE("Integers keep their low bits") {
  const Tensor x = numbers({2}, {200, -1}, DType::int16);
  check_close(cast(x, DType::int8), numbers({2}, {-56, -1}, DType::int8));
  check_close(cast(x, DType::uint8), numbers({2}, {200, 255}, DType::uint8));
  CHECK(cast(x, DType::uint64).item<std::uint64_t>(1) == ~std::uint64_t{0});
  CHECK(bits_of(cast(x, DType::int4)) == std::vector<int>{0xf8, 0xff});
  CHECK(bits_of(cast(x, DType::uint2)) == std::vector<int>{0, 3});
}

TEST_CASE("Every float8 number is read and written back") {
  const auto check = [](DType dtype, int count_of_nan) {
    Tensor all(dtype, {256});
    auto* bytes = static_cast<std::uint8_t*>(all.mutable_data());
    for (int i = 0; i < 256; ++i) bytes[i] = static_cast<std::uint8_t>(i);
    const auto values = as_doubles(cast(all, DType::float64));
    const auto back =
        bits_of(cast(cast(all, DType::float64), dtype, {{"saturate", std::int64_t{0}}}));
    int nans = 0;
    for (std::size_t i = 0; i < 256; ++i) {
      nans += std::isnan(values[i]) ? 1 : 0;
      INFO(to_string(dtype) << " " << i << " " << values[i]);
      if (!std::isnan(values[i])) CHECK(back[i] == static_cast<int>(i));
    }
    CHECK(nans == count_of_nan);
  };
  check(DType::float8e4m3fn, 2);
  check(DType::float8e4m3fnuz, 1);
  check(DType::float8e5m2, 6);
  check(DType::float8e5m2fnuz, 1);
  check(DType::float8e8m0, 1);
}

TEST_CASE("float8 formats follow the standard's tables out of range") {
  const std::vector<double> extremes{inf, -inf, 1e9, -1e9};
  const auto run = [&](DType dtype, std::int64_t saturate) {
    return as_doubles(
        cast(cast(numbers({4}, extremes), dtype, {{"saturate", saturate}}), DType::float64));
  };
  const auto same = [](const std::vector<double>& a, std::vector<double> b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      if (!(a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i])))) return false;
    }
    return true;
  };
  CHECK(same(run(DType::float8e4m3fn, 1), {448, -448, 448, -448}));
  CHECK(same(run(DType::float8e4m3fnuz, 1), {240, -240, 240, -240}));
  CHECK(same(run(DType::float8e5m2, 1), {57344, -57344, 57344, -57344}));
  CHECK(same(run(DType::float8e5m2fnuz, 1), {57344, -57344, 57344, -57344}));
  CHECK(same(run(DType::float8e4m3fn, 0), {undefined, undefined, undefined, undefined}));
  CHECK(same(run(DType::float8e4m3fnuz, 0), {undefined, undefined, undefined, undefined}));
  CHECK(same(run(DType::float8e5m2, 0), {inf, -inf, inf, -inf}));
  CHECK(same(run(DType::float8e5m2fnuz, 0), {undefined, undefined, undefined, undefined}));
  // Rounding comes before the comparison with the largest number; ties go to even.
  const auto values = [](DType dtype, std::vector<double> x) {
    return as_doubles(cast(cast(numbers({static_cast<std::int64_t>(x.size())}, x), dtype,
                                {{"saturate", std::int64_t{0}}}),
                           DType::float64));
  };
  CHECK(same(values(DType::float8e4m3fn, {464, 464.1, 1.0625, 1.1875, 0x1p-10, 0x1.8p-10}),
             {448, undefined, 1, 1.25, 0, 0x1p-9}));
  CHECK(bits_of(cast(numbers({2}, {-0.0, -1e-9}), DType::float8e4m3fnuz)) ==
        std::vector<int>{0, 0});
  CHECK(bits_of(cast(numbers({1}, {-0.0}), DType::float8e5m2)) == std::vector<int>{0x80});
}

TEST_CASE("float8e8m0 rounds to powers of two as it is told") {
  const std::vector<double> x{1, 1.25, 1.5, 3, 0};
  const auto run = [&](const std::string& mode) {
    return as_doubles(
        cast(cast(numbers({5}, x), DType::float8e8m0, {{"round_mode", mode}}), DType::float64));
  };
  CHECK(run("up") == std::vector<double>{1, 2, 2, 4, 0x1p-127});
  CHECK(run("down") == std::vector<double>{1, 1, 1, 2, 0x1p-127});
  CHECK(run("nearest") == std::vector<double>{1, 1, 2, 4, 0x1p-127});
  CHECK_THROWS_AS(run("sideways"), Error);
  const Tensor wide = numbers({4}, {inf, 1e300, 1e-300, undefined});
  CHECK(bits_of(cast(wide, DType::float8e8m0)) == std::vector<int>{0xfe, 0xfe, 0, 0xff});
  CHECK(bits_of(cast(wide, DType::float8e8m0, {{"saturate", std::int64_t{0}}})) ==
        std::vector<int>{0xff, 0xff, 0xff, 0xff});
}

TEST_CASE("Strings are read as numbers and numbers written as text") {
  const std::vector<std::string> text{"3.14", "1e-5", "1E8", "+INF", "inf", "-Inf", "NaN", " -7 "};
  const Tensor strings = Tensor::of<std::string>({8}, text);
  check_close(cast(strings, DType::float64),
              numbers({8}, {3.14, 1e-5, 1e8, inf, inf, -inf, undefined, -7}), {0, 0});
  const Tensor integers =
      Tensor::of<std::string>({3}, std::vector<std::string>{"9223372036854775807", "100.5", "-12"});
  CHECK(cast(integers, DType::int64)
            .identical(Tensor::of<std::int64_t>(
                {3}, std::vector<std::int64_t>{9223372036854775807, 100, -12})));
  CHECK(cast(Tensor::scalar(std::string("18446744073709551615")), DType::uint64)
            .identical(Tensor::scalar(~std::uint64_t{0})));
  for (const std::string bad : {"Hello", "", "1.5x", "--1", "+-1", "0x10"}) {
    CHECK_THROWS_WITH(cast(Tensor::scalar(bad), DType::float32),
                      Catch::Contains("is not a number"));
  }
  const auto written = [](const Tensor& x) { return cast(x, DType::string).item<std::string>(); };
  CHECK(written(Tensor::scalar(314.15926)) == "314.15926");
  CHECK(written(Tensor::scalar(0.1F)) == "0.1");
  CHECK(written(Tensor::scalar(100000.0F)) == "100000");
  CHECK(written(Tensor::scalar(1e30)) == "1e+30");
  CHECK(written(Tensor::scalar(to_float16(0.1F))) == "0.1");
  CHECK(written(Tensor::scalar(to_bfloat16(3.14F))) == "3.14");
  CHECK(written(Tensor::scalar(inf)) == "INF");
  CHECK(written(Tensor::scalar(std::int64_t{-5})) == "-5");
  CHECK(as_doubles(cast(Tensor::scalar(std::string("1e400")), DType::float64))[0] == inf);
  CHECK(as_doubles(cast(Tensor::scalar(std::string("1e-400")), DType::float64))[0] == 0);
  const Tensor random = random_tensor({200}, 5, -1e3, 1e3);
  for (const DType dtype : float_dtypes) {
    const Tensor x = as_dtype(random, dtype);
    CHECK(cast(cast(x, DType::string), dtype).identical(x));
  }
}

TEST_CASE("Cast has its dtype as a name at first, and rejects what is no dtype") {
  const Tensor x = numbers({2}, {1.5, 2});
  const auto run = [&](graph::Attribute to, std::int64_t version) {
    return run_op_tensor({.op = "Cast", .inputs = {x}, .attributes = {to}, .version = version});
  };
  check_close(run({"to", std::string("INT32")}, 1), numbers({2}, {1, 2}, DType::int32));
  CHECK_THROWS_AS(run({"to", std::string("INT33")}, 1), Error);
  CHECK_THROWS_AS(run({"to", std::int64_t{99}}, 13), Error);
  CHECK_THROWS_AS(run({"to", std::int64_t{14}}, 13), Error);
}

TEST_CASE("CastLike takes the dtype of its second input") {
  const Tensor x = numbers({2}, {1.5, 2});
  check_close(run_op_tensor({.op = "CastLike", .inputs = {x, Tensor(DType::int8, {0})}}),
              numbers({2}, {1, 2}, DType::int8));
}

TEST_CASE("Casts between floats pass their derivative") {
  const Tensor x = random_tensor({3}, 1);
  check_gradient({.op = "Cast",
                  .inputs = {x},
                  .attributes = {{"to", static_cast<std::int64_t>(DType::float64)}}});
  check_gradient({.op = "CastLike", .inputs = {x, Tensor::scalar(1.0)}}, {.skip = {1}});
}

TEST_CASE("BitCast keeps the bits") {
  const auto run = [](const Tensor& x, DType to) {
    return run_op_tensor(
        {.op = "BitCast", .inputs = {x}, .attributes = {{"to", static_cast<std::int64_t>(to)}}});
  };
  const Tensor x = Tensor::of<float>({2}, {1.0F, -0.0F});
  const Tensor bits = run(x, DType::uint32);
  CHECK(bits.identical(Tensor::of<std::uint32_t>({2}, {0x3f800000U, 0x80000000U})));
  CHECK(run(bits, DType::float32).identical(x));
  const Tensor narrow = cast(numbers({2}, {15, 3}, DType::int32), DType::uint4);
  CHECK(bits_of(run(narrow, DType::int4)) == std::vector<int>{0xff, 3});
  CHECK(bits_of(run(run(narrow, DType::int4), DType::uint4)) == std::vector<int>{15, 3});
  const Tensor any = Tensor::of<std::uint8_t>({4}, {0, 1, 2, 0x80});
  CHECK(run(any, DType::boolean)
            .identical(Tensor::of<bool>({4}, std::array{false, true, true, true})));
  CHECK_THROWS_AS(run(x, DType::float64), Error);
  CHECK_THROWS_AS(run(x, DType::string), Error);
}
