// Derivatives of a depthwise convolution whose input is a normalized plane. The normalized plane is
// recomputed where it is needed, vector by vector, and what the window says of it is masked and
// summed while it is in registers.
#include "kernels/simd/conv/conv_parts.h"
#include "kernels/simd/vector/in_register.h"
#include "kernels/simd/vector/machine.h"
#include "kernels/simd/vector/strided.h"
#include "kernels/simd/vector/widened.h"

namespace ondine::math::ONDINE_ISA {
namespace {

constexpr N ring_rows = 4;    // what a row of x reads and one ahead, as a power of two
constexpr N max_terms = 128;  // of a sum in a register

// Columns of x that are computed together: all, or pairs of them.
N column_steps(const ConvPlane& p) { return divide_up(p.in_w, p.stride_w); }

// The rows of dy, each copied before it is read, with zeros before and after its elements.
template <class T>
class GradientRows {
 public:
  GradientRows(const T* dy, const ConvPlane& p, void* scratch)
      : dy_(dy),
        height_(p.out_h),
        width_(p.out_w),
        pitch_(pitch(p)),
        ring_(static_cast<T*>(scratch) + left) {
    set_zero(ring_ - left, elements(p));
  }
  static N elements(const ConvPlane& p) { return (ring_rows + 1) * pitch(p); }

  void copy_up_to(N end) {
    for (end = min(end, height_); next_ < end; ++next_) {
      copy_short(at(next_), dy_ + next_ * width_, min(width_, pitch_ - left));
    }
  }
  // Elements -1 to a vector past the columns of x can be read.
  const T* operator[](N row) const {
    return row >= 0 && row < height_ ? at(row) : ring_ + ring_rows * pitch_;
  }

 private:
  static constexpr N left = lanes<T>;
  static N pitch(const ConvPlane& p) {
    constexpr N L = lanes<T>;
    return divide_up(column_steps(p), L) * L + 2 * L;
  }
  T* at(N row) const { return ring_ + row % ring_rows * pitch_; }

