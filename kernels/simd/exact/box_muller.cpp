// normal_pair of core/random/random.cpp in vectors. There the functions are those of the C library,
// which no vector code repeats to the bit. Rounded to float both are the same, except where a
// number lies within the error of a boundary between two floats: such pairs are left to the caller.
#include "kernels/simd/exact/exact_parts.h"
#include "kernels/simd/exact/philox.h"

namespace ondine::math::ONDINE_ISA {
namespace {

using Vd = Vec<double>;
using Vl = IVec<double>;
constexpr int blocks = lanes<double>;  // of one step, two numbers each
static_assert(box_muller_pairs % blocks == 0);

// Floats of as many lanes, and their bits.
typedef float Floats __attribute__((vector_size(4 * blocks)));
typedef std::int32_t FloatBits __attribute__((vector_size(4 * blocks)));

template <int N>
ONDINE_INLINE Vd polynomial(const Vd& x, const double (&c)[N]) {
  Vd r = broadcast<double>(c[N - 1]);
#pragma GCC unroll 8
  for (int i = N - 2; i >= 0; --i) r = r * x + c[i];
  return r;
}

// Integers below 2^52.
ONDINE_INLINE Vd to_double(const Words& x) {
  return reinterpret_cast<Vd>(x | 0x4330000000000000U) - 0x1p52;
}

// uniform_double.
ONDINE_INLINE Vd uniform(const Words& high, const Words& low) {
  return (to_double(high & 0xffffffffU) * 0x1p21 + to_double((low & 0xffffffffU) >> 11)) * 0x1p-53;
}

// log w, 2^-53 <= w <= 1: e ln 2 + 2 artanh s, s = f / (2 + f), 1 + f in [sqrt(1/2), sqrt(2)), with
// a polynomial of s^2. Relative error 2^-50.
ONDINE_INLINE Vd log_unit(const Vd& w) {
  constexpr double c[] = {0.6666666666666208,  0.400000000112122,   0.2857142413651635,
                          0.22222862476849542, 0.18140185202493248, 0.166219470901774};
  constexpr std::uint64_t root = 0x3fe6a09e00000000U;
  const Words from_root = reinterpret_cast<Words>(w) - root;
  const Vd e = to_double((from_root + (std::uint64_t{1023} << 52)) >> 52) - 1023.0;
  const Vd f = reinterpret_cast<Vd>((from_root & 0xfffffffffffffU) + root) - 1.0;
  const Vd s = f / (f + 2.0);
  const Vd z = s * s;
  return e * 0.6931471805599453 + (s + s + s * z * polynomial(z, c));
}

// Sine and cosine of 2 pi v, 0 <= v < 1: v = q / 4 + r, with polynomials of r^2. Absolute error
// 2^-48.
ONDINE_INLINE void turn(const Vd& v, Vd& sine, Vd& cosine) {
  constexpr double s[] = {6.28318530717956,  -41.341702240275715, 81.60524918344697,
                          -76.7058344508827, 42.05556863325316,   -14.916547409028682};
  constexpr double c[] = {-19.739208802178705, 64.93939402261256,   -85.45681716507781,
                          60.24463000474249,   -26.424852868060537, 7.823552446741925};
  constexpr double magic = 0x1.8p52;  // adding it rounds to an integer
  const Vd shifted = v * 4.0 + magic;
  const Vd r = v - (shifted - magic) * 0.25;
  const Vd z = r * r;
  const Vd sin_r = r * polynomial(z, s);
  const Vd cos_r = 1.0 + z * polynomial(z, c);
  const Words quarter = reinterpret_cast<Words>(shifted);
  const auto is_odd = (quarter & 1U) != 0U;
  const Words sign_of_sine = (quarter & 2U) << 62;
  const Words sign_of_cosine = ((quarter + 1U) & 2U) << 62;
  const Vd y = is_odd ? cos_r : sin_r;
  const Vd x = is_odd ? sin_r : cos_r;
  sine = reinterpret_cast<Vd>(reinterpret_cast<Words>(y) ^ sign_of_sine);
  cosine = reinterpret_cast<Vd>(reinterpret_cast<Words>(x) ^ sign_of_cosine);
}

// The float nearest to `value`, and lanes of ones in `doubt` where one within `error` has another.
ONDINE_INLINE Floats rounded(const Vd& value, const Vd& error, FloatBits& doubt) {
  const Floats low = __builtin_convertvector(value - error, Floats);
  const Floats high = __builtin_convertvector(value + error, Floats);
  doubt |= reinterpret_cast<FloatBits>(low) != reinterpret_cast<FloatBits>(high);
  return high;
}

template <int... I>
ONDINE_INLINE void store_turns(float* to, const Floats& even, const Floats& odd,
                               std::integer_sequence<int, I...>) {
  const Vec<float> pairs = __builtin_shufflevector(even, odd, (I / 2 + (I % 2) * blocks)...);
  store<float>(to, pairs);
}

ONDINE_INLINE bool any(const FloatBits& lanes_of) {
  std::uint64_t words[blocks / 2];
  __builtin_memcpy(words, &lanes_of, sizeof(words));
  std::uint64_t result = 0;
  for (const std::uint64_t word : words) result |= word;
  return result != 0;
}

}  // namespace

std::int64_t box_muller(float* to, const NormalRun& run, std::int32_t* doubtful) {
  Words index{};
  for (int i = 0; i < blocks; ++i) index[i] = run.first + static_cast<std::uint64_t>(i);
  const double most = run.scale < 0 ? -run.scale : run.scale;
  std::int64_t count = 0;
  for (std::int64_t pair = 0; pair < run.pairs; pair += blocks, index += std::uint64_t{blocks}) {
    Words words[4];
    philox(run.key, index, words);
    const Vd radius = square_root<double>(-2.0 * log_unit(1.0 - uniform(words[0], words[1])));
    Vd sine, cosine;
    turn(uniform(words[2], words[3]), sine, cosine);
    // Error of both computations and of the angle there. The last term parts 0 from -0.
    const Vd error = radius * (most * 0x1p-44) + 1e-300;
    const double own = run.shift < 0 ? run.shift * -0x1p-50 : run.shift * 0x1p-50;
    FloatBits doubt{};
    const Floats even = rounded(radius * cosine * run.scale + run.shift, error + own, doubt);
    const Floats odd = rounded(radius * sine * run.scale + run.shift, error + own, doubt);
    store_turns(to + 2 * pair, even, odd, std::make_integer_sequence<int, lanes<float>>());
    if (!any(doubt)) continue;
    for (int i = 0; i < blocks; ++i) {
      if (doubt[i] != 0) doubtful[count++] = static_cast<std::int32_t>(pair + i);
    }
  }
  return count;
}

}  // namespace ondine::math::ONDINE_ISA
