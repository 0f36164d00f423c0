// The table of options and what values do.
#include <catch2/catch.hpp>
#include <set>

#include <ondine/error.h>
#include <ondine/options.h>

#include "tests/trainer/options/some_value.h"

using Catch::Contains;
using namespace ondine;
using test::some_value;

namespace {

std::string refusal(OptionGroup group, const OptionValues& values,
                    OptionSpelling spelling = OptionSpelling::dashes) {
  try {
    switch (group) {
      case OptionGroup::load:
        load_options(values, spelling);
        break;
      case OptionGroup::data:
        dataset_options(values, spelling);
        break;
      case OptionGroup::table:
        table_options(values, spelling);
        break;
      case OptionGroup::prepare:
        prepare_options(values, spelling);
        break;
      case OptionGroup::train:
        trainer_options(values, {}, spelling);
        break;
      case OptionGroup::evaluate:
        evaluate_options(values, {}, spelling);
        break;
      case OptionGroup::export_:
        export_options(values, spelling);
        break;
      case OptionGroup::federate:
        federated_options(values, spelling);
        break;
      case OptionGroup::generate:
        generate_options(values, spelling);
        break;
      case OptionGroup::import_:
        import_options(values, spelling);
        break;
      case OptionGroup::network:
        network_options(values, spelling);
        break;
      case OptionGroup::budget:
        train_budget(values, spelling);
        break;
      case OptionGroup::finetune:
        finetune_options(values, spelling);
        break;
      case OptionGroup::command:
        break;
    }
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_option);
    return error.message();
  }
  return {};
}

// Refusal of the check without a conversion.
std::string check_refusal(OptionGroup group, const OptionValues& values) {
  try {
    check_options(group, values, OptionSpelling::dashes);
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::invalid_option);
    return error.message();
  }
  return {};
}

const OptionInfo& info_of(OptionGroup group, const std::string& name) {
  const OptionInfo* const found = find_option(group, name);
  REQUIRE(found != nullptr);
  return *found;
}

// Values under which the option has an effect.
OptionValues effective(const OptionInfo& option) {
  OptionValues values;
  if (!option.applies.empty()) {
    const OptionCondition& one = option.applies.front();
    const OptionInfo& other = info_of(option.group, one.option);
    values = effective(other);
    values.emplace_back(one.option, one.choices.empty() ? some_value(other) : one.choices.front());
  }
  return values;
}

// The options of dp-epsilon, which need each other: privacy_goal_test.cpp.
bool is_privacy_goal(const OptionInfo& option) {
  const auto& applies = option.applies;
  return option.name == "dp-epsilon" ||
         (applies.size() == 1 && applies.front().option == "dp-epsilon");
}

OptionValues with_loss(OptionGroup group, OptionValues values) {
  if (group != OptionGroup::prepare) return values;
  for (const auto& [name, value] : values) {
    if (name == "loss" || name == "loss-model" || name == "in-batch") return values;
  }
  values.emplace_back("loss", "mse");
  return values;
}

}  // namespace

TEST_CASE("every option takes a value where it has an effect") {
  std::size_t count = 0;
  for (const OptionGroup group : option_groups) {
    for (const OptionInfo& option : option_table(group)) {
      if (option.name == "tokenizer" || option.name == "cut") continue;  // need a file, a head
      if (is_privacy_goal(option)) continue;
      CAPTURE(to_string(group), option.name);
      OptionValues values = effective(option);
      values.emplace_back(option.name, some_value(option));
      const bool is_loss = option.name == "loss-model" || option.name == "in-batch";
      if (!is_loss) values = with_loss(group, values);
      CHECK(refusal(group, values).empty());
      ++count;
    }
  }
  CHECK(count > 100);
}

