// Tables and tiles of the pages, against counts by hand.
#include <limits>

#include <catch2/catch.hpp>

#include "tests/support/file_content.h"
#include "tests/support/temporary_folder.h"
#include "trainer/records/evaluation_page.h"
#include "trainer/records/html.h"
#include "trainer/records/output.h"
#include "trainer/records/report_page.h"
#include "trainer/records/worst_html.h"

using namespace ondine;
using namespace ondine::records;
using Catch::Contains;
using ondine::test::TemporaryFolder;

namespace {

// Counts by label and prediction, row by row.
ConfusionMatrix matrix_of(std::size_t classes, std::vector<std::uint64_t> counts,
                          std::vector<std::string> names = {}) {
  ConfusionMatrix matrix;
  matrix.classes = classes;
  matrix.counts = std::move(counts);
  matrix.names = std::move(names);
  return matrix;
}

std::string tile_of(const std::string& name, const std::string& value) {
  return "<dt>" + name + "</dt><dd>" + value + "</dd>";
}

Metrics metrics_of(const std::vector<std::pair<std::string, double>>& values) {
  Metrics metrics;
  for (const auto& [name, value] : values) metrics.set(name, value);
  return metrics;
}

// The page of a run of some seconds, with what `fill` tells it.
template <class Fill>
std::string page(double seconds, Fill fill) {
  const TemporaryFolder folder;
  ReportPage report(folder / "report.html", "title", {});
  fill(report);
  report.end("done", false, seconds);
  return test::content(folder / "report.html");
}

EpochReport epoch_report(std::uint64_t number, double loss, double validation, bool best) {
  EpochReport report;
  report.epoch = number;
  report.epochs = 9;
  report.steps = 10 * number;
  report.training = metrics_of({{"loss", loss}});
  report.validation = metrics_of({{"loss", validation}, {"f1[3]", validation / 2}});
  report.best = best;
  return report;
}

}  // namespace

TEST_CASE("texts, shares, classes and numbers are written for pages") {
  CHECK(html_text("a<b>&\"c\"\t\n\x01z") == "a&lt;b&gt;&amp;&quot;c&quot; \n z");
  CHECK(html_text("\xc2\x9b\xe2\x80\xae\x80\xc3\xa9") == "\\u009b\\u202e\\x80\xc3\xa9");
  CHECK(percent(0.125) == "12.5%");
  CHECK(percent(1) == "100%");
  CHECK(percent(0.99949) == "99.9%");
  CHECK(short_number(1234567) == "1.235e+06");
  CHECK(class_text({"cat", "a&b"}, 1) == "a&amp;b");
  CHECK(class_text({"cat", "dog"}, 2) == "2");
  CHECK(section_html({"Empty", {}}).empty());
  CHECK(section_html({"A<", {{"b", "c&"}, {"d", "e"}}}) ==
        "<div class=\"panel\"><h3>A&lt;</h3><dl class=\"facts\">\n<dt>b</dt><dd>c&amp;</dd>\n"
        "<dt>d</dt><dd>e</dd>\n</dl></div>\n");
}

TEST_CASE("numbers of log files are exact, and JSON has null for those that are not finite") {
  CHECK(number_text(0.1) == "0.1");
  CHECK(number_text(1.0 / 3) == "0.3333333333333333");
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(number_text(inf) == "inf");
  CHECK(number_text(-inf) == "-inf");
  CHECK(number_text(std::numeric_limits<double>::quiet_NaN()) == "nan");
  CHECK(json_number(-inf) == "null");
  CHECK(json_number(-2.5) == "-2.5");
  CHECK(json_text("a\"b\\c\n\x1f\x20é") == "\"a\\\"b\\\\c\\u000a\\u001f é\"");
  CHECK(json_text("\xc2\x9b\xe2\x80\xae\x80") == "\"\\u009b\\u202e\\ufffd\"");
}

TEST_CASE("a confusion matrix has shares, recall of labels and precision of predictions") {
  const std::string html = matrix_html(matrix_of(3, {6, 2, 0, 1, 3, 0, 0, 0, 0}, {"a", "<b>"}));
  CHECK_THAT(html, Contains("<th scope=\"col\">a</th><th scope=\"col\">&lt;b&gt;</th>"
                            "<th scope=\"col\">2</th><th>recall</th>"));
  CHECK_THAT(html, Contains("<tr><th scope=\"row\">a</th>"
                            "<td class=\"right\" style=\"--share:0.750\">6</td>"
                            "<td class=\"wrong\" style=\"--share:0.250\">2</td>"
                            "<td class=\"wrong\" style=\"--share:0.000\">0</td>"
                            "<td class=\"share\">75.0%</td></tr>"));
  CHECK_THAT(html, Contains("<td class=\"wrong\" style=\"--share:0.250\">1</td>"
                            "<td class=\"right\" style=\"--share:0.750\">3</td>"));
  // Class 2 has neither labels nor predictions.
  CHECK_THAT(html, Contains("<td class=\"right\" style=\"--share:0.000\">0</td>"
                            "<td class=\"share\">–</td></tr>"));
  CHECK_THAT(html, Contains("<th scope=\"row\">precision</th><td class=\"share\">85.7%</td>"
                            "<td class=\"share\">60.0%</td><td class=\"share\">–</td><td></td>"));
}

