#include "trainer/records/worst_html.h"

#include "core/text/base64.h"
#include "trainer/records/html.h"

namespace ondine::records {
namespace {

std::string figure(const fit::WorstError& one, const std::vector<std::string>& names) {
  const std::string row = "row " + std::to_string(one.what.row);
  std::string html = "<figure>";
  if (!one.picture.empty()) {
    html +=
        "<img alt=\"" + row + "\" src=\"data:image/png;base64," + to_base64(one.picture) + "\">";
  }
  return html + "<p><strong>" + class_text(names, one.what.label) + "</strong> " +
         percent(one.what.label_probability) + "<br>predicted <strong>" +
         class_text(names, one.what.predicted) + "</strong> " +
         percent(one.what.predicted_probability) + "<br><span>" + row + "</span></p></figure>\n";
}

}  // namespace

std::string worst_html(const std::vector<fit::WorstError>& worst,
                       const std::vector<std::string>& names, const std::string& caption) {
  if (worst.empty()) return {};
  std::string html = "<h2>Worst errors</h2>\n<p class=\"outcome\">" + html_text(caption) +
                     "</p>\n<div class=\"worst\">\n";
  for (const fit::WorstError& one : worst) html += figure(one, names);
  return html + "</div>\n";
}

}  // namespace ondine::records
