#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>

#include <cstdlib>

int main(int argc, char** argv) {
  setenv("ONDINE_VERIFY_PLANS", "1", 0);
  return Catch::Session().run(argc, argv);
}