  const T* dy_;
  N height_, width_, pitch_;
  T* ring_;
  N next_ = 0;
};

// Sums for the taps of the window, then sum dx and sum dx (x - mean).
template <class T>
struct Sums {
  Vec<T> window[9];
  Vec<T> total, product;
};

template <class T>
ONDINE_INLINE Vec<T> first_lanes(const Vec<T>& v, N count) {
  alignas(vector_bytes) static constexpr T ones[] = {1, 1, 1, 1, 1, 1, 1, 1,
                                                     1, 1, 1, 1, 1, 1, 1, 1};
  return load_n(ones, count) != Vec<T>{} ? v : Vec<T>{};
}

// Loads once what each instruction under a mask would load again.
template <class T>
ONDINE_INLINE Vec<T> load_for_masks(const T* p) {
  const Vec<T> v = load(p);
  return has_mask_registers ? in_register(v) : v;
}

// A vector of x, normalized.
template <class T, bool Part>
struct Normal {
  ONDINE_MEMBER Normal(const Normalization<T>& by, const Vec<T>& x, N lanes_of_x)
      : count(lanes_of_x) {
    const NormRow<T>& row = by.row;
    v = (x - row.mean) * row.a + row.bias;
    centred = x - row.mean;
    z = v < row.low ? broadcast(by.floor) : v;
    z = v > row.high ? broadcast(row.high) : z;
    if constexpr (Part) z = first_lanes<T>(z, count);
  }
  // dx where it counts.
  ONDINE_MEMBER Vec<T> masked(const NormRow<T>& row, const Vec<T>& dx) const {
    const Vec<T> inside = (v < row.low) | (v > row.high) ? Vec<T>{} : dx;
    return Part ? first_lanes<T>(inside, count) : inside;
  }
  N count;  // of lanes
  Vec<T> v, centred, z;
};

template <class T, bool Part>
ONDINE_INLINE Vec<T> add_to_sums(const Normal<T, Part>& normal, const NormRow<T>& row,
                                 const Vec<T>& dx, Sums<T>& sums) {
  const Vec<T> masked = normal.masked(row, dx);
  sums.total += masked;
  sums.product += masked * normal.centred;
  return masked;
}

// A vector of a row of x with stride 1; dy[kh] is the row that tap kh leads to.
template <class T, bool Part, class X>
ONDINE_INLINE void add_vector(const T* const (&dy)[3], const Normalization<T>& by, const T* w,
                              const X* x, T* dx, N j, N count, Sums<T>& sums) {
  const Normal<T, Part> normal(by, Part ? load_widened_n(x + j, count) : load_widened(x + j),
                               count);
  Vec<T> slope{};
#pragma GCC unroll 9
  for (int k = 0; k < 9; ++k) {
    const Vec<T> d = load_for_masks(dy[k / 3] + j + 1 - k % 3);
    sums.window[k] += d * normal.z;
    slope += w[k] * d;
  }
  slope = add_to_sums<T, Part>(normal, by.row, slope, sums);
  if (Part) {
    store_n(dx + j, slope, count);
  } else {
    store(dx + j, slope);
  }
}

template <class T, class X>
__attribute__((noinline)) void add_row(const T* const (&dy)[3], const Normalization<T>& given,
                                       const T* window, const X* x, T* dx, N n, Sums<T>& all) {
  constexpr int L = lanes<T>;
  const Normalization<T> by = given;
  T w[9];
  for (int k = 0; k < 9; ++k) w[k] = window[k];
  Sums<T> sums = all;
  N j = 0;
  for (; j + L <= n; j += L) add_vector<T, false>(dy, by, w, x, dx, j, L, sums);
  if (j < n) add_vector<T, true>(dy, by, w, x, dx, j, n - j, sums);
  all = sums;
}

// Even and odd elements of two vectors, and back.
template <class T, int... I>
ONDINE_INLINE void split(Vec<T>& a, Vec<T>& b, std::integer_sequence<int, I...>) {
  const Vec<T> even = __builtin_shufflevector(a, b, (2 * I)...);
  b = __builtin_shufflevector(a, b, (2 * I + 1)...);
  a = even;
}
template <class T, int... I>
ONDINE_INLINE void join(Vec<T>& a, Vec<T>& b, std::integer_sequence<int, I...>) {
  constexpr int L = lanes<T>;
  const Vec<T> low = __builtin_shufflevector(a, b, (I / 2 + I % 2 * L)...);
  b = __builtin_shufflevector(a, b, ((I + L) / 2 + I % 2 * L)...);
  a = low;
}

// Two vectors of a row of x with stride 2, from pair j on. An even row is under the middle row of
// the window at a row of dy, dy[0], an odd one under its last row there and under its first at
// dy[1]; an even column is under the middle column, an odd one under the last and, at the next
// element of dy, under the first.
template <class T, bool Odd, bool Part, class X>
ONDINE_INLINE void add_pairs(const T* const (&dy)[2], const Normalization<T>& by, const T* w,
                             const X* x, T* dx, N j, N count, Sums<T>& sums) {
  constexpr int L = lanes<T>;
  constexpr auto every = std::make_integer_sequence<int, L>();
  const N low = count < L ? count : L;
  Vec<T> even = Part ? load_widened_n(x + 2 * j, low) : load_widened(x + 2 * j);
  Vec<T> odd{};
  if (!Part) odd = load_widened(x + 2 * j + L);
  if (Part && count > L) odd = load_widened_n(x + 2 * j + L, count - L);
  split<T>(even, odd, every);
  const Normal<T, Part> at_even(by, even, (count + 1) / 2);
  const Normal<T, Part> at_odd(by, odd, count / 2);
  even = odd = Vec<T>{};
#pragma GCC unroll 2
  for (int r = 0; r < (Odd ? 2 : 1); ++r) {
    const int tap = !Odd ? 3 : r == 0 ? 6 : 0;  // the first of the window's row
    const Vec<T> d = load_for_masks(dy[r] + j);
    const Vec<T> next = load_for_masks(dy[r] + j + 1);
    sums.window[tap] += next * at_odd.z;
    sums.window[tap + 1] += d * at_even.z;
    sums.window[tap + 2] += d * at_odd.z;
    even += w[tap + 1] * d;
    odd += w[tap + 2] * d;
    odd += w[tap] * next;
  }
  even = add_to_sums<T, Part>(at_even, by.row, even, sums);
  odd = add_to_sums<T, Part>(at_odd, by.row, odd, sums);
  join<T>(even, odd, every);
  if (!Part) {
    store(dx + 2 * j, even);
    store(dx + 2 * j + L, odd);
    return;
  }
  store_n(dx + 2 * j, even, low);
  if (count > L) store_n(dx + 2 * j + L, odd, count - L);
}

template <class T, bool Odd, class X>
__attribute__((noinline)) void add_row_of_pairs(const T* const (&dy)[2],
                                                const Normalization<T>& given, const T* window,
                                                const X* x, T* dx, N n, Sums<T>& all) {
  constexpr int L = lanes<T>;
  const Normalization<T> by = given;
  T w[9];
  for (int k = 0; k < 9; ++k) w[k] = window[k];
  Sums<T> sums = all;
  N j = 0;
  for (; 2 * j + 2 * L <= n; j += L) add_pairs<T, Odd, false>(dy, by, w, x, dx, j, 2 * L, sums);
  if (2 * j < n) add_pairs<T, Odd, true>(dy, by, w, x, dx, j, n - 2 * j, sums);
  all = sums;
}

// Sums of rows, moved on in double before they have too many terms.
template <class T>
class PlaneSums {
 public:
  PlaneSums(const ConvPlane& p, double* sums)
      : sums_(sums), terms_of_row_(divide_up(column_steps(p), lanes<T>)) {}
  Sums<T>& rows() { return rows_; }
  void end_row() {
    terms_ += terms_of_row_;
    if (terms_ >= max_terms) flush();
  }
  void flush() {
    for (int k = 0; k < 9; ++k) sums_[k] += static_cast<double>(lane_sum<T>(rows_.window[k]));
    sums_[9] += static_cast<double>(lane_sum<T>(rows_.total));
    sums_[10] += static_cast<double>(lane_sum<T>(rows_.product));
    rows_ = Sums<T>();
    terms_ = 0;
  }

