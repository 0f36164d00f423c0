// Runs a fuzz target without a fuzzer: on files, and on random changes of them.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "core/random.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::uint8_t>;

// What runs now, for the message of a crash.
std::string current = "nothing";

extern "C" void report(int signal) {
  const char* text = "\nfault in ";
  for (const std::string& part : {std::string(text), current, std::string("\n")}) {
    if (::write(2, part.data(), part.size()) < 0) break;
  }
  std::signal(signal, SIG_DFL);
  std::raise(signal);
}

Bytes read(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

void collect(const fs::path& path, std::vector<Bytes>& corpus) {
  if (fs::is_directory(path)) {
    // In the same order on every machine, so that a trial is the same everywhere.
    std::vector<fs::path> inside;
    for (const auto& entry : fs::directory_iterator(path)) inside.push_back(entry.path());
    std::sort(inside.begin(), inside.end());
    for (const fs::path& entry : inside) collect(entry, corpus);
    return;
  }
  corpus.push_back(read(path));
}

// Of this process, so that a busy machine does not make a trial look slow.
double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

constexpr double most_seconds = 5;  // of one trial

// Returns the processor time.
double run(const Bytes& bytes) {
  std::string fault;
  const double start = processor_seconds();
  try {
    LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
  } catch (const std::exception& error) {
    fault = error.what();
  }
  const double took = processor_seconds() - start;
  if (fault.empty() && took > most_seconds) fault = "took " + std::to_string(took) + " s";
  if (fault.empty()) return took;
  std::fprintf(stderr, "fault in %s: %s\n", current.c_str(), fault.c_str());
  std::ofstream("fault.bin", std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
  std::exit(1);
}

class Random {
 public:
  explicit Random(std::uint64_t seed, std::uint64_t trial) : key_{seed, trial, 0} {}
  std::size_t below(std::size_t n) { return ondine::random_block(key_, count_++)[0] % n; }

 private:
  ondine::RandomKey key_;
  std::uint64_t count_ = 0;
};

// A few bytes overwritten, removed, repeated, or another file's put in; or all of it random.
Bytes changed(const std::vector<Bytes>& corpus, Random random) {
  Bytes bytes = corpus.empty() ? Bytes() : corpus[random.below(corpus.size())];
  if (bytes.empty() || random.below(4) == 0) {
    bytes.resize(random.below(600));
    for (auto& byte : bytes) byte = static_cast<std::uint8_t>(random.below(256));
    return bytes;
  }
  for (std::size_t n = 1 + random.below(4); n > 0 && !bytes.empty(); --n) {
    const std::size_t at = random.below(bytes.size());
    const std::size_t length = 1 + random.below(std::min<std::size_t>(bytes.size() - at, 16));
    const auto first = bytes.begin() + static_cast<std::ptrdiff_t>(at);
    const auto last = first + static_cast<std::ptrdiff_t>(length);
    switch (random.below(5)) {
      case 0:
        bytes[at] = static_cast<std::uint8_t>(random.below(256));
        break;
      case 1:
        bytes[at] = static_cast<std::uint8_t>(bytes[at] ^ 1U << random.below(8));
        break;
      case 2:
        bytes.erase(first, last);
        break;
      case 3: {
        const Bytes copy(first, last);
        bytes.insert(bytes.begin() + static_cast<std::ptrdiff_t>(random.below(bytes.size())),
                     copy.begin(), copy.end());
        break;
      }
      default: {
        const Bytes& other = corpus[random.below(corpus.size())];
        if (other.empty()) break;
        const std::size_t from = random.below(other.size());
        const std::size_t most = std::min(length, other.size() - from);
        bytes.insert(first, other.begin() + static_cast<std::ptrdiff_t>(from),
                     other.begin() + static_cast<std::ptrdiff_t>(from + most));
      }
    }
  }
  return bytes;
}

}  // namespace

// fuzz_NAME [--seconds S] [--seed N] [--trial N] PATH...
// Trial N of a seed is the same for the same files. With --trial that one alone runs.
int main(int argc, char** argv) {
  double seconds = 0;
  std::uint64_t seed = 1;
  std::uint64_t trial = 0;
  bool single = false;
  std::vector<Bytes> corpus;
  std::vector<fs::path> paths;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "0";
    if (argument == "--seconds") {
      seconds = std::atof(value), ++i;
    } else if (argument == "--seed") {
      seed = std::strtoull(value, nullptr, 10), ++i;
    } else if (argument == "--trial") {
      trial = std::strtoull(value, nullptr, 10), single = true, ++i;
    } else {
      paths.emplace_back(argument);
    }
  }
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL}) std::signal(signal, report);
  for (const fs::path& path : paths) collect(path, corpus);
  if (single) {
    current = "seed " + std::to_string(seed) + " trial " + std::to_string(trial);
    run(changed(corpus, Random(seed, trial)));
    return 0;
  }
  for (std::size_t i = 0; i < corpus.size(); ++i) {
    current = "file " + std::to_string(i);
    run(corpus[i]);
  }
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  double longest = 0;
  std::uint64_t slowest = 0;
  for (; Clock::now() < end; ++trial) {
    current = "seed " + std::to_string(seed) + " trial " + std::to_string(trial);
    const double took = run(changed(corpus, Random(seed, trial)));
    if (took > longest) longest = took, slowest = trial;
  }
  std::printf("%zu files, %llu trials, the longest (%llu) took %.3f s\n", corpus.size(),
              static_cast<unsigned long long>(trial), static_cast<unsigned long long>(slowest),
              longest);
  return 0;
}
