// tokenize TOKENIZER TEXTS IDS DECODED [ROUNDS]: encodes the texts of a file, each followed by a
// zero byte, and writes a line of ids for each and, each followed by a zero byte, what they decode
// to. Prints the seconds of the fastest of some rounds of encoding them all, each by a tokenizer
// that has seen no text.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <ondine/text.h>

namespace {

std::vector<std::string> read_texts(const char* file) {
  std::ifstream in(file, std::ios::binary);
  std::vector<std::string> texts;
  for (std::string text; std::getline(in, text, '\0');) texts.push_back(text);
  return texts;
}

int run(char** arguments, int rounds) {
  const auto encoding = ondine::TextEncoding::open(arguments[1]);
  const std::vector<std::string> texts = read_texts(arguments[2]);
  std::ofstream ids_file(arguments[3], std::ios::binary);
  std::ofstream decoded_file(arguments[4], std::ios::binary);
  for (const std::string& text : texts) {
    const auto ids = encoding.encode(text);
    for (const std::int64_t id : ids) ids_file << id << ' ';
    ids_file << '\n';
    decoded_file << encoding.decode(ids) << '\0';
  }
  double fastest = 1e9;
  for (int i = 0; i < rounds; ++i) {
    const auto fresh = ondine::TextEncoding::open(arguments[1]);
    const auto start = std::chrono::steady_clock::now();
    for (const std::string& text : texts) fresh.encode(text);
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    fastest = std::min(fastest, seconds.count());
  }
  std::printf("%.6f\n", fastest);
  return ids_file.flush() && decoded_file.flush() ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) try {
  if (count < 5) return 2;
  return run(arguments, count > 5 ? std::atoi(arguments[5]) : 0);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
