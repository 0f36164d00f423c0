#include "tests/trainer/cluster/on_ranks.h"

#include <exception>
#include <thread>

namespace ondine::test {

std::vector<std::string> on_ranks(std::size_t size,
                                  const std::function<void(std::shared_ptr<Communicator>)>& work) {
  const auto ranks = thread_communicators(size);
  std::vector<std::string> errors(size);
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < size; ++i) {
    threads.emplace_back([&, i] {
      try {
        work(ranks[i]);
      } catch (const std::exception& error) {
        errors[i] = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  return errors;
}

}  // namespace ondine::test
