// Element types. The numbers are those of onnx.TensorProto.DataType.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <ondine/export.h>

namespace ondine {

enum class DType : std::uint8_t {
  undefined = 0,
  float32 = 1,
  uint8 = 2,
  int8 = 3,
  uint16 = 4,
  int16 = 5,
  int32 = 6,
  int64 = 7,
  string = 8,
  boolean = 9,
  float16 = 10,
  float64 = 11,
  uint32 = 12,
  uint64 = 13,
  complex64 = 14,
  complex128 = 15,
  bfloat16 = 16,
  float8e4m3fn = 17,
  float8e4m3fnuz = 18,
  float8e5m2 = 19,
  float8e5m2fnuz = 20,
  uint4 = 21,
  int4 = 22,
  float4e2m1 = 23,
  float8e8m0 = 24,
  uint2 = 25,
  int2 = 26,
};
inline constexpr int dtype_count = 27;

// Storage types: bits only. Arithmetic widens them to float or int first (core/float_formats.h).
struct float16 {
  std::uint16_t bits;
  friend bool operator==(float16, float16) = default;
};
struct bfloat16 {
  std::uint16_t bits;
  friend bool operator==(bfloat16, bfloat16) = default;
};
template <DType>
struct Byte {
  std::uint8_t bits;
  friend bool operator==(Byte, Byte) = default;
};
using float8e4m3fn = Byte<DType::float8e4m3fn>;
using float8e4m3fnuz = Byte<DType::float8e4m3fnuz>;
using float8e5m2 = Byte<DType::float8e5m2>;
using float8e5m2fnuz = Byte<DType::float8e5m2fnuz>;
using float8e8m0 = Byte<DType::float8e8m0>;
// In memory a 4-bit or 2-bit element takes a whole byte: the low bits, the upper ones are zero for
// uint4, uint2 and float4e2m1 and copies of the sign for int4 and int2. Files hold them packed.
using float4e2m1 = Byte<DType::float4e2m1>;
using uint4 = Byte<DType::uint4>;
using int4 = Byte<DType::int4>;
using uint2 = Byte<DType::uint2>;
using int2 = Byte<DType::int2>;

// Bytes of one element in memory; 1 for the types under a byte, sizeof(std::string) for strings,
// 0 for undefined.
ONDINE_API std::size_t size_of(DType dtype) noexcept;
// Bits of one element in a file; 0 for strings and undefined.
ONDINE_API std::size_t packed_bits(DType dtype) noexcept;

// The standard's spelling: "float", "int64", "float8e4m3fn", ...
ONDINE_API std::string_view to_string(DType dtype) noexcept;
// The inverse; undefined for any other text. Accepts "float32" and "float64" too.
ONDINE_API DType dtype_from_string(std::string_view name) noexcept;

ONDINE_API bool is_float(
    DType dtype) noexcept;  // every floating point format, float8 and float4 included
ONDINE_API bool is_integer(DType dtype) noexcept;  // signed and unsigned, 2 to 64 bits; not boolean
ONDINE_API bool is_signed_integer(DType dtype) noexcept;
ONDINE_API bool is_complex(DType dtype) noexcept;
// float16, bfloat16, float32, float64: the types a derivative may have.
ONDINE_API bool is_differentiable(DType dtype) noexcept;

template <class T>
struct DTypeOf;
template <DType D>
struct DTypeOf<Byte<D>> {
  static constexpr DType value = D;
};
#define ONDINE_DTYPE_OF(type, name)             \
  template <>                                   \
  struct DTypeOf<type> {                        \
    static constexpr DType value = DType::name; \
  };
ONDINE_DTYPE_OF(float, float32)
ONDINE_DTYPE_OF(double, float64)
ONDINE_DTYPE_OF(std::uint8_t, uint8)
ONDINE_DTYPE_OF(std::int8_t, int8)
ONDINE_DTYPE_OF(std::uint16_t, uint16)
ONDINE_DTYPE_OF(std::int16_t, int16)
ONDINE_DTYPE_OF(std::uint32_t, uint32)
ONDINE_DTYPE_OF(std::int32_t, int32)
ONDINE_DTYPE_OF(std::uint64_t, uint64)
ONDINE_DTYPE_OF(std::int64_t, int64)
ONDINE_DTYPE_OF(std::string, string)
ONDINE_DTYPE_OF(bool, boolean)
ONDINE_DTYPE_OF(float16, float16)
ONDINE_DTYPE_OF(bfloat16, bfloat16)
ONDINE_DTYPE_OF(std::complex<float>, complex64)
ONDINE_DTYPE_OF(std::complex<double>, complex128)
#undef ONDINE_DTYPE_OF
template <class T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

}  // namespace ondine
