#include "trainer/records/report_page.h"

#include <algorithm>

#include "trainer/records/page.h"
#include "trainer/records/worst_html.h"

namespace ondine::records {
namespace {

std::string duration_text(double seconds) {
  if (seconds < 60) return short_number(seconds) + " s";
  const auto whole = static_cast<std::uint64_t>(seconds);
  const std::string rest = std::to_string(whole % 60) + " s";
  if (whole < 3600) return std::to_string(whole / 60) + " min " + rest;
  return std::to_string(whole / 3600) + " h " + std::to_string(whole / 60 % 60) + " min";
}

// Metrics of single classes are listed, not drawn.
bool is_of_class(const std::string& metric) { return metric.ends_with("]"); }

std::string joined(const std::string& head, const std::string& body) {
  return body.empty() ? body : "<h2>" + head + "</h2>\n" + body;
}

Section by_class(const Metrics& metrics) {
  Section section{"Validation by class", {}};
  for (const auto& [name, value] : metrics) {
    if (is_of_class(name)) section.rows.emplace_back(name, short_number(value));
  }
  return section;
}

}  // namespace

ReportPage::ReportPage(std::filesystem::path file, std::string title, std::vector<Section> facts,
                       std::vector<std::string> classes)
    : file_(std::move(file)),
      title_(std::move(title)),
      facts_(std::move(facts)),
      classes_(std::move(classes)) {}

ReportPage::Curves& ReportPage::curves(const std::string& metric) {
  const auto found = std::find_if(metrics_.begin(), metrics_.end(),
                                  [&](const auto& one) { return one.first == metric; });
  if (found != metrics_.end()) return found->second;
  return metrics_.emplace_back(metric, Curves()).second;
}

void ReportPage::step(const StepRecord& record) {
  ++steps_;
  const auto x = static_cast<double>(record.step);
  for (const auto& [name, value] : record.report->last) curves(name).steps.add(x, value);
  if (record.learning_rate) rate_.add(x, *record.learning_rate);
}

void ReportPage::epoch(const EpochRecord& record) {
  const auto x = static_cast<double>(record.report->steps);
  for (const auto& [name, value] : record.report->training) curves(name).training.add(x, value);
  for (const auto& [name, value] : record.report->validation) {
    if (!is_of_class(name)) curves(name).validation.add(x, value);
  }
  last_ = *record.report;
  if (last_->best) best_ = last_;
  if (record.worst != nullptr && (last_->best || !best_)) worst_ = *record.worst;
}

const EpochReport* ReportPage::shown() const { return best_ ? &*best_ : last_ ? &*last_ : nullptr; }

std::string ReportPage::tiles(double seconds) const {
  std::string html = "<dl class=\"tiles\">\n";
  if (last_) {
    html += tile("epochs", std::to_string(last_->epoch) + " of " + std::to_string(last_->epochs));
  }
  html += tile("steps in this run", std::to_string(steps_));
  html += tile("time", duration_text(seconds));
  if (shown() == nullptr) return html + "</dl>\n";
  if (best_) html += tile("best epoch", std::to_string(best_->epoch));
  for (const auto& [name, value] : shown()->training) {
    html += tile("training " + name, short_number(value));
  }
  for (const auto& [name, value] : shown()->validation) {
    if (!is_of_class(name)) html += tile("validation " + name, short_number(value));
  }
  return html + "</dl>\n";
}

std::string ReportPage::charts() const {
  std::string html;
  for (const auto& [name, curves] : metrics_) {
    html += chart_html(name, {{"training, each step", "steps", curves.steps.points()},
                              {"training, mean of the epoch", "training", curves.training.points()},
                              {"validation", "validation", curves.validation.points()}});
  }
  html += chart_html("learning rate", {{"learning rate", "training", rate_.points()}});
  return html.empty() ? html : "<div class=\"grid2\">\n" + html + "</div>\n";
}

std::string ReportPage::validation_html() const {
  if (shown() == nullptr) return {};
  const std::string of =
      "Of the validation data after epoch " + std::to_string(shown()->epoch) + ": ";
  std::string html;
  if (shown()->confusion) {
    html += "<h2>Confusion matrix</h2>\n<p class=\"outcome\">" + of +
            "rows are labels, columns are predictions.</p>\n" + matrix_html(*shown()->confusion);
  }
  return html + worst_html(worst_, classes_,
                           of + "the labels with the least probability; rows are counted from 0.");
}

void ReportPage::end(const std::string& outcome, bool failed, double seconds) {
  std::string html = tiles(seconds) + joined("Curves", charts()) + validation_html();
  std::string facts = shown() == nullptr ? "" : section_html(by_class(shown()->validation));
  for (const Section& section : facts_) facts += section_html(section);
  html += joined("The run", "<div class=\"grid2\">\n" + facts + "</div>\n");
  write_page(file_, title_, outcome, failed, html);
}

}  // namespace ondine::records
