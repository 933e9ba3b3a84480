#include "host/draw.h"

#include <algorithm>
#include <map>

#include "core/json.h"
#include "network/spec/spec.h"
#include "report/markup.h"
#include "report/svg.h"

namespace loom {
namespace {

constexpr double kWidth = 200, kLeaf = 40, kHead = 24, kShapeLine = 14, kGap = 6, kCellGap = 26, kPlaneGap = 60,
                 kMargin = 24;

// Wide types blue, bytes green, down to one bit in red: fewer bits, warmer colours.
const char* colour_of(const std::string& dtype) {
  static const std::map<std::string, const char*> colours = {
      {"float64", "#9db8e8"}, {"float32", "#bcd0f2"}, {"float16", "#c9dcf5"}, {"bfloat16", "#c9dcf5"},
      {"int64", "#a9c4d8"},   {"int32", "#b8d2e2"},   {"int16", "#c6e0ea"},   {"uint64", "#a9c4d8"},
      {"uint32", "#b8d2e2"},  {"uint16", "#c6e0ea"},  {"int8", "#bfe5c6"},    {"uint8", "#bfe5c6"},
      {"fp8e4m3", "#cdeabf"}, {"fp8e5m2", "#cdeabf"}, {"int4", "#f3e9a8"},    {"uint4", "#f3e9a8"},
      {"fp4", "#f6ecb9"},     {"int2", "#f6cf9e"},    {"uint2", "#f6cf9e"},   {"ternary", "#f4b98f"},
      {"binary", "#f0a199"}};
  const auto found = colours.find(dtype);
  return found == colours.end() ? "#e9e9ee" : found->second;
}

std::string count_text(std::size_t n) {
  if (n >= 1000000) return fmt::format("{:.1f} M weights", static_cast<double>(n) / 1e6);
  if (n >= 10000) return fmt::format("{:.0f} k weights", static_cast<double>(n) / 1e3);
  return n == 0 ? "no weights" : fmt::format("{} weights", n);
}

// A layer and what it holds.
struct Node {
  std::string label, note, dtype;
  bool disabled = false;
  const Share* link = nullptr;
  std::vector<Node> children;
  std::string shape{};  // of a cell's output, where it is known

