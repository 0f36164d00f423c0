#include "kernels/cast/cast_rows.h"

#include <cstring>

#include "kernels/cast/number_text.h"
#include "kernels/common/saturate.h"

namespace ondine::kernels {
namespace {

using Targets = Types<float, double, float16, bfloat16, std::int8_t, std::int16_t, std::int32_t,
                      std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, bool,
                      int4, uint4, int2, uint2, float8e4m3fn, float8e4m3fnuz, float8e5m2,
                      float8e5m2fnuz, float8e8m0, float4e2m1, std::string>;

// A double that rounds to any format of at most 24 bits of precision as x does: the low bits of
// what is too long are joined into one.
template <std::integral T>
double sticky_double(T x) {
  constexpr T exact = T{1} << 53;
  const bool fits = x < exact && (std::unsigned_integral<T> || x > 0 - exact);
  if (fits) return static_cast<double>(x);
  constexpr T low = 0xfff;
  return static_cast<double>((x & ~low) | ((x & low) != 0 ? 0x800 : 0));
}
inline double sticky_double(double x) { return x; }

template <class T>
constexpr bool is_integer_format = std::is_same_v<T, int4> || std::is_same_v<T, uint4> ||
                                   std::is_same_v<T, int2> || std::is_same_v<T, uint2>;

template <class T, int Bits>
T low_bits(std::uint64_t x) {
  constexpr unsigned mask = (1U << Bits) - 1;
  unsigned bits = static_cast<unsigned>(x) & mask;
  const bool is_signed = is_signed_integer(dtype_of<T>);
  if (is_signed && (bits >> (Bits - 1)) != 0) bits |= ~mask;
  return {static_cast<std::uint8_t>(bits)};
}

template <class To, class Read>
To write(Read x, bool saturating, RoundMode round) {
  if constexpr (std::is_same_v<To, float> || std::is_same_v<To, double>) {
    return static_cast<To>(x);
  } else if constexpr (std::is_same_v<To, bool>) {
    return x != 0;
  } else if constexpr (std::integral<To>) {
    if constexpr (std::floating_point<Read>)
      return saturate<To>(x);
    else
      return static_cast<To>(x);
  } else if constexpr (is_integer_format<To>) {
    constexpr int bits = std::is_same_v<To, int4> || std::is_same_v<To, uint4> ? 4 : 2;
    if constexpr (std::floating_point<Read>) {
      return low_bits<To, bits>(static_cast<std::uint64_t>(saturate<std::int64_t>(x)));
    } else {
      return low_bits<To, bits>(static_cast<std::uint64_t>(x));
    }
  } else {
    const double real = sticky_double(x);
    if constexpr (std::is_same_v<To, float16>) return to_float16(round_to_odd(real));
    if constexpr (std::is_same_v<To, bfloat16>) return to_bfloat16(round_to_odd(real));
    if constexpr (std::is_same_v<To, float8e4m3fn>) return to_float8e4m3fn(real, saturating);
    if constexpr (std::is_same_v<To, float8e4m3fnuz>) return to_float8e4m3fnuz(real, saturating);
    if constexpr (std::is_same_v<To, float8e5m2>) return to_float8e5m2(real, saturating);
    if constexpr (std::is_same_v<To, float8e5m2fnuz>) return to_float8e5m2fnuz(real, saturating);
    if constexpr (std::is_same_v<To, float8e8m0>) return to_float8e8m0(real, saturating, round);
    if constexpr (std::is_same_v<To, float4e2m1>) return to_float4e2m1(real);
  }
}

// params.a: whether to saturate; params.b: the RoundMode, or for text the dtype that was read.
template <class To, class Read>
void write_row(const Row& row) {
  const Read* x = row.in<Read>(0);
  To* y = row.out<To>();
  const bool saturating = row.params.a != 0;
  const auto code = static_cast<std::uint8_t>(row.params.b);
  for (std::int64_t i = 0; i < row.n; ++i) {
    if constexpr (std::is_same_v<To, Read>) {
      y[i] = x[i];
    } else if constexpr (std::is_same_v<To, std::string>) {
      if constexpr (std::floating_point<Read>) {
        y[i] = format_number(x[i], static_cast<DType>(code));
      } else {
        y[i] = std::to_string(x[i]);
      }
    } else if constexpr (std::is_same_v<Read, std::string>) {
      y[i] = std::visit(
          [&](auto number) { return write<To>(number, saturating, static_cast<RoundMode>(code)); },
          parse_number(x[i]));
    } else {
      y[i] = write<To>(x[i], saturating, static_cast<RoundMode>(code));
    }
  }
}

template <class Read>
struct Writers {
  template <class To>
  static RowFunction make() {
    return &write_row<To, Read>;
  }
};

// One step where that is exact and common.
ConvertRow direct(DType from, DType to) {
  if (from == DType::string || to == DType::string) return nullptr;
  if (to == DType::float32) return row_to_float(from);
  if (to == DType::float64) return row_to_double(from);
  if (from == DType::float32 && (to == DType::float16 || to == DType::bfloat16)) {
    return row_from_float(to);
  }
  return nullptr;
}

Kernel direct_kernel(ConvertRow convert, std::int64_t n, std::size_t from, std::size_t to) {
  return [=](graph::KernelContext& call) {
    const auto* x = call.in<std::byte>(0);
    auto* y = call.out<std::byte>(0);
    call.pool().for_chunks(n, elementwise_grain, [&](std::int64_t first, std::int64_t last) {
      const auto at = static_cast<std::size_t>(first);
      convert(y + at * to, x + at * from, last - first);
    });
  };
}

Kernel copy_kernel(std::size_t bytes) {
  return [bytes](graph::KernelContext& call) {
    if (bytes > 0 && call.out<void>(0) != call.in<void>(0)) {
      std::memcpy(call.out<void>(0), call.in<void>(0), bytes);
    }
  };
}

}  // namespace

Kernel bind_cast(const graph::BindContext& context, DType from, DType to, CastOptions options) {
  const Shape shape = context.shape(0);
  if (from == to && from != DType::string) {
    return copy_kernel(static_cast<std::size_t>(shape.size()) * size_of(from));
  }
  if (is_complex(from) || is_complex(to)) {
    fail(ErrorCode::unsupported, "no cast from ", from, " to ", to);
  }
  if (const ConvertRow convert = direct(from, to)) {
    return direct_kernel(convert, shape.size(), size_of(from), size_of(to));
  }
  Elementwise what;
  what.out = shape;
  what.operands.push_back({0, shape});
  ConvertRow& reader = what.operands[0].convert;
  if (from == DType::string) {
    what.row = pick_row<Writers<std::string>>(to, Targets{});
  } else if (is_float(from)) {
    what.row = pick_row<Writers<double>>(to, Targets{});
    if (from != DType::float64) reader = row_to_double(from);
  } else if (from == DType::uint64) {
    what.row = pick_row<Writers<std::uint64_t>>(to, Targets{});
  } else {
    what.row = pick_row<Writers<std::int64_t>>(to, Targets{});
    if (from != DType::int64) reader = row_to_int64(from);
  }
  const bool to_text = to == DType::string;
  what.params = {options.saturate ? 1.0F : 0.0F,
                 to_text ? static_cast<float>(from) : static_cast<float>(options.round)};
  return elementwise(context, what);
}

}  // namespace ondine::kernels
