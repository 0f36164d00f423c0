#include <ondine/dtype.h>

#include <array>

namespace ondine {
namespace {

enum class Family : std::uint8_t {
  none,
  floating,
  signed_integer,
  unsigned_integer,
  complex,
  other
};

struct Row {
  std::string_view name;
  std::uint8_t bytes;  // in memory
  std::uint8_t bits;   // in a file
  Family family;
};

// Indexed by DType.
constexpr std::array<Row, dtype_count> rows{{
    {"undefined", 0, 0, Family::none},
    {"float", 4, 32, Family::floating},
    {"uint8", 1, 8, Family::unsigned_integer},
    {"int8", 1, 8, Family::signed_integer},
    {"uint16", 2, 16, Family::unsigned_integer},
    {"int16", 2, 16, Family::signed_integer},
    {"int32", 4, 32, Family::signed_integer},
    {"int64", 8, 64, Family::signed_integer},
    {"string", sizeof(std::string), 0, Family::other},
    {"bool", 1, 8, Family::other},
    {"float16", 2, 16, Family::floating},
    {"double", 8, 64, Family::floating},
    {"uint32", 4, 32, Family::unsigned_integer},
    {"uint64", 8, 64, Family::unsigned_integer},
    {"complex64", 8, 64, Family::complex},
    {"complex128", 16, 128, Family::complex},
    {"bfloat16", 2, 16, Family::floating},
    {"float8e4m3fn", 1, 8, Family::floating},
    {"float8e4m3fnuz", 1, 8, Family::floating},
    {"float8e5m2", 1, 8, Family::floating},
    {"float8e5m2fnuz", 1, 8, Family::floating},
    {"uint4", 1, 4, Family::unsigned_integer},
    {"int4", 1, 4, Family::signed_integer},
    {"float4e2m1", 1, 4, Family::floating},
    {"float8e8m0", 1, 8, Family::floating},
    {"uint2", 1, 2, Family::unsigned_integer},
    {"int2", 1, 2, Family::signed_integer},
}};

const Row& row(DType dtype) noexcept {
  const auto index = static_cast<std::size_t>(dtype);
  return rows[index < rows.size() ? index : 0];
}

}  // namespace

std::size_t size_of(DType dtype) noexcept { return row(dtype).bytes; }
std::size_t packed_bits(DType dtype) noexcept { return row(dtype).bits; }
std::string_view to_string(DType dtype) noexcept { return row(dtype).name; }

DType dtype_from_string(std::string_view name) noexcept {
  if (name == "float32") return DType::float32;
  if (name == "float64") return DType::float64;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].name == name) return static_cast<DType>(i);
  }
  return DType::undefined;
}

bool is_float(DType dtype) noexcept { return row(dtype).family == Family::floating; }
bool is_signed_integer(DType dtype) noexcept { return row(dtype).family == Family::signed_integer; }
bool is_integer(DType dtype) noexcept {
  return is_signed_integer(dtype) || row(dtype).family == Family::unsigned_integer;
}
bool is_complex(DType dtype) noexcept { return row(dtype).family == Family::complex; }
bool is_differentiable(DType dtype) noexcept {
  return dtype == DType::float32 || dtype == DType::float64 || dtype == DType::float16 ||
         dtype == DType::bfloat16;
}

}  // namespace ondine