  double head() const { return shape.empty() ? kHead : kHead + kShapeLine; }
  double height() const {
    if (children.empty()) return shape.empty() ? kLeaf : kLeaf + kShapeLine;
    double h = head() + kGap;
    for (const Node& child : children) h += child.height() + kGap;
    return h;
  }
};

// `link`: of the cell that the layer stands in.
Node node_of(Layer& layer, const std::string& role, const Share* link = nullptr) {
  if (link == nullptr) link = layer_as<Share>(layer);
  Node node{role + std::string(layer.kind()), {}, {}, layer.common.is_disabled, link, {}};
  const Json settings = layer_to_json(layer);
  if (const Json* mode = find(settings, "combine_mode")) node.label += " " + *as_string(*mode);
  if (find(settings, "residual") != nullptr) node.label += " + input";
  if (!layer.common.name.empty()) node.label += " \"" + layer.common.name + "\"";
  if (node.link != nullptr) {
    const auto& a = node.link->address();
    node.note = fmt::format("{} ({}, {}, {}, {})", node.link->mode() == Share::Mode::Feed ? "fed by" : "shares", a[0],
                            a[1], a[2], a[3]);
    return node;
  }
  std::size_t weights = 0;
  layer.visit_all_weights([&](Weight& w) {
    weights += w.elements();
    if (node.dtype.empty() || w.role() == WeightRole::Matrix) node.dtype = std::string(name(w.dtype()));
  });
  node.note = weights == 0 ? "" : node.dtype + ", " + count_text(weights);
  layer.visit_children([&](const std::string& place, Layer& child) {
    node.children.push_back(node_of(child, place == "filter_gate" ? "gate: " : ""));
  });
  return node;
}

// An upper bound of the width of a text: the pictures bring no font, and letters of Helvetica are narrower.
double text_width(std::string_view text, int size, bool bold) {
  return static_cast<double>(text.size() * static_cast<std::size_t>(size)) * (bold ? 0.62 : 0.58);
}

// As much of a text as a box is wide enough for.
std::string fitting(std::string_view text, int size, bool bold, double width) {
  if (text_width(text, size, bold) <= width) return std::string(text);
  return shortened(text, static_cast<std::size_t>(width / text_width("x", size, bold)));
}

class Picture {
 public:
  void box(double x, double y, double width, double height, const char* fill, bool disabled, bool empty = false) {
    svg_.rect({.x = x,
               .y = y,
               .width = width,
               .height = height,
               .fill = fill,
               .stroke = empty ? "#c8c8d0" : "#55596a",
               .radius = 5,
               .opacity = disabled ? 0.45 : 1,
               .dashed = empty || disabled});
    right_ = std::max(right_, x + width), bottom_ = std::max(bottom_, y + height);
  }
  void text(double x, double y, std::string_view what, int size, const char* colour = "#1c1f2b", bool bold = false) {
    const std::string shown = shortened(what, 120);
    right_ = std::max(right_, x + text_width(shown, size, bold));
    svg_.text({.x = x, .y = y, .size = static_cast<double>(size), .fill = colour, .bold = bold}, shown);
  }
  void curve(double x1, double y1, double x2, double y2, bool ahead) {
    const double bend = ahead ? (x1 + x2) / 2 : std::max(x1, x2) + 24;
    right_ = std::max(right_, bend);
    svg_.path(
        {.stroke = "#b03060", .width = 1.6, .arrow = true},
        fmt::format("M{:.1f} {:.1f} C{:.1f} {:.1f} {:.1f} {:.1f} {:.1f} {:.1f}", x1, y1, bend, y1, bend, y2, x2, y2));
  }
  // Returns the height.
  double node(const Node& n, double x, double y, double width) {
    const double height = n.height();
    box(x, y, width, height, n.children.empty() ? colour_of(n.dtype) : "#f7f7fa", n.disabled);
    const double room = width - 16;
    text(x + 8, y + 16, fitting(n.label, 12, true, room), 12, "#1c1f2b", true);
    if (n.link != nullptr) links_.push_back({n.link, x + width, y + height / 2});
    if (n.children.empty()) {
      text(x + 8, y + 31, fitting(n.disabled ? "disabled" : n.note, 10, false, room), 10, "#4a4e5c");
      const double below = n.note.empty() && !n.disabled ? 0 : kShapeLine;
      if (!n.shape.empty()) text(x + 8, y + 31 + below, fitting(n.shape, 10, false, room), 10, "#4a4e5c");
      return height;
    }
    if (!n.shape.empty()) text(x + 8, y + 31, fitting(n.shape, 10, false, room), 10, "#4a4e5c");
    double at = y + n.head();
    for (const Node& child : n.children) at += node(child, x + kGap, at, width - 2 * kGap) + kGap;
    return height;
  }
  std::string svg() const {
    return svg_.finish(right_ + kMargin, bottom_ + kMargin, "Helvetica, Arial, sans-serif", "Layers of a network");
  }
  double bottom() const { return bottom_; }
  double right() const { return right_; }
  struct LinkEnd {
    const Share* link;
    double x, y;
  };
  const std::vector<LinkEnd>& links() const { return links_; }

