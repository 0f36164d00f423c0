#include <ondine/dtype.h>

#include <catch2/catch.hpp>
#include <string>

using namespace ondine;

TEST_CASE("every dtype is found by its name, and some by another one") {
  for (std::size_t i = 1; i < dtype_count; ++i) {
    const auto dtype = static_cast<DType>(i);
    INFO(to_string(dtype));
    CHECK(dtype_from_string(to_string(dtype)) == dtype);
  }
  CHECK(dtype_from_string("float") == DType::float32);
  CHECK(dtype_from_string("float32") == DType::float32);
  CHECK(dtype_from_string("double") == DType::float64);
  CHECK(dtype_from_string("float64") == DType::float64);
  for (const char* name : {"", "undefined", "Float", "float3", "float128", "int"}) {
    CHECK(dtype_from_string(name) == DType::undefined);
  }
  CHECK(to_string(static_cast<DType>(dtype_count)) == "undefined");
  CHECK(size_of(static_cast<DType>(dtype_count)) == 0);
}

TEST_CASE("dtypes have their sizes in memory and in files, and belong to one family each") {
  struct Row {
    DType dtype;
    std::size_t bytes, bits;
    char family;  // f, s(igned), u(nsigned), c(omplex), or o(ther)
  };
  for (const Row& row :
       {Row{DType::float32, 4, 32, 'f'},   Row{DType::float64, 8, 64, 'f'},
        Row{DType::float16, 2, 16, 'f'},   Row{DType::bfloat16, 2, 16, 'f'},
        Row{DType::float8e5m2, 1, 8, 'f'}, Row{DType::float4e2m1, 1, 4, 'f'},
        Row{DType::int8, 1, 8, 's'},       Row{DType::int16, 2, 16, 's'},
        Row{DType::int32, 4, 32, 's'},     Row{DType::int64, 8, 64, 's'},
        Row{DType::int4, 1, 4, 's'},       Row{DType::int2, 1, 2, 's'},
        Row{DType::uint8, 1, 8, 'u'},      Row{DType::uint16, 2, 16, 'u'},
        Row{DType::uint32, 4, 32, 'u'},    Row{DType::uint64, 8, 64, 'u'},
        Row{DType::uint4, 1, 4, 'u'},      Row{DType::uint2, 1, 2, 'u'},
        Row{DType::complex64, 8, 64, 'c'}, Row{DType::complex128, 16, 128, 'c'},
        Row{DType::boolean, 1, 8, 'o'},    Row{DType::string, sizeof(std::string), 0, 'o'}}) {
    INFO(to_string(row.dtype));
    CHECK(size_of(row.dtype) == row.bytes);
    CHECK(packed_bits(row.dtype) == row.bits);
    CHECK(is_float(row.dtype) == (row.family == 'f'));
    CHECK(is_signed_integer(row.dtype) == (row.family == 's'));
    CHECK(is_integer(row.dtype) == (row.family == 's' || row.family == 'u'));
    CHECK(is_complex(row.dtype) == (row.family == 'c'));
    CHECK(is_differentiable(row.dtype) == (row.family == 'f' && row.bits >= 16));
  }
}
