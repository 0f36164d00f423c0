#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include <catch2/catch.hpp>

namespace {

// What `ondine verify` prints below this folder of the shared cases; empty where they are absent.
std::string verify(const std::string& folder) {
  const char* given = std::getenv("ONDINE_CASES");
  const std::filesystem::path cases =
      given != nullptr ? given : std::string(ONDINE_SOURCE_DIR) + "/../shared/cases";
  if (!std::filesystem::exists(cases / folder)) {
    WARN("no cases in " << (cases / folder) << ": skipped");
    return {};
  }
  const std::string command =
      std::string(ONDINE_BINARY_DIR) + "/bin/ondine verify " + (cases / folder).string() + " 2>&1";
  std::string text;
  FILE* pipe = popen(command.c_str(), "r");
  REQUIRE(pipe != nullptr);
  std::array<char, 4096> part{};
  while (const std::size_t n = fread(part.data(), 1, part.size(), pipe))
    text.append(part.data(), n);
  pclose(pipe);
  return text;
}

}  // namespace

TEST_CASE("no training case fails") {
  const std::string text = verify("training");
  if (!text.empty()) CHECK_THAT(text, Catch::Contains(" 0 failed"));
}

TEST_CASE("no simple backend case fails") {
  const std::string text = verify("backend/simple");
  if (!text.empty()) CHECK_THAT(text, Catch::Contains(" 0 failed"));
}
