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
#include <limits>
#include <string>
#include <vector>

#include "core/random/random.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
// Mutator of targets whose inputs have a structure (model_mutator.cpp); null for others.
extern "C" [[gnu::weak]] std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                                             std::size_t max_size, unsigned seed);
// Mutation of bytes that libFuzzer offers to a mutator.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::uint8_t>;

// Name of the trial that runs now, for the message of a crash.
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

void write(const fs::path& file, const Bytes& bytes) {
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()),
             static_cast<std::streamsize>(bytes.size()));
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

// Processor time of this process, so that a busy machine does not make a trial look slow.
double processor_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

constexpr double most_seconds = 5;  // of one trial

// Runs a trial and returns its processor time in seconds.
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
  write("fault.bin", bytes);
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
Bytes changed_bytes(const std::vector<Bytes>& corpus, Random& random) {
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

constexpr std::size_t max_bytes = 65'536;
// Random numbers from which LLVMFuzzerMutate draws.
Random* drawn = nullptr;

// Changed input of the corpus; keeps the structure of the target's inputs if they have one.
Bytes changed(const std::vector<Bytes>& corpus, Random random) {
  drawn = &random;
  if (LLVMFuzzerCustomMutator == nullptr) return changed_bytes(corpus, random);
  Bytes bytes = corpus.empty() ? Bytes() : corpus[random.below(corpus.size())];
  const std::size_t size = std::min(bytes.size(), max_bytes);
  bytes.resize(max_bytes);
  const auto seed = static_cast<unsigned>(random.below(std::size_t{1} << 31));
  bytes.resize(LLVMFuzzerCustomMutator(bytes.data(), size, max_bytes, seed));
  return bytes;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size,
                                        std::size_t max_size) {
  Bytes bytes = changed_bytes({Bytes(data, data + size)}, *drawn);
  bytes.resize(std::min(bytes.size(), max_size));
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

namespace {

struct Options {
  double seconds = 0;
  std::uint64_t trials = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t seed = 1;
  std::uint64_t trial = 0;
  bool single = false;
  std::string kept;
  std::vector<fs::path> paths;
};

Options read_options(int argc, char** argv) {
  Options options;
  bool timed = false;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const char* value = i + 1 < argc ? argv[i + 1] : "0";
    const auto number = [&] { return ++i, std::strtoull(value, nullptr, 10); };
    if (argument == "--seconds") {
      options.seconds = std::atof(value), timed = true, ++i;
    } else if (argument == "--trials") {
      options.trials = number();
      if (!timed) options.seconds = 1e6;
    } else if (argument == "--seed") {
      options.seed = number();
    } else if (argument == "--trial") {
      options.trial = number(), options.single = true;
    } else if (argument == "--keep") {
      options.kept = value, ++i;
    } else {
      options.paths.emplace_back(argument);
    }
  }
  return options;
}

}  // namespace

// fuzz_NAME [--seconds S] [--trials N] [--seed N] [--trial N [--keep FILE]] PATH...
// Trial N of a seed is the same for the same files. With --trial that one alone runs, and with
// --keep its input is written instead.
int main(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  std::vector<Bytes> corpus;
  for (const int signal : {SIGSEGV, SIGABRT, SIGFPE, SIGBUS, SIGILL}) std::signal(signal, report);
  for (const fs::path& path : options.paths) collect(path, corpus);
  std::uint64_t trial = options.trial;
  const auto begin = [&] {
    current = "seed " + std::to_string(options.seed) + " trial " + std::to_string(trial);
    return changed(corpus, Random(options.seed, trial));
  };
  if (options.single) {
    const Bytes bytes = begin();
    options.kept.empty() ? static_cast<void>(run(bytes)) : write(options.kept, bytes);
    return 0;
  }
  for (std::size_t i = 0; i < corpus.size(); ++i) {
    current = "file " + std::to_string(i);
    run(corpus[i]);
  }
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::duration<double>(options.seconds);
  double longest = 0;
  std::uint64_t slowest = 0;
  for (; trial < options.trials && Clock::now() < end; ++trial) {
    const double took = run(begin());
    if (took > longest) longest = took, slowest = trial;
  }
  std::printf("%zu files, %llu trials, the longest (%llu) took %.3f s\n", corpus.size(),
              static_cast<unsigned long long>(trial), static_cast<unsigned long long>(slowest),
              longest);
  return 0;
}
