#include <algorithm>
#include <array>
#include <cstdio>

#include "trainer/records/html.h"

namespace ondine::records {
namespace {

constexpr std::size_t most_classes = 40;
constexpr std::size_t most_confusions = 30;

std::string name_of(const ConfusionMatrix& matrix, std::size_t c) {
  return html_text(c < matrix.names.size() ? matrix.names[c] : std::to_string(c));
}

std::uint64_t labelled(const ConfusionMatrix& matrix, std::size_t c) {
  std::uint64_t sum = 0;
  for (std::size_t k = 0; k < matrix.classes; ++k) sum += matrix.count(c, k);
  return sum;
}

std::uint64_t predicted(const ConfusionMatrix& matrix, std::size_t c) {
  std::uint64_t sum = 0;
  for (std::size_t k = 0; k < matrix.classes; ++k) sum += matrix.count(k, c);
  return sum;
}

std::string share_text(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "–";
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f%%",
                100 * static_cast<double>(part) / static_cast<double>(whole));
  return text.data();
}

// The share of a label's positions as the opacity of the cell.
std::string cell(std::uint64_t count, std::uint64_t whole, bool right) {
  const double share = whole == 0 ? 0 : static_cast<double>(count) / static_cast<double>(whole);
  std::array<char, 96> text{};
  std::snprintf(text.data(), text.size(), "<td class=\"%s\" style=\"--share:%.3f\">",
                right ? "right" : "wrong", share);
  return text.data() + std::to_string(count) + "</td>";
}

std::string whole_table(const ConfusionMatrix& matrix) {
  std::string html = "<div class=\"scroll\"><table class=\"matrix\"><thead><tr><th>label</th>";
  for (std::size_t c = 0; c < matrix.classes; ++c) {
    html += "<th scope=\"col\">" + name_of(matrix, c) + "</th>";
  }
  html += "<th>recall</th></tr></thead>\n<tbody>";
  for (std::size_t label = 0; label < matrix.classes; ++label) {
    const std::uint64_t whole = labelled(matrix, label);
    html += "<tr><th scope=\"row\">" + name_of(matrix, label) + "</th>";
    for (std::size_t c = 0; c < matrix.classes; ++c) {
      html += cell(matrix.count(label, c), whole, c == label);
    }
    html += "<td class=\"share\">" + share_text(matrix.count(label, label), whole) + "</td></tr>\n";
  }
  html += "<tr><th scope=\"row\">precision</th>";
  for (std::size_t c = 0; c < matrix.classes; ++c) {
    html += "<td class=\"share\">" + share_text(matrix.count(c, c), predicted(matrix, c)) + "</td>";
  }
  return html + "<td></td></tr></tbody></table></div>\n";
}

std::string confusions(const ConfusionMatrix& matrix) {
  struct Pair {
    std::uint64_t count;
    std::size_t label;
    std::size_t predicted;
  };
  std::vector<Pair> pairs;
  for (std::size_t label = 0; label < matrix.classes; ++label) {
    for (std::size_t c = 0; c < matrix.classes; ++c) {
      const std::uint64_t count = matrix.count(label, c);
      if (count != 0 && c != label) pairs.push_back({count, label, c});
    }
  }
  std::stable_sort(pairs.begin(), pairs.end(),
                   [](const Pair& a, const Pair& b) { return a.count > b.count; });
  if (pairs.size() > most_confusions) pairs.resize(most_confusions);
  std::string html =
      "<p>The most frequent confusions of " + std::to_string(matrix.classes) +
      " classes.</p><div class=\"scroll\"><table><thead><tr><th>label</th><th>predicted</th>"
      "<th>times</th><th>of the label</th></tr></thead><tbody>\n";
  for (const Pair& pair : pairs) {
    html += "<tr><td>" + name_of(matrix, pair.label) + "</td><td>" +
            name_of(matrix, pair.predicted) + "</td><td class=\"number\">" +
            std::to_string(pair.count) + "</td><td class=\"number\">" +
            share_text(pair.count, labelled(matrix, pair.label)) + "</td></tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

}  // namespace

std::string matrix_html(const ConfusionMatrix& matrix) {
  return matrix.classes > most_classes ? confusions(matrix) : whole_table(matrix);
}

}  // namespace ondine::records
