// Figures whose coordinates are computed by hand: the plot is 1000 wide and 400 high, from the top.
#include <catch2/catch.hpp>

#include "tests/support/text.h"
#include "trainer/records/html.h"

using namespace ondine::records;
using Catch::Contains;
using ondine::test::count;

namespace {

std::string tick_y(const std::string& percent, const std::string& number) {
  return "<span style=\"top:" + percent + "%\">" + number + "</span>";
}
std::string tick_x(const std::string& percent, const std::string& number) {
  return "<span style=\"left:" + percent + "%\">" + number + "</span>";
}

}  // namespace

TEST_CASE("a chart places points between round bounds, with the larger numbers above") {
  const std::string html =
      chart_html("loss <1>", {{"run", "training", {{0, 0.3}, {5, 1.2}, {10, 4.1}}}});
  CHECK_THAT(html, Contains("<figcaption>loss &lt;1&gt;</figcaption>"));
  CHECK_THAT(html, Contains("aria-label=\"loss &lt;1&gt; over steps\""));
  CHECK_THAT(html, Contains("class=\"training\" d=\"M0.0 376.0L500.0 304.0L1000.0 72.0\""));
  CHECK_THAT(html,
             Contains(tick_y("100.0", "0") + tick_y("80.0", "1") + tick_y("60.0", "2") +
                      tick_y("40.0", "3") + tick_y("20.0", "4") + tick_y("0.0", "5") + "</div>"));
  CHECK_THAT(html, Contains("<div class=\"x\">" + tick_x("0.0", "0") + tick_x("20.0", "2") +
                            tick_x("40.0", "4") + tick_x("60.0", "6") + tick_x("80.0", "8") +
                            tick_x("100.0", "10") + "</div>"));
  for (const char* at : {"0.0", "80.0", "160.0", "240.0", "320.0", "400.0"}) {
    CHECK_THAT(html, Contains("<path class=\"grid\" d=\"M0 " + std::string(at) + "H1000\"/>"));
  }
  CHECK(count(html, "class=\"grid\"") == 6);
  CHECK_THAT(html, Contains("class=\"training dots\" d=\"M0.0 376.0h0M500.0 304.0h0M1000.0 "
                            "72.0h0\""));
  CHECK_THAT(html, !Contains("legend"));
}

TEST_CASE("ticks are 1, 2 or 5 times a power of ten") {
  const auto ticks = [](double least, double most) {
    const std::string html = chart_html("t", {{"a", "steps", {{1, least}, {2, most}}}});
    std::vector<std::string> numbers;
    for (std::size_t at = html.find("top:"); at != html.npos; at = html.find("top:", at + 1)) {
      const std::size_t begin = html.find('>', at) + 1;
      numbers.push_back(html.substr(begin, html.find('<', begin) - begin));
    }
    return numbers;
  };
  using Texts = std::vector<std::string>;
  CHECK(ticks(20, 70) == Texts{"20", "30", "40", "50", "60", "70"});
  CHECK(ticks(19, 70) == Texts{"0", "20", "40", "60", "80"});
  CHECK(ticks(0.001, 0.0259) == Texts{"0", "0.005", "0.01", "0.015", "0.02", "0.025", "0.03"});
  CHECK(ticks(-3, 4) == Texts{"-4", "-2", "0", "2", "4"});
  CHECK(ticks(0, 0) == Texts{"-1", "-0.5", "0", "0.5", "1"});
  CHECK(ticks(-10, -10) == Texts{"-11", "-10.5", "-10", "-9.5", "-9"});
}

TEST_CASE("lines share the axes, steps and long lines have no dots, empty lines are left out") {
  std::vector<Point> many;
  for (int i = 0; i <= 60; ++i) many.push_back({double(i), 1});
  const std::string html = chart_html("t", {{"each <step>", "steps", {{0, 0}, {30, 5}}},
                                            {"training", "training", many},
                                            {"nothing", "validation", {}},
                                            {"last", "validation", {{60, 2}}}});
  CHECK_THAT(html, Contains("<p class=\"legend\"><span class=\"steps\">each &lt;step&gt;</span>"
                            "<span class=\"training\">training</span>"
                            "<span class=\"validation\">last</span></p>"));
  CHECK_THAT(html, Contains("class=\"steps\" d=\"M0.0 400.0L500.0 0.0\""));
  CHECK_THAT(html, Contains("class=\"validation\" d=\"M1000.0 240.0\""));
  CHECK_THAT(html, Contains("class=\"validation dots\" d=\"M1000.0 240.0h0\""));
  CHECK_THAT(html, !Contains("class=\"steps dots\"") && !Contains("class=\"training dots\"") &&
                       !Contains("nothing"));
  many.pop_back();
  CHECK_THAT(chart_html("t", {{"training", "training", many}}),
             Contains("class=\"training dots\""));
  CHECK(chart_html("t", {{"nothing", "steps", {}}}).empty());
}

TEST_CASE("one step alone stands in the middle of its axis") {
  const std::string html = chart_html("t", {{"a", "training", {{30, 7}}}});
  CHECK_THAT(html, Contains("d=\"M500.0 200.0\""));
  // From 27 to 33 in whole numbers.
  CHECK_THAT(html, Contains(tick_x("16.7", "28") + tick_x("50.0", "30") + tick_x("83.3", "32")));
}
