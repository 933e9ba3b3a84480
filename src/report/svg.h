#pragma once
// A picture as one SVG file that needs no font, script or style sheet. Coordinates are pixels, written with one
// decimal; equal calls give equal bytes.

#include <string>
#include <string_view>

namespace loom {

// Colours that the pictures share.
inline constexpr std::string_view kSvgInk = "#1d2433", kSvgSoft = "#4a5468", kSvgLine = "#d7dbe3", kSvgMark = "#d6336c";
inline constexpr std::string_view kSvgMono = "ui-monospace, Menlo, Consolas, monospace";

class Svg {
 public:
  struct Rect {
    double x = 0, y = 0, width = 0, height = 0;
    std::string_view fill = "none";
    std::string_view stroke = {};  // none when empty
    double stroke_width = 1, radius = 0, opacity = 1;
    bool dashed = false;
    std::string_view title = {};  // shown on hovering
  };
  struct Text {
    double x = 0, y = 0;  // of the baseline
    double size = 12;     // of the letters
    std::string_view fill = kSvgInk;
    std::string_view anchor = "start";  // start, middle or end
    bool bold = false;
    double turn = 0;  // degrees around (x, y)
  };
  struct Path {
    std::string_view stroke;
    double width = 1;
    bool dashed = false, arrow = false;  // arrow: at its end
  };

  void rect(const Rect& rect);
  // `words` may hold any text: it is escaped.
  void text(const Text& text, std::string_view words);
  void path(const Path& path, std::string_view commands);
  // `label` describes the picture to people who cannot see it.
  std::string finish(double width, double height, std::string_view font, std::string_view label = {}) const;

 private:
  std::string body_;
  bool has_arrows_ = false;
};

}  // namespace loom
