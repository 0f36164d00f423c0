// One step of an optimizer over n elements of a variable. Every output may be its input.
#pragma once

#include <cstdint>

namespace ondine::math {

// x' = x - rate (g + norm x)
template <class T>
struct Sgd {
  T rate = 0;
  T norm = 0;
};

// w' = w - rate A B, a product of few terms: w is m x n, B is k x n, element (i, p) of A is
// a[i a_row + p a_col]. Each row is rounded once for each term.
template <class T>
struct ThinSgdUpdate {
  T rate = 0;
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;  // up to max_terms
  std::int64_t a_row = 0;
  std::int64_t a_col = 0;
  static constexpr std::int64_t max_terms = 4;
};

// g' = g + norm x;  v' = alpha v + beta g';  x' = x - rate v', or x - rate (g' + alpha v')
template <class T>
struct Momentum {
  T rate = 0;
  T alpha = 0;
  T beta = 1;  // 1 in the first iteration
  T norm = 0;
  bool nesterov = false;
};

// g' = g + norm x;  h' = h + g'^2;  x' = x - rate g' / (sqrt h' + epsilon)
template <class T>
struct Adagrad {
  T rate = 0;  // R / (1 + T decay_factor)
  T norm = 0;
  T epsilon = 0;
};

// g' = g + norm x;  v' = alpha v + (1 - alpha) g';  h' = beta h + (1 - beta) g'^2;
// x' = (1 - norm_post) (x - rate v' / (sqrt h' + epsilon))
template <class T>
struct Adam {
  T rate = 0;  // R sqrt(1 - beta^T) / (1 - alpha^T), or R when T is 0
  T alpha = 0;
  T beta = 0;
  T norm = 0;
  T norm_post = 0;
  T epsilon = 0;
};

template <class T>
struct OptimizerKernels {
  void (*sgd)(const Sgd<T>& o, std::int64_t n, const T* x, const T* g, T* x_new);
  void (*thin_sgd_update)(const ThinSgdUpdate<T>& o, const T* w, const T* a, const T* b, T* w_new);
  void (*momentum)(const Momentum<T>& o, std::int64_t n, const T* x, const T* g, const T* v,
                   T* x_new, T* v_new);
  void (*adagrad)(const Adagrad<T>& o, std::int64_t n, const T* x, const T* g, const T* h, T* x_new,
                  T* h_new);
  void (*adam)(const Adam<T>& o, std::int64_t n, const T* x, const T* g, const T* v, const T* h,
               T* x_new, T* v_new, T* h_new);
};

}  // namespace ondine::math
