#include "trainer/records/page.h"

#include "core/digest.h"
#include "core/files/atomic_file.h"
#include "trainer/records/html.h"

namespace ondine::records {

std::string tile(const std::string& name, const std::string& value) {
  return "<div><dt>" + html_text(name) + "</dt><dd>" + html_text(value) + "</dd></div>\n";
}

void write_page(const std::filesystem::path& file, const std::string& title,
                const std::string& outcome, bool failed, const std::string& body) {
  const std::string html =
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>" +
      html_text(title) + "</title>\n<style>" + style_sheet() + "</style>\n</head>\n<body>\n<h1>" +
      html_text(title) + "</h1>\n<p class=\"outcome" + (failed ? " failed" : "") + "\">" +
      html_text(outcome) + "</p>\n" + body + "</body>\n</html>\n";
  PosixFileSystem files;
  atomic_write(files, file.string(), [&](Sink& sink) { sink.write(bytes_of(html)); });
}

}  // namespace ondine::records
