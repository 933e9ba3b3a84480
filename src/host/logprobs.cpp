#include "host/logprobs.h"

#include "core/json.h"

namespace loom {

Json logprobs_json(const Generation& generation) {
  Json list = Json::array();
  for (const std::vector<TokenLogprob>& best : generation.logprobs) {  // the drawn token first
    Json entry{{"id", best[0].id}, {"logprob", best[0].logprob}, {"top", Json::array()}};
    for (std::size_t k = 1; k < best.size(); ++k)
      entry["top"].push_back(Json{{"id", best[k].id}, {"logprob", best[k].logprob}});
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace loom