 private:
  double* sums_;
  N terms_of_row_;
  N terms_ = 0;
  Sums<T> rows_{};
};

template <class T>
N scratch_bytes(const ConvPlane& p) {
  return GradientRows<T>::elements(p) * static_cast<N>(sizeof(T));
}

// Asks for n elements some way ahead of element `at` of a plane, or of that of the next image:
// streams of the hardware end where pages do.
template <int Write, class T>
ONDINE_INLINE void ask_ahead(const T* plane, N at, N n, N size, N image) {
  constexpr N ahead = 4096 / static_cast<N>(sizeof(T)), line = 64 / static_cast<N>(sizeof(T));
  at += at + ahead < size ? ahead : ahead + image - size;
  for (N i = at; i < at + n; i += line) __builtin_prefetch(plane + i, Write);
}

template <class T, class X>
void backward(const ConvPlane& p, const PlaneStrides& next, const Normalization<T>& by, const X* x,
              const T* dy, const T* w, T* dx, double* sums, void* scratch) {
  GradientRows<T> rows(dy, p, scratch);
  PlaneSums<T> of(p, sums);
  const N n = p.in_w;
  const N steps = divide_up(p.in_h, p.stride_h);
  rows.copy_up_to(2);
  for (N i = 0; i < steps; ++i) {
    rows.copy_up_to(i + 3);
    const N at = i * p.stride_h * n;
    ask_ahead<0>(x, at, p.stride_h * n, p.in_h * n, next.x);
    ask_ahead<1>(dx, at, p.stride_h * n, p.in_h * n, next.x);
    ask_ahead<0>(dy, i * p.out_w, p.out_w, p.out_h * p.out_w, next.y);
    if (p.stride_h == 1) {
      const T* const read[] = {rows[i + 1], rows[i], rows[i - 1]};
      add_row<T>(read, by, w, x + i * n, dx + i * n, n, of.rows());
    } else {
      const T* const read[] = {rows[i], rows[i + 1]};
      const N r = 2 * i;
      add_row_of_pairs<T, false>(read, by, w, x + r * n, dx + r * n, n, of.rows());
      if (r + 1 < p.in_h) {
        add_row_of_pairs<T, true>(read, by, w, x + (r + 1) * n, dx + (r + 1) * n, n, of.rows());
      }
    }
    of.end_row();
  }
  of.flush();
}

template <class T, class X = T>
constexpr DepthwiseNormKernels<T, X> kernels_of = {&scratch_bytes<T>, &backward<T, X>};

}  // namespace

constinit const DepthwiseNormKernels<float> depthwise_norm_f32 = kernels_of<float>;
constinit const DepthwiseNormKernels<double> depthwise_norm_f64 = kernels_of<double>;
constinit const DepthwiseNormKernels<float, std::uint16_t> depthwise_norm_bf16 =
    kernels_of<float, std::uint16_t>;

}  // namespace ondine::math::ONDINE_ISA
