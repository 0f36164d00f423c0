#include "trainer/records/evaluation_page.h"

#include <algorithm>

#include "trainer/records/page.h"
#include "trainer/records/worst_html.h"

namespace ondine::records {
namespace {

std::string cell(const std::string& text) { return "<td class=\"number\">" + text + "</td>"; }

// Precision, recall and F1 of each class, the worst F1 first.
std::string class_table(const ConfusionMatrix& matrix) {
  struct Row {
    std::size_t index;
    std::uint64_t labels;
    double precision;
    double recall;
    double f1;
  };
  std::vector<Row> rows;
  for (std::size_t c = 0; c < matrix.classes; ++c) {
    std::uint64_t labels = 0;
    std::uint64_t predictions = 0;
    for (std::size_t k = 0; k < matrix.classes; ++k) {
      labels += matrix.count(c, k);
      predictions += matrix.count(k, c);
    }
    const auto share = [](std::uint64_t part, std::uint64_t whole) {
      return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
    };
    const std::uint64_t right = matrix.count(c, c);
    rows.push_back({c, labels, share(right, predictions), share(right, labels),
                    share(2 * right, labels + predictions)});
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.f1 < b.f1; });
  std::string html =
      "<div class=\"scroll\"><table class=\"classes\"><thead><tr><th>class</th><th>rows</th>"
      "<th>precision</th><th>recall</th><th>F1</th></tr></thead><tbody>\n";
  for (const Row& row : rows) {
    html += "<tr><th scope=\"row\">" + class_text(matrix.names, row.index) + "</th>" +
            cell(std::to_string(row.labels)) + cell(percent(row.precision)) +
            cell(percent(row.recall)) + cell(percent(row.f1)) + "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

}  // namespace

void write_evaluation_page(const std::filesystem::path& file, const Evaluation& evaluation,
                           const std::vector<fit::WorstError>& worst,
                           const std::vector<Section>& facts) {
  std::string body = "<dl class=\"tiles\">\n" + tile("rows", std::to_string(evaluation.rows));
  for (const auto& [name, value] : evaluation.metrics) {
    if (!name.ends_with("]")) body += tile(name, short_number(value));
  }
  body += "</dl>\n";
  std::vector<std::string> names;
  if (evaluation.confusion) {
    names = evaluation.confusion->names;
    body +=
        "<h2>Confusion matrix</h2>\n<p class=\"outcome\">Rows are labels, columns are "
        "predictions.</p>\n" +
        matrix_html(*evaluation.confusion) + "<h2>Classes, the worst first</h2>\n" +
        class_table(*evaluation.confusion);
  }
  body +=
      worst_html(worst, names, "The labels with the least probability; rows are counted from 0.");
  std::string rest;
  for (const Section& section : facts) rest += section_html(section);
  if (!rest.empty()) body += "<h2>The evaluation</h2>\n<div class=\"grid2\">\n" + rest + "</div>\n";
  write_page(file, "Evaluation report", evaluation.note, false, body);
}

}  // namespace ondine::records