TEST_CASE("an option is an error with every choice that it does not apply to") {
  std::size_t pairs = 0;
  std::size_t unchosen = 0;
  for (const OptionGroup group : option_groups) {
    for (const OptionInfo& option : option_table(group)) {
      for (const OptionCondition& condition : option.applies) {
        if (condition.choices.empty()) continue;
        const OptionInfo& selector = info_of(group, condition.option);
        for (const std::string& choice : selector.choices) {
          CAPTURE(option.name, choice);
          OptionValues values{{condition.option, choice}, {option.name, some_value(option)}};
          const auto& owners = condition.choices;
          const bool applies = std::find(owners.begin(), owners.end(), choice) != owners.end();
          const std::string said = refusal(group, with_loss(group, values));
          CHECK(check_refusal(group, with_loss(group, values)) == said);
          if (applies) {
            CHECK(said.empty());
          } else {
            CHECK_THAT(said, Contains("--" + option.name + " does not apply to " + choice +
                                      "; use --" + condition.option + " "));
          }
          ++pairs;
        }
        if (!selector.default_value.empty()) continue;
        // The library chooses; the option may have no effect then.
        const OptionValues alone{{option.name, some_value(option)}};
        CHECK_THAT(check_refusal(group, alone),
                   Contains("--" + option.name + " needs --" + condition.option + " "));
        ++unchosen;
      }
    }
  }
  CHECK(pairs > 300);
  CHECK(unchosen > 15);
}

TEST_CASE("an option that needs another is an error without it, and one that excludes it besides") {
  std::size_t count = 0;
  for (const OptionGroup group : option_groups) {
    for (const OptionInfo& option : option_table(group)) {
      if (option.name == "tokenizer") continue;
      CAPTURE(option.name);
      const OptionValues one{{option.name, some_value(option)}};
      if (!option.applies.empty() && option.applies.front().choices.empty()) {
        CHECK_THAT(refusal(group, one),
                   Contains("--" + option.name + " needs --" + option.applies.front().option));
        ++count;
      }
      for (const std::string& other : option.excludes) {
        OptionValues both = effective(option);
        for (auto& value : effective(info_of(group, other))) both.push_back(std::move(value));
        both.emplace_back(option.name, some_value(option));
        both.emplace_back(other, some_value(info_of(group, other)));
        CHECK_THAT(refusal(group, with_loss(group, both)),
                   Contains("--" + option.name + " excludes --" + other));
        ++count;
      }
    }
  }
  CHECK(count > 12);
}

TEST_CASE("numbers outside their range and texts of another kind are refused with what is needed") {
  for (const OptionGroup group : option_groups) {
    for (const OptionInfo& option : option_table(group)) {
      CAPTURE(option.name);
      const auto said = [&](const std::string& value) {
        OptionValues values = effective(option);
        values.emplace_back(option.name, value);
        return refusal(group, with_loss(group, values));
      };
      if (option.kind == OptionKind::text) continue;
      CHECK_THAT(said("wrong"),
                 Contains("--" + option.name + " needs ") && Contains(", found 'wrong'"));
      if (option.kind == OptionKind::real) CHECK_THAT(said("nan"), Contains("found 'nan'"));
      if (option.kind == OptionKind::integer) CHECK_THAT(said("1.5"), Contains("a whole number"));
      if (option.low) {
        CHECK_THAT(said(std::to_string(*option.low - 1)), Contains(" needs "));
        if (option.above_low) CHECK_THAT(said(std::to_string(*option.low)), Contains(" above "));
      }
      if (option.high) CHECK_THAT(said(std::to_string(*option.high + 1)), Contains(" needs "));
    }
  }
}

