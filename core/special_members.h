// Special members that one source file compiles for all others.
#pragma once

// Declares the special members of a struct, for ONDINE_DEFINE_SPECIAL_MEMBERS to define as the
// compiler would have. For structs of many members that many files hold: each of these files would
// compile the members again, which took a third of the time of a build.
#define ONDINE_DECLARE_SPECIAL_MEMBERS(T) \
  T();                                    \
  T(const T&);                            \
  T(T&&) noexcept;                        \
  T& operator=(const T&);                 \
  T& operator=(T&&) noexcept;             \
  ~T()

#define ONDINE_DEFINE_SPECIAL_MEMBERS(T)   \
  T::T() = default;                        \
  T::T(const T&) = default;                \
  T::T(T&&) noexcept = default;            \
  T& T::operator=(const T&) = default;     \
  T& T::operator=(T&&) noexcept = default; \
  T::~T() = default
