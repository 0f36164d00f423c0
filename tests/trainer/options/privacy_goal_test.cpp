// The noise that prepare computes from an epsilon.
#include <catch2/catch.hpp>
#include <cmath>

#include <ondine/error.h>
#include <ondine/options.h>
#include <ondine/privacy.h>

using Catch::Contains;
using namespace ondine;

namespace {

OptionValues goal(OptionValues more,
                  OptionValues rest = {
                      {"dp-batch", "256"}, {"dp-rows", "60000"}, {"dp-epochs", "10"}}) {
  OptionValues values{{"loss", "mse"}, {"dp-clip", "1"}};
  values.insert(values.end(), rest.begin(), rest.end());
  values.insert(values.end(), more.begin(), more.end());
  return values;
}

Privacy privacy_for(const OptionValues& values) { return prepare_options(values).privacy.value(); }

// Epsilon that 10 epochs of 60,000 rows in batches of 256 spend.
double spent(double noise, double delta) {
  PrivacyAccountant accountant;
  accountant.add(noise, 256 / 60000.0, 2350);
  return accountant.epsilon(delta);
}

}  // namespace

TEST_CASE("the noise of a goal spends the epsilon in the run and hardly less") {
  for (const double epsilon : {0.3, 2.0, 8.0}) {
    const Privacy privacy =
        privacy_for(goal({{"dp-epsilon", std::to_string(epsilon)}, {"dp-delta", "1e-6"}}));
    const auto noise = static_cast<double>(privacy.noise);
    CHECK(spent(noise, 1e-6) <= epsilon);
    CHECK(spent(0.995 * noise, 1e-6) > epsilon);
    CHECK(privacy.batch_size == 256);
  }
}

TEST_CASE("the delta of a goal is by default the largest power of ten up to 1 / rows") {
  CHECK(privacy_for(goal({{"dp-epsilon", "2"}})).noise ==
        privacy_for(goal({{"dp-epsilon", "2"}, {"dp-delta", "1e-5"}})).noise);
}

TEST_CASE("more epochs and fewer rows need more noise for an epsilon") {
  const auto noise = [](const char* batch, const char* rows, const char* epochs) {
    return privacy_for(goal({{"dp-epsilon", "2"}, {"dp-delta", "1e-5"}},
                            {{"dp-batch", batch}, {"dp-rows", rows}, {"dp-epochs", epochs}}))
        .noise;
  };
  CHECK(noise("256", "60000", "20") > noise("256", "60000", "10"));
  CHECK(noise("256", "6000", "10") > noise("256", "60000", "10"));
  CHECK(noise("256", "256", "1") > 1);  // every row in every step
}

TEST_CASE("a goal that lacks something or that nothing reaches is refused by the option's name") {
  const auto said = [](const OptionValues& values) -> std::string {
    try {
      prepare_options(values, OptionSpelling::dashes);
    } catch (const Error& error) {
      return error.message();
    }
    return {};
  };
  const std::pair<std::string, std::string> epsilon{"dp-epsilon", "2"}, batch{"dp-batch", "256"},
      rows{"dp-rows", "60000"}, epochs{"dp-epochs", "10"};
  CHECK_THAT(said(goal({epsilon}, {rows, epochs})), Contains("--dp-epsilon needs --dp-batch"));
  CHECK_THAT(said(goal({epsilon}, {batch, epochs})), Contains("--dp-epsilon needs --dp-rows"));
  CHECK_THAT(said(goal({epsilon}, {batch, rows})), Contains("--dp-epsilon needs --dp-epochs"));
  CHECK_THAT(said(goal({epsilon, {"dp-noise", "1"}})),
             Contains("--dp-epsilon excludes --dp-noise"));
  CHECK_THAT(said(goal({}, {batch, rows})), Contains("--dp-rows needs --dp-epsilon"));
  CHECK_THAT(said({{"loss", "mse"}, {"dp-epsilon", "2"}}),
             Contains("--dp-epsilon needs --dp-clip"));
  CHECK_THAT(said(goal({epsilon}, {batch, {"dp-rows", "99"}, epochs})),
             Contains("--dp-batch must be at most --dp-rows, 99, found 256"));
  CHECK_THAT(said(goal({{"dp-epsilon", "1e-9"}})), Contains("no noise up to 10000 gives epsilon"));
}
