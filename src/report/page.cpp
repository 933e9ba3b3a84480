#include "report/page.h"

#include <fmt/format.h>

#include <cmath>

namespace loom {
namespace {

constexpr std::string_view kStyle = R"css(
:root{--back:#fcfcfb;--card:#fff;--ink:#1d2129;--soft:#626a78;--line:#dfe2e8;--s1:#2563c9;--s2:#c2570c;--s3:#178048;--bad:#b42318;--good:#178048;color-scheme:light dark}
@media (prefers-color-scheme:dark){:root{--back:#14161a;--card:#1b1e24;--ink:#e6e8ec;--soft:#9aa3b2;--line:#323844;--s1:#79a8f7;--s2:#f2a25c;--s3:#5fcf94;--bad:#f48b82;--good:#5fcf94}}
@media print{:root{--back:#fff;--card:#fff;--ink:#000;--soft:#444;--line:#bbb;--s1:#2563c9;--s2:#c2570c;--s3:#178048;--bad:#b42318;--good:#178048;color-scheme:light}
 body{max-width:none;padding:0;font-size:10pt}section{break-inside:avoid;border:0;padding:0}section.long{break-inside:auto}tr{break-inside:avoid}*{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:1000px;padding:24px 20px 60px;background:var(--back);color:var(--ink);font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Noto Sans",sans-serif}
h1{font-size:1.5em;margin:0 0 2px;overflow-wrap:anywhere}h2{font-size:1.06em;margin:0 0 10px}p{margin:6px 0}
.sub{color:var(--soft);overflow-wrap:anywhere}
.tiles{display:flex;flex-wrap:wrap;gap:10px;margin:18px 0}
.tile{flex:1 1 96px;background:var(--card);border:1px solid var(--line);border-radius:8px;padding:9px 12px}
.tile b{display:block;font-size:1.22em;font-weight:600;font-variant-numeric:tabular-nums;white-space:nowrap}.tile span{color:var(--soft);font-size:.85em}
.tile.bad b{color:var(--bad)}.tile.good b{color:var(--good)}
section{background:var(--card);border:1px solid var(--line);border-radius:8px;padding:15px 17px;margin:14px 0}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.9em;font-variant-numeric:tabular-nums}
th,td{padding:4px 12px 4px 0;text-align:left;border-bottom:1px solid var(--line);vertical-align:top}th{color:var(--soft);font-weight:500}
th.n,td.n{text-align:right}tr:last-child td{border-bottom:0}tfoot td{font-weight:600}
code,pre{font:.88em/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}pre{margin:0;white-space:pre-wrap;overflow-wrap:anywhere}td code{overflow-wrap:anywhere}
.warn{color:var(--bad)}
svg{display:block;width:100%;height:auto}svg text{fill:var(--ink);font-size:12px}svg .tick{fill:var(--soft);font-size:11px}
.grid{stroke:var(--line);fill:none}.axis{stroke:var(--soft);fill:none}
.line{fill:none;stroke-width:1.8;stroke-linejoin:round}.line.s1{stroke:var(--s1)}.line.s2{stroke:var(--s2)}.line.s3{stroke:var(--s3)}.line.faint{stroke:var(--s1);stroke-opacity:.3;stroke-width:1}
.dot{stroke:var(--card);stroke-width:1}.dot.s1{fill:var(--s1)}.dot.s2{fill:var(--s2)}.dot.s3{fill:var(--s3)}
.legend{display:flex;flex-wrap:wrap;gap:4px 18px;font-size:.86em;color:var(--soft);margin:4px 0 0}.legend i{display:inline-block;width:18px;height:0;border-top:3px solid;vertical-align:middle;margin-right:6px}
i.s1{border-color:var(--s1)}i.s2{border-color:var(--s2)}i.s3{border-color:var(--s3)}i.faint{border-color:var(--s1);opacity:.35}
.confusion{margin:0 auto}.right{fill:var(--s1)}.wrong{fill:var(--s2)}.confusion .cell{font-size:12px}.confusion .deep{fill:var(--card)}.frame{fill:none;stroke:var(--line)}
.spark{width:120px;height:20px}
details summary{cursor:pointer;color:var(--soft)}
)css";

}  // namespace

std::string html_page(std::string_view title, std::string_view body) {
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width,initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\">\n<title>{}</title>\n<style>{}</style>\n</head>\n"
      "<body>\n{}</body>\n</html>\n",
      html_text(title), kStyle, body);
}

std::string html_section(std::string_view name, const std::string& body, bool is_long) {
  return body.empty() ? std::string()
                      : fmt::format("<section{}>\n<h2>{}</h2>\n{}</section>\n", is_long ? " class=\"long\"" : "",
                                    html_text(name), body);
}

std::string number_text(double value) {
  if (!std::isfinite(value)) return std::isnan(value) ? "not a number" : value > 0 ? "∞" : "-∞";
  if (value != 0 && (std::abs(value) < 1e-4 || std::abs(value) >= 1e7)) return fmt::format("{:.3g}", value);
  return fmt::format("{:.5g}", value);
}

std::string count_text(std::uint64_t n) {
  std::string digits = fmt::format("{}", n);
  for (std::size_t i = digits.size(); i > 3; i -= 3) digits.insert(i - 3, ",");
  return digits;
}

std::string bytes_text(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  const auto b = static_cast<double>(bytes);
  return bytes < 1'000'000       ? fmt::format("{:.1f} kB", b / 1e3)
         : bytes < 1'000'000'000 ? fmt::format("{:.1f} MB", b / 1e6)
                                 : fmt::format("{:.2f} GB", b / 1e9);
}

std::string seconds_text(double seconds) {
  if (!(seconds >= 0) || seconds > 1e9) return "?";
  if (seconds < 0.1) return fmt::format("{:.1f} ms", 1000 * seconds);
  if (seconds < 10) return fmt::format("{:.2f} s", seconds);
  const auto s = static_cast<std::uint64_t>(std::llround(seconds));
  return s < 60     ? fmt::format("{} s", s)
         : s < 3600 ? fmt::format("{}m{:02}s", s / 60, s % 60)
                    : fmt::format("{}h{:02}m", s / 3600, s / 60 % 60);
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  out_ = "<div class=\"scroll\"><table><thead><tr>";
  for (const Column& c : columns_)
    out_ += fmt::format("<th{}>{}</th>", c.is_number ? " class=\"n\"" : "", html_text(c.name));
  out_ += "</tr></thead><tbody>\n";
}

void Table::row(std::span<const std::string> cells) {
  out_ += "<tr>";
  for (std::size_t i = 0; i < cells.size(); ++i)
    out_ += fmt::format("<td{}>{}</td>", columns_[i].is_number ? " class=\"n\"" : "", cells[i]);
  out_ += "</tr>\n";
}

std::string Table::finish() const { return out_ + "</tbody></table></div>\n"; }

std::string html_code(std::string_view text) { return fmt::format("<code>{}</code>", html_text(text)); }

}  // namespace loom
