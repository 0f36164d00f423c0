// A list that few objects have.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

#include "graph/ir/boxed.h"

namespace ondine::graph {

// A vector as large as a pointer while nothing was added. Copies are deep; one that was moved from
// is empty.
template <class T>
class BoxedList {
 public:
  BoxedList() = default;
  BoxedList(std::vector<T> items) : items_(std::move(items)) {}  // NOLINT: implicit
  BoxedList(std::initializer_list<T> items) : items_(std::vector<T>(items)) {}

  bool empty() const noexcept { return items_->empty(); }
  std::size_t size() const noexcept { return items_->size(); }
  std::size_t capacity() const noexcept { return items_->capacity(); }

  const T* begin() const noexcept { return items_->data(); }
  const T* end() const noexcept { return items_->data() + size(); }
  T* begin() { return empty() ? nullptr : items_.edit().data(); }
  T* end() { return begin() + size(); }

  const T& operator[](std::size_t i) const noexcept { return (*items_)[i]; }
  T& operator[](std::size_t i) { return items_.edit()[i]; }
  const T& at(std::size_t i) const { return items_->at(i); }
  const T& back() const noexcept { return items_->back(); }

  void push_back(T item) { items_.edit().push_back(std::move(item)); }

  friend bool operator==(const BoxedList& a, const BoxedList& b) { return *a.items_ == *b.items_; }

 private:
  Boxed<std::vector<T>> items_;
};

}  // namespace ondine::graph
