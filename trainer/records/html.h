// Parts of a page of HTML.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <ondine/trainer.h>

#include "trainer/records/curve.h"

namespace ondine::records {

std::string html_text(const std::string& text);
// With a few significant digits.
std::string short_number(double value);
// 0.125 as "12.5%".
std::string percent(double share);
// The name of a class, or its number where it has none.
std::string class_text(const std::vector<std::string>& names, std::size_t index);

struct Line {
  std::string name;
  std::string style;  // a class of the page's style sheet: "steps", "training" or "validation"
  std::vector<Point> points;
};
// A figure with a legend where there are several lines; axes have round numbers. Empty without a
// point.
std::string chart_html(const std::string& title, const std::vector<Line>& lines);

// A table of counts, shaded by their share of the label's, with recall and precision of each class;
// of many classes the most frequent confusions.
std::string matrix_html(const ConfusionMatrix& matrix);

struct Section {
  std::string title;
  std::vector<std::pair<std::string, std::string>> rows;  // name and text
};
std::string section_html(const Section& section);

// For light and dark, wide and narrow screens.
std::string style_sheet();

}  // namespace ondine::records