TEST_CASE("of more than 40 classes the 30 most frequent confusions are listed") {
  const auto counts = [](std::size_t classes) {
    std::vector<std::uint64_t> all(classes * classes);
    for (std::size_t i = 0; i < classes; ++i) {
      all[i * classes + i] = 100;
      all[i * classes + (i + 1) % classes] = i;  // none for class 0
    }
    return all;
  };
  CHECK_THAT(matrix_html(matrix_of(40, counts(40))), Contains("<th>recall</th>"));
  const std::string html = matrix_html(matrix_of(41, counts(41)));
  CHECK_THAT(html, Contains("The most frequent confusions of 41 classes."));
  const auto row = [](int label, int predicted, int count, const std::string& share) {
    return "<tr><td>" + std::to_string(label) + "</td><td>" + std::to_string(predicted) +
           "</td><td class=\"number\">" + std::to_string(count) + "</td><td class=\"number\">" +
           share + "</td></tr>\n";
  };
  CHECK_THAT(html, Contains("<tbody>\n" + row(40, 0, 40, "28.6%") + row(39, 40, 39, "28.1%")));
  CHECK_THAT(html, Contains(row(11, 12, 11, "9.9%") + "</tbody>"));
}

TEST_CASE("the classes of an evaluation are listed with the worst F1 first") {
  const TemporaryFolder folder;
  Evaluation evaluation;
  evaluation.rows = 12;
  evaluation.metrics = metrics_of({{"accuracy", 0.75}, {"f1[0]", 0.8}});
  evaluation.note = "as it is";
  evaluation.confusion = matrix_of(3, {6, 2, 0, 1, 3, 0, 0, 0, 0}, {"a", "b", "c"});
  write_evaluation_page(folder / "page.html", evaluation, {}, {});
  const std::string html = test::content(folder / "page.html");
  CHECK_THAT(html, Contains(tile_of("rows", "12")) && Contains(tile_of("accuracy", "0.75")) &&
                       !Contains("f1[0]") && Contains("as it is"));
  const auto row = [](const std::string& name, const std::vector<std::string>& cells) {
    std::string text = "<tr><th scope=\"row\">" + name + "</th>";
    for (const std::string& cell : cells) text += "<td class=\"number\">" + cell + "</td>";
    return text + "</tr>\n";
  };
  CHECK_THAT(html,
             Contains(row("c", {"0", "0%", "0%", "0%"}) + row("b", {"4", "60%", "75%", "66.7%"}) +
                      row("a", {"8", "85.7%", "75%", "80%"})));
}

TEST_CASE("the worst errors have pictures where there are any, classes and probabilities") {
  CHECK(worst_html({}, {}, "caption").empty());
  fit::WorstError one;
  one.what.row = 7;
  one.what.label = 1;
  one.what.predicted = 2;
  one.what.label_probability = 0.015;
  one.what.predicted_probability = 0.9;
  const std::string without = worst_html({one}, {"x", "cat"}, "a & b");
  CHECK_THAT(without, Contains("a &amp; b") && !Contains("<img"));
  CHECK_THAT(without, Contains("<strong>cat</strong> 1.5%<br>predicted <strong>2</strong> 90%<br>"
                               "<span>row 7</span>"));
  one.picture = "png";
  CHECK_THAT(worst_html({one}, {}, ""),
             Contains("<img alt=\"row 7\" src=\"data:image/png;base64,cG5n\">"));
}

TEST_CASE("the time of a run is told in seconds, in minutes or in hours") {
  const auto time = [](double seconds) {
    const std::string html = page(seconds, [](ReportPage&) {});
    const std::size_t begin = html.find("<dt>time</dt><dd>") + 17;
    return html.substr(begin, html.find('<', begin) - begin);
  };
  CHECK(time(1.23456) == "1.235 s");
  CHECK(time(59.5) == "59.5 s");
  CHECK(time(60) == "1 min 0 s");
  CHECK(time(3599.9) == "59 min 59 s");
  CHECK(time(3600) == "1 h 0 min");
  CHECK(time(2 * 3600 + 5 * 60 + 59) == "2 h 5 min");
}

TEST_CASE("a report shows the best epoch where there is one, else the last one") {
  const auto run = [](bool best) {
    return page(5, [&](ReportPage& report) {
      StepReport step;
      step.last = metrics_of({{"loss", 2}});
      report.step({.step = 1, .seconds = 1, .learning_rate = 0.5, .report = &step});
      report.step({.step = 2, .seconds = 1, .learning_rate = 0.25, .report = &step});
      for (std::uint64_t number = 1; number <= 3; ++number) {
        const EpochReport epoch =
            epoch_report(number, 1.0 / static_cast<double>(number),
                         0.5 * static_cast<double>(number), best && number == 2);
        report.epoch({.seconds = 2, .learning_rate = {}, .report = &epoch, .worst = nullptr});
      }
    });
  };
  const std::string last = run(false);
  CHECK_THAT(last,
             Contains(tile_of("epochs", "3 of 9")) && Contains(tile_of("steps in this run", "2")) &&
                 !Contains("best epoch") && Contains(tile_of("training loss", "0.3333")) &&
                 Contains(tile_of("validation loss", "1.5")) &&
                 Contains("<dt>f1[3]</dt><dd>0.75</dd>") && !Contains("<dt>validation f1[3]"));
  const std::string best = run(true);
  CHECK_THAT(best, Contains(tile_of("epochs", "3 of 9")) && Contains(tile_of("best epoch", "2")) &&
                       Contains(tile_of("training loss", "0.5")) &&
                       Contains(tile_of("validation loss", "1")) &&
                       Contains("<dt>f1[3]</dt><dd>0.5</dd>"));
  CHECK_THAT(best, Contains("<figcaption>loss</figcaption>") &&
                       Contains("<figcaption>learning rate</figcaption>") &&
                       !Contains("<figcaption>f1[3]"));
  CHECK_THAT(page(5, [](ReportPage&) {}), !Contains("<h2>Curves</h2>") && !Contains("<dt>epochs"));
}
