// Comparisons of reports as JSON, text and a page.

#include <algorithm>
#include <map>

#include "bridge/report_store.h"
#include "core/json.h"
#include "report/markup.h"

namespace loom {
namespace {

std::string_view label_of(const ReportPair& pair) {
  return pair.difference ? difference_label(*pair.difference) : "PENDING";
}

bool agrees(const ReportPair& pair) {
  return pair.difference && (pair.difference->exact || difference_label(*pair.difference) == "PASS");
}

struct Tally {
  std::size_t all = 0, good = 0;
};
Tally tally_of(const std::vector<ReportPair>& pairs) {
  return {pairs.size(), static_cast<std::size_t>(std::ranges::count_if(pairs, agrees))};
}

Json step_json(const BridgeReport& report) {
  return {{"bedrock", report.bedrock},
          {"planet", report.planet},
          {"model_id", report.model_id},
          {"stage", report.stage},
          {"format", report.format},
          {"fixture_version", report.fixture_version},
          {"sample_count", report.outputs.count},
          {"output_dim", report.outputs.width}};
}

Json pair_json(const ReportPair& pair) {
  Json out{{"planet", pair.to->planet},  {"model_id", pair.to->model_id},
           {"from_stage", "native"},     {"from_format", pair.from == nullptr ? Json() : Json(pair.from->format)},
           {"to_stage", pair.to->stage}, {"to_format", pair.to->format},
           {"pending", !pair.difference}};
  if (pair.difference) {
    out["max_abs_diff"] = pair.difference->largest, out["mean_abs_diff"] = pair.difference->mean;
    out["exact_match"] = pair.difference->exact;
  }
  return out;
}

constexpr std::string_view kStyle =
    "body{font:15px/1.45 system-ui,sans-serif;margin:0;color:#1b1f24;background:#fff}\n"
    "header,nav,main{max-width:72rem;margin:0 auto;padding:0 1rem}\n"
    "h1{font-size:1.4rem;margin:1.2rem 0 .2rem}p{margin:.3rem 0 1rem}\n"
    "input[name=tab]{position:absolute;opacity:0;pointer-events:none}\n"
    "nav{display:flex;flex-wrap:wrap;gap:.3rem}\n"
    "nav label{padding:.25rem .6rem;border:1px solid #c4cad1;border-radius:.4rem;cursor:pointer;white-space:nowrap}\n"
    "nav small{color:#59636e;margin-left:.3rem}\n"
    "section{display:none;overflow-x:auto}\ntable{border-collapse:collapse;width:100%;margin:.6rem 0 2rem}\n"
    "th,td{text-align:left;padding:.35rem .6rem;border-bottom:1px solid #d5dae0;white-space:nowrap}\n"
    "td.n{font-family:ui-monospace,monospace;text-align:right}th.n{text-align:right}\n"
    "b{padding:.05rem .45rem;border-radius:.3rem;font-weight:600;font-size:.85rem}\n"
    "b.EXACT,b.PASS{background:#d7f0dd;color:#0b4f24}b.DIFF{background:#ffdcd7;color:#86180b}"
    "b.PENDING{background:#e6e9ed;color:#3d454e}\na{color:#0b57b0}\n"
    "@media(prefers-color-scheme:dark){body{background:#14171b;color:#e6e8eb}th,td{border-color:#363c44}"
    "nav label{border-color:#4a525c}nav small{color:#a3acb6}a{color:#7db5ff}}\n";

// One rule per tab: its panel shows, its label stands out.
std::string tab_rules(const std::vector<std::string_view>& tabs) {
  std::string rules;
  for (const std::string_view tab : tabs)
    rules += fmt::format(
        "#t-{0}:checked~main #p-{0}{{display:block}}\n#t-{0}:checked~nav [for=t-{0}]{{background:#0b57b0;color:#fff;"
        "border-color:#0b57b0}}\n#t-{0}:checked~nav [for=t-{0}] small{{color:#dbe9fb}}\n"
        "#t-{0}:focus-visible~nav [for=t-{0}]{{outline:3px solid #f0a020}}\n",
        tab);
  return rules;
}

std::string row_html(const ReportStore& store, const ReportPair& pair) {
  const BridgeReport& to = *pair.to;
  std::string largest = "-", mean = "-", certificate = "-";
  if (pair.difference) {
    largest = fmt::format("{:.3e}", pair.difference->largest);
    mean = fmt::format("{:.3e}", pair.difference->mean);
  }
  if (to.stage == "loom" && store.certificate(to.bedrock, to.planet, to.model_id) != nullptr)
    certificate = "<a href=\"" +
                  fmt::format("/certificate?bedrock={}&amp;planet={}&amp;model={}", html_text(to.bedrock),
                              html_text(to.planet), html_text(to.model_id)) +
                  "\">layers and hashes</a>";
  return fmt::format(
      "<tr><td>{}</td><td>{}</td><td>{} / {}</td><td><b class=\"{}\">{}</b></td><td class=\"n\">{}</td>"
      "<td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td></tr>\n",
      html_text(to.model_id), html_text(to.planet), html_text(to.stage), html_text(to.format), label_of(pair),
      label_of(pair), largest, mean, to.outputs.count, certificate);
}

std::string panel_html(const ReportStore& store, std::string_view tab, const std::vector<ReportPair>& pairs) {
  std::string panel = fmt::format("<section id=\"p-{0}\"><h2>{0}</h2>\n", tab);
  if (pairs.empty())
    return panel + fmt::format(
                       "<p>Nothing has come in yet: POST /api/v1/report and /api/v1/loom/stream/{}.</p>"
                       "</section>\n",
                       tab);
  panel +=
      "<table><tr><th>Model</th><th>Source</th><th>Stage</th><th>Verdict</th><th class=\"n\">Largest difference"
      "</th><th class=\"n\">Mean difference</th><th class=\"n\">Samples</th><th>Certificate</th></tr>\n";
  for (const ReportPair& pair : pairs) panel += row_html(store, pair);
  return panel + "</table></section>\n";
}

}  // namespace

Json comparison_json(const ReportStore& store, std::string_view bedrock) {
  const auto reports = store.reports(bedrock);
  std::map<std::string, std::map<std::string, Json>> models;  // pipelines by `planet`
  for (const ReportPtr& report : reports) {
    Json& pipeline = models[report->model_id][report->planet];
    if (pipeline.is_null())
      pipeline = {{"planet", report->planet}, {"steps", Json::array()}, {"compare", Json::array()}};
    pipeline["steps"].push_back(step_json(*report));
  }
  for (const ReportPair& pair : store.pairs(bedrock))
    models[pair.to->model_id][pair.to->planet]["compare"].push_back(pair_json(pair));
  Json list = Json::array();
  for (auto& [model, planets] : models) {
    Json pipelines = Json::array();
    for (auto& [planet, pipeline] : planets) pipelines.push_back(std::move(pipeline));
    list.push_back({{"model_id", model}, {"pipelines", std::move(pipelines)}});
  }
  return {{"bedrock", bedrock},
          {"fixture_version", reports.empty() ? Json() : Json(reports[0]->fixture_version)},
          {"report_count", reports.size()},
          {"models", std::move(list)}};
}

std::string comparison_text(const ReportStore& store, std::string_view bedrock) {
  std::string text = fmt::format("{:<28} {:<12} {:<18} {:<8} {:>12} {:>12} {:>8}\n", "model", "source", "stage",
                                 "verdict", "largest", "mean", "samples");
  for (const ReportPair& pair : store.pairs(bedrock)) {
    const auto number = [&](double OutputDifference::* member) {
      return pair.difference ? fmt::format("{:.3e}", (*pair.difference).*member) : std::string("-");
    };
    text += fmt::format("{:<28} {:<12} {:<18} {:<8} {:>12} {:>12} {:>8}\n", pair.to->model_id, pair.to->planet,
                        pair.to->stage + "/" + pair.to->format, label_of(pair), number(&OutputDifference::largest),
                        number(&OutputDifference::mean), pair.to->outputs.count);
  }
  return text;
}

std::string progress_text(const ReportStore& store) {
  std::string text = "# Progress\n\n| Layer kind | Agree | Compared |\n| --- | --- | --- |\n";
  Tally sum;
  for (const std::string_view tab : bedrock_tabs()) {
    const Tally tally = tally_of(store.pairs(tab));
    sum.all += tally.all, sum.good += tally.good;
    text += fmt::format("| {} | {} | {} |\n", tab, tally.good, tally.all);
  }
  return text + fmt::format("| all | {} | {} |\n", sum.good, sum.all);
}

std::string comparison_page(const ReportStore& store, std::string_view tab) {
  const auto tabs = bedrock_tabs();
  if (std::ranges::find(tabs, tab) == tabs.end()) tab = tabs[0];
  std::string inputs, labels, panels;
  Tally sum;
  for (const std::string_view t : tabs) {
    const auto pairs = store.pairs(t);
    const Tally tally = tally_of(pairs);
    sum.all += tally.all, sum.good += tally.good;
    inputs += fmt::format("<input type=\"radio\" name=\"tab\" id=\"t-{}\"{}>\n", t, t == tab ? " checked" : "");
    labels += fmt::format("<label for=\"t-{0}\">{0}<small>{1}/{2}</small></label>\n", t, tally.good, tally.all);
    panels += panel_html(store, t, pairs);
  }
  return fmt::format(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" "
      "content=\"width=device-width\"><title>Loom beside its sources</title>\n<style>\n{}{}</style></head><body>\n{}"
      "<header><h1>Loom beside its sources</h1>\n<p>{} of {} outputs agree within 1e-5 with what their framework gave. "
      "EXACT: every number is equal.</p></header>\n<nav>\n{}</nav>\n<main>\n{}</main>\n</body></html>\n",
      kStyle, tab_rules(tabs), inputs, sum.good, sum.all, labels, panels);
}

}  // namespace loom
