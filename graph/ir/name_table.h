// A map from names to small values, for the many names of a model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <utility>
#include <vector>

namespace ondine::graph {

// A hash table without a block of memory for each entry. It refers to the names, which must outlive
// it. Adding an entry makes pointers to others stale.
template <class T>
class NameTable {
 public:
  void reserve(std::size_t names) {
    entries_.reserve(names);
    if (slots_for(names) > slots_.size()) index(slots_for(names));
  }
  std::size_t size() const noexcept { return entries_.size(); }

  // nullptr where there is none.
  T* find(std::string_view name) noexcept {
    return const_cast<T*>(std::as_const(*this).find(name));
  }
  const T* find(std::string_view name) const noexcept {
    if (slots_.empty()) return nullptr;
    const Slot slot = slots_[place_of(name, hash_of(name))];
    return slot.entry == none ? nullptr : &entries_[slot.entry].second;
  }
  bool contains(std::string_view name) const noexcept { return find(name) != nullptr; }

  // The value of the name, and whether it was added: `T()`.
  std::pair<T*, bool> add(std::string_view name) {
    if (slots_for(entries_.size() + 1) > slots_.size()) index(slots_for(entries_.size() + 1));
    const std::uint32_t hash = hash_of(name);
    Slot& slot = slots_[place_of(name, hash)];
    const bool is_new = slot.entry == none;
    if (is_new) {
      entries_.emplace_back(name, T());
      slot = {hash, static_cast<std::uint32_t>(entries_.size() - 1)};
    }
    return {&entries_[slot.entry].second, is_new};
  }

 private:
  static constexpr std::uint32_t none = static_cast<std::uint32_t>(-1);
  struct Slot {
    std::uint32_t hash = 0;
    std::uint32_t entry = none;
  };

  static std::uint32_t hash_of(std::string_view name) noexcept {
    return static_cast<std::uint32_t>(std::hash<std::string_view>()(name));
  }

  // A power of two, of which at least a quarter is free.
  static std::size_t slots_for(std::size_t names) noexcept {
    std::size_t slots = 16;
    while (names > slots / 4 * 3) slots *= 2;
    return slots;
  }

  // Where the name is, or the free slot where it belongs.
  std::size_t place_of(std::string_view name, std::uint32_t hash) const noexcept {
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash & mask;
    for (; slots_[at].entry != none; at = (at + 1) & mask) {
      if (slots_[at].hash == hash && entries_[slots_[at].entry].first == name) break;
    }
    return at;
  }

  void index(std::size_t slots) {
    std::vector<Slot> old(slots);
    old.swap(slots_);
    const std::size_t mask = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (slot.entry == none) continue;
      std::size_t at = slot.hash & mask;
      while (slots_[at].entry != none) at = (at + 1) & mask;
      slots_[at] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::vector<std::pair<std::string_view, T>> entries_;  // in the order in which they were added
};

}  // namespace ondine::graph
