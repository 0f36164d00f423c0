// The plot is an SVG image that is stretched to its place; the text is HTML beside it, so that it
// stays legible on any width.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "trainer/records/html.h"

namespace ondine::records {
namespace {

constexpr double width = 1000;
constexpr double height = 400;

struct Range {
  double least = 0;
  double most = 1;
  double share(double value) const { return (value - least) / (most - least); }
};

template <class Coordinate>
Range range_of(const std::vector<Line>& lines, Coordinate coordinate) {
  bool any = false;
  Range range;
  for (const Line& line : lines) {
    for (const Point& point : line.points) {
      const double value = coordinate(point);
      range = any ? Range{std::min(range.least, value), std::max(range.most, value)}
                  : Range{value, value};
      any = true;
    }
  }
  return range;
}

// 1, 2 or 5 times a power of ten, so that at most `count` of them fit.
double round_step(double length, int count) {
  const double wanted = length / count;
  const double power = std::pow(10, std::floor(std::log10(wanted)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= wanted * (1 - 1e-9)) return factor * power;
  }
  return 10 * power;
}

// Some room around a line that has one value only.
Range widened(Range range) {
  if (range.most > range.least) return range;
  const double room = range.least == 0 ? 1 : std::fabs(range.least) * 0.1;
  return {range.least - room, range.most + room};
}

// The ticks, whose first and last become the bounds.
std::vector<double> ticks_around(Range& range) {
  range = widened(range);
  const double step = round_step(range.most - range.least, 5);
  const double first = std::floor(range.least / step + 1e-9);
  const double last = std::ceil(range.most / step - 1e-9);
  std::vector<double> ticks;
  for (double i = first; i <= last; ++i) ticks.push_back(i * step);
  range = {ticks.front(), ticks.back()};
  return ticks;
}

// Whole numbers inside.
std::vector<double> ticks_inside(const Range& range) {
  const double step = std::max(1.0, round_step(range.most - range.least, 5));
  std::vector<double> ticks;
  for (double i = std::ceil(range.least / step); i * step <= range.most; ++i) {
    ticks.push_back(i * step);
  }
  return ticks;
}

std::string coordinate(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

std::string path_of(const Line& line, const Range& x, const Range& y) {
  std::string path;
  for (const Point& point : line.points) {
    path += path.empty() ? "M" : "L";
    path +=
        coordinate(x.share(point.x) * width) + " " + coordinate((1 - y.share(point.y)) * height);
  }
  return path;
}

// Lines of no length with round ends.
std::string dots_of(const Line& line, const Range& x, const Range& y) {
  std::string path;
  for (const Point& point : line.points) {
    path += "M" + coordinate(x.share(point.x) * width) + " " +
            coordinate((1 - y.share(point.y)) * height) + "h0";
  }
  return path;
}

std::string legend_of(const std::vector<Line>& lines) {
  if (lines.size() < 2) return {};
  std::string html = "<p class=\"legend\">";
  for (const Line& line : lines) {
    html += "<span class=\"" + line.style + "\">" + html_text(line.name) + "</span>";
  }
  return html + "</p>\n";
}

std::string plot_of(const std::string& title, const std::vector<Line>& lines, const Range& x,
                    const Range& y, const std::vector<double>& y_ticks) {
  constexpr std::size_t most_dots = 60;
  std::string svg =
      "<svg viewBox=\"0 0 1000 400\" preserveAspectRatio=\"none\" role=\"img\" "
      "aria-label=\"" +
      html_text(title) + " over steps\">";
  for (const double tick : y_ticks) {
    const std::string at = coordinate((1 - y.share(tick)) * height);
    svg += "<path class=\"grid\" d=\"M0 " + at + "H1000\"/>";
  }
  for (const Line& line : lines) {
    svg += "<path class=\"" + line.style + "\" d=\"" + path_of(line, x, y) + "\"/>";
    if (line.style != "steps" && line.points.size() <= most_dots) {
      svg += "<path class=\"" + line.style + " dots\" d=\"" + dots_of(line, x, y) + "\"/>";
    }
  }
  return svg + "</svg>";
}

std::string css_percent(double share) { return coordinate(share * 100) + "%"; }

}  // namespace

std::string short_number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.4g", value);
  return text.data();
}

std::string chart_html(const std::string& title, const std::vector<Line>& given) {
  std::vector<Line> lines = given;
  std::erase_if(lines, [](const Line& line) { return line.points.empty(); });
  if (lines.empty()) return {};
  const Range x = widened(range_of(lines, [](const Point& point) { return point.x; }));
  Range y = range_of(lines, [](const Point& point) { return point.y; });
  const std::vector<double> y_ticks = ticks_around(y);
  std::string html = "<figure><figcaption>" + html_text(title) + "</figcaption>\n";
  html += legend_of(lines) + "<div class=\"plot\"><div class=\"y\">";
  for (const double tick : y_ticks) {
    html += "<span style=\"top:" + css_percent(1 - y.share(tick)) + "\">" +
            short_number(std::fabs(tick) < 1e-12 * (y.most - y.least) ? 0 : tick) + "</span>";
  }
  html += "</div>" + plot_of(title, lines, x, y, y_ticks) + "<div class=\"x\">";
  for (const double tick : ticks_inside(x)) {
    html += "<span style=\"left:" + css_percent(x.share(tick)) + "\">" +
            coordinate(tick).substr(0, coordinate(tick).find('.')) + "</span>";
  }
  return html + "</div></div>\n<p class=\"axis\">step</p></figure>\n";
}

}  // namespace ondine::records
