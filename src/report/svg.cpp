#include "report/svg.h"

#include <fmt/format.h>

#include <iterator>

#include "report/markup.h"

namespace loom {

void Svg::rect(const Rect& r) {
  auto out = std::back_inserter(body_);
  fmt::format_to(out, "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\" fill=\"{}\"", r.x, r.y,
                 r.width, r.height, r.fill);
  if (!r.stroke.empty()) fmt::format_to(out, " stroke=\"{}\" stroke-width=\"{}\"", r.stroke, r.stroke_width);
  if (r.radius > 0) fmt::format_to(out, " rx=\"{}\"", r.radius);
  if (r.dashed) body_ += " stroke-dasharray=\"4 3\"";
  if (r.opacity < 1) fmt::format_to(out, " opacity=\"{}\"", r.opacity);
  if (r.title.empty())
    body_ += "/>\n";
  else
    fmt::format_to(out, "><title>{}</title></rect>\n", html_text(r.title));
}

void Svg::text(const Text& t, std::string_view words) {
  auto out = std::back_inserter(body_);
  fmt::format_to(out, "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:.1f}\" fill=\"{}\"", t.x, t.y, t.size, t.fill);
  if (t.anchor != "start") fmt::format_to(out, " text-anchor=\"{}\"", t.anchor);
  if (t.bold) body_ += " font-weight=\"bold\"";
  if (t.turn != 0) fmt::format_to(out, " transform=\"rotate({} {:.1f} {:.1f})\"", t.turn, t.x, t.y);
  fmt::format_to(out, ">{}</text>\n", html_text(words));
}

void Svg::path(const Path& p, std::string_view commands) {
  has_arrows_ = has_arrows_ || p.arrow;
  fmt::format_to(std::back_inserter(body_), "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{}{}/>\n",
                 commands, p.stroke, p.width, p.dashed ? " stroke-dasharray=\"4 3\"" : "",
                 p.arrow ? " marker-end=\"url(#arrow)\"" : "");
}

std::string Svg::finish(double width, double height, std::string_view font, std::string_view label) const {
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\" "
      "font-family=\"{2}\"",
      width, height, font);
  if (!label.empty()) out += fmt::format(" role=\"img\" aria-label=\"{}\"", html_text(label));
  out += ">\n";
  if (has_arrows_)
    out +=
        "<defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"7\" markerHeight=\"7\" "
        "orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#b03060\"/></marker></defs>\n";
  return out + "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n" + body_ + "</svg>\n";
}

}  // namespace loom
