#include "server/response_reply.h"

#include <utility>

#include "core/sha256.h"
#include "server/errors.h"

namespace loom::server {
namespace {

Json text_part(std::string_view text) {
  return Json{{"type", "output_text"},
              {"text", std::string(text)},
              {"annotations", Json::array()},
              {"logprobs", Json::array()}};
}

Json with_status(Json item, std::string_view status) {
  item["status"] = status;
  return item;
}

}  // namespace

ResponseReply::ResponseReply(std::shared_ptr<HttpReply> to, ChatNames names, const Prepared& prepared, Json echo)
    : to_(std::move(to)),
      names_(std::move(names)),
      echo_(std::move(echo)),
      streams_(prepared.request.stream),
      id_seed_(prepared.id_seed),
      reader_(prepared.reader()) {}

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
                       {"output_tokens_details", {{"reasoning_tokens", 0}}},
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

void ResponseReply::add_text(std::string_view text) {
  if (text.empty()) return;
  if (!std::exchange(text_is_open_, true)) {
    Json item{{"type", "message"},
              {"id", fmt::format("msg_{}_{}", names_.id, output_.size())},
              {"status", "in_progress"},
              {"role", "assistant"},
              {"content", Json::array()}};
    output_.push_back(item);
    event("response.output_item.added", item_event(item));
    output_.back()["content"].push_back(text_part(""));
    event(
        "response.content_part.added",
        {{"item_id", item["id"]}, {"output_index", output_.size() - 1}, {"content_index", 0}, {"part", text_part("")}});
  }
  Json& part = output_.back()["content"][0];
  part["text"] = *as_string(part["text"]) + std::string(text);
  event("response.output_text.delta", {{"item_id", output_.back()["id"]},
                                       {"output_index", output_.size() - 1},
                                       {"content_index", 0},
                                       {"delta", std::string(text)},
                                       {"logprobs", Json::array()}});
}

void ResponseReply::close_text(const char* status) {
  if (!std::exchange(text_is_open_, false)) return;
  Json& item = output_.back();
  item["status"] = status;
  const Json place{{"item_id", item["id"]}, {"output_index", output_.size() - 1}, {"content_index", 0}};
  Json done = place, part_done = place;
  done["text"] = item["content"][0]["text"], done["logprobs"] = Json::array();
  part_done["part"] = item["content"][0];
  event("response.output_text.done", done);
  event("response.content_part.done", part_done);
  event("response.output_item.done", item_event(item));
}

void ResponseReply::add_call(const ToolCall& call) {
  close_text();
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

void ResponseReply::take(const CallReader::Found& found) {
  add_text(found.text);
  for (const ToolCall& call : found.calls) add_call(call);
}

bool ResponseReply::on_text(std::size_t, std::string_view text) {
  if (!streams_ || has_failed_) return is_wanted();
  begin();
  if (reader_)
    take(reader_->push(text));
  else
    add_text(text);
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
  if (!streams_)
    take(reader_ ? reader_->push(answer->generation.text) : CallReader::Found{answer->generation.text, {}});
  if (reader_) take(reader_->finish());
  const bool is_cut = std::string_view(finish_reason(answer->generation.stop_reason, false)) == "length";
  const char* const status = is_cut ? "incomplete" : "completed";
  close_text(status);
  answer_ = *std::move(answer);
  const Json whole = response(status);
  if (!streams_) return to_->send({}, dump_json(whole) + "\n");
  event(is_cut ? "response.incomplete" : "response.completed", {{"response", whole}});
  to_->finish();
}

}  // namespace loom::server