 private:
  Svg svg_;
  std::vector<LinkEnd> links_;
  double right_ = 0, bottom_ = 0;
};

struct Corner {
  double x = 0, y = 0;
};

// "gives [1, 8]" for each cell, where the plans know it.
std::vector<std::string> output_shapes(const Network& network, const Plans& plans) {
  std::vector<std::string> out(network.num_cells());
  if (!plans.know_shapes()) return out;
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = "gives " + plans.shape_after(i).text();
  return out;
}

// Every cell of the grid, planes side by side; where each begins.
std::vector<Corner> draw_grid(Picture& picture, const Network& network, const Plans& plans) {
  const GridSize& size = network.size();
  const std::vector<std::string> shapes = output_shapes(network, plans);
  std::vector<Corner> places(network.num_cells());
  double left = kMargin;
  for (std::size_t z = 0; z < size.depth; ++z) {
    double top = kMargin + 70;
    if (size.depth > 1) picture.text(left, top - 18, fmt::format("z = {}", z), 12, "#4a4e5c", true);
    for (std::size_t y = 0; y < size.rows; ++y) {
      double tallest = kLeaf;
      for (std::size_t x = 0; x < size.cols; ++x) {
        double at = top;
        const double column = left + static_cast<double>(x) * (kWidth + kCellGap);
        bool any = false;
        for (std::size_t l = 0; l < size.layers_per_cell; ++l) {
          const std::size_t i = *network.index_of({z, y, x, l});
          places[i] = {column, at + kLeaf / 2};
          const Cell& cell = network.cell(i);
          if (cell.is_empty()) continue;
          any = true;
          Node node = node_of(cell.layer ? *cell.layer : *cell.front(), "", cell.link ? &cell.link->share : nullptr);
          node.shape = shapes[i];
          at += picture.node(node, column, at, kWidth) + kGap;
        }
        if (!any) picture.box(column, top, kWidth, kLeaf, "#ffffff", false, true);
        tallest = std::max(tallest, at - top);
      }
      top += tallest + kCellGap;
    }
    left += static_cast<double>(size.cols) * (kWidth + kCellGap) + (size.depth > 1 ? kPlaneGap : 0);
  }
  return places;
}

// From the target's right edge to the link's, or across when the target stands further right.
void draw_links(Picture& picture, const Network& network, const std::vector<Corner>& places) {
  for (const auto& end : picture.links())
    if (const auto i = network.target_of(*end.link)) {
      const bool ahead = places[*i].x > end.x;
      picture.curve(places[*i].x + (ahead ? 0 : kWidth), places[*i].y, end.x, end.y, ahead);
    }
}

// The colours of the types that the network's matrices have.
void draw_types(Picture& picture, const Network& network) {
  std::map<std::string, const char*> used;
  network.each_layer([&](std::size_t, const std::string&, Layer& layer) {
    layer.visit_all_weights([&](Weight& w) {
      if (w.role() != WeightRole::Vector) used[std::string(name(w.dtype()))] = colour_of(std::string(name(w.dtype())));
    });
  });
  double x = kMargin, y = picture.bottom() + 30;
  const double edge = std::max(picture.right(), kMargin + 3 * 92);
  for (const auto& [type, colour] : used) {
    if (x + 92 > edge) x = kMargin, y += 22;
    picture.box(x, y, 14, 14, colour, false);
    picture.text(x + 20, y + 11, type, 11);
    x += 92;
  }
}

}  // namespace

Result<std::string> draw_network(const Network& network, const Plans& plans, std::string_view title) {
  constexpr std::size_t kMostCells = 4096;
  if (network.num_cells() > kMostCells)
    return fail(Code::LimitExceeded, "{} cells are too many for a picture, at most {} are drawn", network.num_cells(),
                kMostCells);
  const GridSize& size = network.size();
  Picture picture;
  const std::string& own = network.settings.name.empty() ? network.settings.id : network.settings.name;
  picture.text(kMargin, kMargin + 8, title.empty() ? own : title, 16, "#1c1f2b", true);
  const std::string input = plans.know_shapes() ? fmt::format("; input {}", plans.input().text()) : std::string();
  picture.text(kMargin, kMargin + 26,
               fmt::format("grid {} x {} x {}, {} layers per cell; {:.2f} MB of weights{}", size.depth, size.rows,
                           size.cols, size.layers_per_cell, static_cast<double>(network.resident_bytes()) / 1e6, input),
               11, "#4a4e5c");
  const std::vector<Corner> places = draw_grid(picture, network, plans);
  draw_links(picture, network, places);
  draw_types(picture, network);
  return picture.svg();
}

}  // namespace loom
