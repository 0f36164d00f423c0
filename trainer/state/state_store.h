// The state variables of a model, in versions: a step writes a new version while inference still
// reads the old one.
#pragma once

#include <atomic>
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

// Reading versions is for any number of threads, writing for one.
class StateStore {
 public:
  // Holds one version while it exists: none of its tensors is written.
  class Reader {
   public:
    Reader(Reader&& other) noexcept
        : readers_(std::exchange(other.readers_, nullptr)), tensors_(other.tensors_) {}
    Reader& operator=(Reader&&) = delete;
    ~Reader() {
      if (readers_ != nullptr) readers_->fetch_sub(1, std::memory_order_release);
    }
    const Tensor& operator[](std::size_t i) const { return (*tensors_)[i]; }

   private:
    friend class StateStore;
    Reader(std::atomic<int>& readers, const std::vector<Tensor>& tensors)
        : readers_(&readers), tensors_(&tensors) {}
    std::atomic<int>* readers_;
    const std::vector<Tensor>* tensors_;
  };

  // What is not committed is forgotten when it goes, as after an exception.
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
  // size() when there is none.
  std::size_t find(std::string_view name) const noexcept;

  Reader read() const;

  // Starts the next version: memory for variable i that no reader sees. Allocates only when every
  // buffer of the variable is being read.
  Tensor& next(std::size_t i);
  // Keeps new readers waiting.
  using Hold = std::unique_lock<std::mutex>;
  // For a caller who holds one Reader. When the hold owns its lock nobody else reads the present
  // version, and nobody will before it is given up; else somebody does. After this, commit() cannot
  // fail.
  Hold hold_readers();
  // Starts the next version of variable i in the memory of the present one, where nobody but the
  // caller, who holds one Reader, reads that; else as next(). Initial values are never overwritten.
  // Only while readers are held, or where there can be none.
  Tensor& overwrite(std::size_t i);
  // Makes the tensors asked for by next() the present version, together with the old ones of all
  // others, and lets readers go on.
  void commit(Hold hold = {});
  // Forgets what next() gave out since the last commit.
  void discard() noexcept;

  // Resets every variable to its initial value, in the next version.
  void reset();

 private:
  struct Version {
    std::vector<Tensor> tensors;
    std::atomic<int> readers{0};
  };
  bool in_use(const Tensor& tensor, std::size_t variable) const;
  std::size_t free_version() const;  // versions_.size() when there is none
  void provide_version();

  std::vector<Variable> variables_;
  std::vector<std::vector<Tensor>> buffers_;  // all memory of each variable
  std::vector<Tensor> next_;                  // undefined where the present one stays
  std::vector<std::unique_ptr<Version>> versions_;
  std::size_t present_ = 0;
  mutable std::unique_ptr<std::mutex> mutex_ = std::make_unique<std::mutex>();
};

}  // namespace ondine::trainer
