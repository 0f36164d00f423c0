// StateStore: versioned state variables. A step writes a new version while inference reads the old
// one.
#pragma once

#include <atomic>
#include <forward_list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ondine/model.h>
#include <ondine/tensor.h>

namespace ondine::trainer {

struct Variable {
  std::string name;
  StateRole role = StateRole::weight;
  Tensor initial;
};

// Any number of threads may read versions while one thread writes.
class StateStore {
 public:
  // Pins a version: none of its tensors is overwritten while the Reader exists.
  class Reader {
   public:
    Reader(Reader&& other) noexcept
        : readers_(std::exchange(other.readers_, nullptr)), tensors_(other.tensors_) {}
    Reader& operator=(Reader&&) = delete;
    ~Reader() {
      if (readers_ != nullptr) readers_->fetch_sub(1, std::memory_order_release);
    }
    const Tensor& operator[](std::size_t i) const { return *(*tensors_)[i]; }

   private:
    friend class StateStore;
    Reader(std::atomic<int>& readers, const std::vector<Tensor*>& tensors)
        : readers_(&readers), tensors_(&tensors) {}
    std::atomic<int>* readers_;
    const std::vector<Tensor*>* tensors_;
  };

  // Scope of an update: the destructor discards what was not committed, for example after an
  // exception.
  class Draft {
   public:
    explicit Draft(StateStore& store) noexcept : store_(store) {}
    ~Draft() { store_.discard(); }
    Draft(const Draft&) = delete;
    Draft& operator=(const Draft&) = delete;

   private:
    StateStore& store_;
  };

  StateStore() = default;
  explicit StateStore(std::vector<Variable> variables);

  std::size_t size() const noexcept { return variables_.size(); }
  const Variable& variable(std::size_t i) const { return variables_[i]; }
  // size() if there is none.
  std::size_t find(std::string_view name) const noexcept;

  Reader read() const;

  // Memory for the next version of variable i, which no reader sees. Allocates only when every
  // buffer of the variable is being read.
  Tensor& next(std::size_t i);
  // Blocks new readers.
  using Hold = std::unique_lock<std::mutex>;
  // For a caller that holds one Reader. If the result owns its lock, there is no other reader of
  // the current version, and there will be none until it is released; otherwise there is one.
  // Afterwards commit() cannot fail.
  Hold hold_readers();
  // Sets variable i of the next version. `value` has the variable's dtype and shape.
  void replace(std::size_t i, Tensor value);
  // Whether variable i lies in its initial value, which is never overwritten.
  bool is_initial(std::size_t i) const;
  // Variable i as commit() would publish it.
  const Tensor& drafted(std::size_t i) const;
  // As next(), but in the memory of the current version if only the caller, which holds one Reader,
  // reads that. Initial values are never overwritten. Requires that readers are blocked or that
  // there can be none.
  Tensor& overwrite(std::size_t i);
  // Makes the tensors returned by next(), with the old tensors of all other variables, the current
  // version and unblocks readers.
  void commit(Hold hold = {});
  // Discards the tensors returned by next() since the last commit.
  void discard() noexcept;

  // Sets every variable of the next version to its initial value.
  void reset();

 private:
  // Tensors of a version, one for each variable: an initial value or a buffer.
  struct Version {
    std::vector<Tensor*> tensors;
    std::atomic<int> readers{0};
  };
  bool in_use(const Tensor& tensor, std::size_t variable) const;
  // The initial value or, where that is computed when it is needed, the same in memory that steps
  // may overwrite: then only one of the two ever takes memory.
  Tensor& initial_version(std::size_t i);
  // A buffer that no version uses; null if there is none.
  Tensor* free_buffer(std::size_t variable);
  std::size_t free_version() const;  // versions_.size() if there is none
  void provide_version();
  void forget_next() noexcept;
  // Strings are replaced, not overwritten: releases those that no version uses.
  void forget_texts() noexcept;

  std::vector<Variable> variables_;
  std::vector<std::size_t> by_name_;  // variables, by name
  bool holds_text_ = false;
  std::vector<std::forward_list<Tensor>> buffers_;  // of each variable
  std::vector<Tensor*> next_;                       // null where the current one stays
  std::vector<std::unique_ptr<Version>> versions_;
  std::size_t present_ = 0;
  mutable std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
};

}  // namespace ondine::trainer