TEST_CASE("names are unique, spelled in one way and taken with underscores") {
  for (const OptionGroup group : option_groups) {
    std::set<std::string> names;
    std::set<char> letters;
    for (const OptionInfo& option : option_table(group)) {
      CAPTURE(option.name);
      CHECK(names.insert(option.name).second);
      for (const std::string& former : option.former) CHECK(names.insert(former).second);
      CHECK((option.letter == 0 || letters.insert(option.letter).second));
      CHECK(option.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") ==
            std::string::npos);
      CHECK_FALSE(option.help.empty());
      CHECK((option.help.back() != '.' || option.help.ends_with(" ...")));
      CHECK_FALSE(option.heading.empty());
    }
  }
  CHECK(trainer_options({{"batch_size", "7"}}).batch_size == 7);
  CHECK_THAT(refusal(OptionGroup::train, {{"batch_sise", "7"}}, OptionSpelling::keyword),
             Contains("'batch_sise' is no option of train; did you mean batch_size?"));
  CHECK(refusal(OptionGroup::prepare, {{"loss", "mse"}, {"huber_delta", "2"}},
                OptionSpelling::keyword) == "huber_delta does not apply to mse; use loss huber");
}

TEST_CASE("momentum of sgd is the optimizer momentum, and none of it is plain descent") {
  const PrepareOptions with = prepare_options(
      {{"loss", "mse"}, {"momentum", "0.8"}, {"learning-rate", "0.3"}, {"weight-decay", "0.1"}});
  REQUIRE(std::holds_alternative<Momentum>(with.optimizer));
  const auto& momentum = std::get<Momentum>(with.optimizer);
  CHECK(momentum.momentum == 0.8F);
  CHECK(momentum.learning_rate == 0.3F);
  CHECK(momentum.weight_decay == 0.1F);
  const PrepareOptions without = prepare_options({{"loss", "mse"}, {"momentum", "0"}});
  CHECK(std::holds_alternative<Sgd>(without.optimizer));
}

TEST_CASE("sizes and times have units") {
  const auto budget = [](const char* text) {
    return *load_options({{"memory-budget", text}}).memory_budget;
  };
  CHECK(budget("4096") == 4096);
  CHECK(budget("512K") == 512U << 10U);
  CHECK(budget("512M") == 512U << 20U);
  CHECK(budget("2GiB") == std::uint64_t{2} << 30U);
  CHECK(budget("2GB") == 2000000000U);
}

TEST_CASE("times are milliseconds") {
  const auto deadline = [](const char* text) {
    return load_options({{"deadline", text}}).deadline->count();
  };
  CHECK(deadline("90") == 90000);
  CHECK(deadline("90s") == 90000);
  CHECK(deadline("500ms") == 500);
  CHECK(deadline("1.5h") == 5400000);
  CHECK(deadline("2d") == 172800000);
  CHECK(deadline("0.0001") == 1);
  for (const char* text : {"0", "-1s", "10mm", "s", "1e300h", ""}) {
    CAPTURE(text);
    CHECK_THAT(refusal(OptionGroup::load, {{"deadline", text}}),
               Contains("--deadline needs a time such as 90s, 10m or 1.5h"));
  }
}

TEST_CASE("the last value counts, of an option that repeats all do") {
  CHECK(trainer_options({{"epochs", "2"}, {"epochs", "3"}}).epochs == 3);
  const TrainerOptions two = trainer_options({{"metrics", "f1,top5"}, {"metrics", "accuracy"}});
  CHECK(two.metrics == std::vector<std::string>{"f1", "top5", "accuracy"});
  PortInfo odd;
  odd.name = "a=b";
  const TrainerOptions named = trainer_options({{"set", "a=b=1/4"}}, std::vector{odd});
  REQUIRE(named.constants.size() == 1);
  CHECK(named.constants[0] == std::pair<std::string, double>("a=b", 0.25));
}

TEST_CASE("the description in JSON has every option") {
  const std::string text = options_json();
  for (const OptionGroup group : option_groups) {
    CHECK_THAT(text, Contains('"' + std::string(to_string(group)) + "\":["));
    for (const OptionInfo& option : option_table(group)) {
      CHECK_THAT(text, Contains("\"name\":\"" + option.name + '"'));
    }
  }
}
