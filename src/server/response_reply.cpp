#include "server/response_reply.h"

#include <algorithm>
#include <span>
#include <utility>

#include "core/sha256.h"
#include "server/errors.h"

namespace loom::server {
namespace {

Json part_of(std::string_view type, const std::string& text) {
  Json part{{"type", type}, {"text", text}};
  if (type == "output_text") part["annotations"] = Json::array(), part["logprobs"] = Json::array();
  return part;
}

Json with_status(Json item, std::string_view status) {
  item["status"] = status;
  return item;
}

}  // namespace

constexpr ResponseReply::ItemKind ResponseReply::kThoughts{
    "reasoning", "rs", "reasoning_text", "response.reasoning_text.delta", "response.reasoning_text.done"};
constexpr ResponseReply::ItemKind ResponseReply::kMessage{"message", "msg", "output_text", "response.output_text.delta",
                                                          "response.output_text.done"};

ResponseReply::ResponseReply(std::shared_ptr<HttpReply> to, std::shared_ptr<const text::Tokenizer> tokenizer,
                             ChatNames names, const Prepared& prepared, Json echo)
    : to_(std::move(to)),
      tokenizer_(std::move(tokenizer)),
      names_(std::move(names)),
      echo_(std::move(echo)),
      streams_(prepared.request.stream),
      id_seed_(prepared.id_seed),
      thinking_(prepared.thoughts),
      reader_(prepared.reader()) {}

// The tokens up to the mark that ends the thoughts, or all of them where they were cut.
std::size_t ResponseReply::thought_tokens() const {
  const auto is_thoughts = [](const Json& item) { return item["type"] == kThoughts.item; };
  if (std::ranges::none_of(output_, is_thoughts)) return 0;
  const std::vector<std::int32_t>& ids = answer_->generation.ids;
  std::size_t low = 0, high = ids.size();
  while (low < high) {  // the first number of tokens whose text has the mark
    const std::size_t middle = (low + high) / 2;
    const std::string text = tokenizer_->decode(std::span(ids).first(middle), {.skip_special_tokens = false});
    if (text.find(ThoughtReader::kClose) == text.npos)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

Json ResponseReply::response(std::string_view status) const {
  const bool is_cut = status == "incomplete";
  Json json{{"id", "resp_" + names_.id},
            {"object", "response"},
            {"created_at", names_.created},
            {"status", status},
            {"background", false},
            {"error", nullptr},
            {"incomplete_details", is_cut ? Json{{"reason", "max_output_tokens"}} : Json()},
            {"model", names_.model},
            {"output", output_}};
  json.update(echo_);
  json["usage"] = nullptr;
  if (!answer_) return json;
  const std::size_t read = answer_->generation.prompt_ids.size(), written = answer_->generation.ids.size();
  json["usage"] = Json{{"input_tokens", read},
                       {"input_tokens_details", {{"cached_tokens", answer_->cached_tokens}}},
                       {"output_tokens", written},
                       {"output_tokens_details", {{"reasoning_tokens", thought_tokens()}}},
                       {"total_tokens", read + written}};
  json["loom"] = Json{{"hash", to_hex(answer_->generation.hash)}};
  return json;
}

void ResponseReply::event(const char* type, const Json& data) {
  if (!streams_) return;
  Json json{{"type", type}, {"sequence_number", events_++}};
  json.update(data);
  to_->write(fmt::format("event: {}\ndata: {}\n\n", type, dump_json(json)));
}

void ResponseReply::begin() {
  if (!streams_ || std::exchange(has_begun_, true)) return;
  to_->begin({200, "text/event-stream; charset=utf-8"});
  event("response.created", {{"response", response("in_progress")}});
  event("response.in_progress", {{"response", response("in_progress")}});
}

Json ResponseReply::item_event(const Json& item) const {
  return Json{{"output_index", output_.size() - 1}, {"item", item}};
}

void ResponseReply::add(const ItemKind& kind, std::string_view text) {
  if (text.empty()) return;
  if (open_ != &kind) {
    close_item();
    open_ = &kind;
    Json item{{"type", kind.item},
              {"id", fmt::format("{}_{}_{}", kind.id, names_.id, output_.size())},
              {"status", "in_progress"}};
    if (&kind == &kMessage)
      item["role"] = "assistant";
    else
      item["summary"] = Json::array();
    item["content"] = Json::array();
    output_.push_back(item);
    event("response.output_item.added", item_event(item));
    output_.back()["content"].push_back(part_of(kind.part, ""));
    event("response.content_part.added", {{"item_id", item["id"]},
                                          {"output_index", output_.size() - 1},
                                          {"content_index", 0},
                                          {"part", part_of(kind.part, "")}});
  }
  Json& part = output_.back()["content"][0];
  part["text"] = *as_string(part["text"]) + std::string(text);
  Json delta{{"item_id", output_.back()["id"]},
             {"output_index", output_.size() - 1},
             {"content_index", 0},
             {"delta", std::string(text)}};
  if (&kind == &kMessage) delta["logprobs"] = Json::array();
  event(kind.delta, delta);
}

void ResponseReply::close_item(const char* status) {
  if (open_ == nullptr) return;
  const ItemKind& kind = *std::exchange(open_, nullptr);
  Json& item = output_.back();
  item["status"] = status;
  const Json place{{"item_id", item["id"]}, {"output_index", output_.size() - 1}, {"content_index", 0}};
  Json done = place, part_done = place;
  done["text"] = item["content"][0]["text"];
  if (&kind == &kMessage) done["logprobs"] = Json::array();
  part_done["part"] = item["content"][0];
  event(kind.done, done);
  event("response.content_part.done", part_done);
  event("response.output_item.done", item_event(item));
}

void ResponseReply::add_call(const ToolCall& call) {
  close_item();
  const Json item{{"type", "function_call"},
                  {"id", fmt::format("fc_{}_{}", names_.id, output_.size())},
                  {"call_id", call_id(id_seed_ + "0", calls_++, call.name, call.arguments)},
                  {"name", call.name},
                  {"arguments", call.arguments}};
  output_.push_back(with_status(item, "completed"));
  Json begun = with_status(item, "in_progress");
  begun["arguments"] = "";
  event("response.output_item.added", item_event(begun));
  const Json place{{"item_id", item["id"]}, {"output_index", output_.size() - 1}};
  Json delta = place, done = place;
  delta["delta"] = call.arguments;
  done["name"] = call.name, done["arguments"] = call.arguments;
  event("response.function_call_arguments.delta", delta);
  event("response.function_call_arguments.done", done);
  event("response.output_item.done", item_event(output_.back()));
}

void ResponseReply::read(std::string_view text, bool is_last) {
  std::string rest(text);
  if (thinking_) {
    ThoughtReader::Found found = thinking_->push(text);
    if (is_last) {
      const ThoughtReader::Found end = thinking_->finish();
      found.thoughts += end.thoughts, found.text += end.text;
    }
    add(kThoughts, found.thoughts);
    rest = std::move(found.text);
  }
  take(reader_ ? reader_->push(rest) : CallReader::Found{std::move(rest), {}});
  if (is_last && reader_) take(reader_->finish());
}

void ResponseReply::take(const CallReader::Found& found) {
  add(kMessage, found.text);
  for (const ToolCall& call : found.calls) add_call(call);
}

bool ResponseReply::on_text(std::size_t, std::string_view text) {
  if (!streams_ || has_failed_) return is_wanted();
  begin();
  read(text, false);
  return is_wanted();
}

void ResponseReply::on_end(std::size_t, Result<Answer> answer) {
  if (!answer) {
    has_failed_ = true;
    const HttpResponse failed = api_error(answer.error());
    if (!has_begun_) return to_->send({failed.status, failed.content_type}, failed.body);
    Json ended = response("failed");
    ended["error"] = Json{{"code", "server_error"}, {"message", answer.error().text()}};
    event("response.failed", {{"response", std::move(ended)}});
    return to_->finish();
  }
  begin();
  read(streams_ ? std::string_view() : std::string_view(answer->generation.text), true);
  const bool is_cut = std::string_view(finish_reason(answer->generation.stop_reason, false)) == "length";
  const char* const status = is_cut ? "incomplete" : "completed";
  close_item(status);
  answer_ = *std::move(answer);
  const Json whole = response(status);
  if (!streams_) return to_->send({}, dump_json(whole) + "\n");
  event(is_cut ? "response.incomplete" : "response.completed", {{"response", whole}});
  to_->finish();
}

}  // namespace loom::server
