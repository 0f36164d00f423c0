#include "ondine/train/ranks.h"

#include <exception>
#include <iostream>
#include <streambuf>

namespace ondine::cli {
namespace {

// Takes what is printed and forgets it.
class Silence : public std::streambuf {
 public:
  Silence() : out_(std::cout.rdbuf(this)), err_(std::cerr.rdbuf(this)) {}
  ~Silence() override {
    std::cout.rdbuf(out_);
    std::cerr.rdbuf(err_);
  }
  Silence(const Silence&) = delete;
  Silence& operator=(const Silence&) = delete;

 protected:
  int overflow(int character) override { return character == EOF ? 0 : character; }

 private:
  std::streambuf* out_;
  std::streambuf* err_;
};

int run_quietly(Communicator& ranks, const std::function<int()>& work) {
  const Silence silence;
  int code = 1;
  try {
    agree(ranks, [&] { code = work(); });
  } catch (const std::exception&) {
    // The first rank prints it.
    return 1;
  }
  return code;
}

}  // namespace

int run_on_ranks(const std::function<int(const std::shared_ptr<Communicator>&)>& work) {
  const std::shared_ptr<Communicator> ranks = mpi_communicator();
  if (!ranks) return work(ranks);
  if (ranks->rank() != 0) return run_quietly(*ranks, [&] { return work(ranks); });
  int code = 1;
  std::exception_ptr own;  // keeps its kind, as that of wrong usage
  try {
    agree(*ranks, [&] {
      try {
        code = work(ranks);
      } catch (...) {
        own = std::current_exception();
        throw;
      }
    });
  } catch (const std::exception&) {
    if (own) std::rethrow_exception(own);
    throw;
  }
  return code;
}

}  // namespace ondine::cli
