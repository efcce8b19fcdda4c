#include "worker/text_check.h"

#include "backbones/backbone.h"
#include "core/streams.h"
#include "models/tokenizers/clip_tokenizer.h"

namespace harness {

PromptReading reading_of(const TextLimits& limits, const std::string& text, const std::string& target) {
  using Reading = TextLimits::Reading;
  PromptReading found{.text = limits.reading(text)};
  const auto begin = text.find('"') + 1;
  if (found.text != Reading::kCut || target.empty() || text.compare(begin, target.size(), target) != 0)
    return found;
  const auto until = std::string_view(text).substr(0, begin + target.size());
  found.is_target_cut = limits.reading(until) == Reading::kCut;
  return found;
}

namespace {

/// Indexes of the prompts that a scorer's text model truncates.
Json cut_by(const std::string& folder, const Json& prompts) {
  const auto tokenizer = ClipTokenizer::load(folder);
  Json cut = Json::array();
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const auto tokens = tokenizer.encode(prompts[i].at(0).get_ref<const std::string&>()).size();
    if (tokens > static_cast<std::size_t>(kClipTokens)) cut.push_back(i);
  }
  return cut;
}

/// No limits for a backbone without a folder.
TextLimits limits_of(const Json& request) {
  const auto folder = request.at("weights").get<std::string>();
  if (folder.empty()) return {folder, 0};
  return {folder, read_model_choices(request.at("backbone"), request.at("settings"), "settings").text_tokens};
}

}  // namespace

int check_texts_command(const Json& request) {
  const auto limits = limits_of(request);
  const auto& prompts = request.at("prompts");
  Json cut = Json::array(), partly = Json::array(), scorers = Json::object();
  int targets = 0;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const auto found = reading_of(limits, prompts[i].at(0), prompts[i].at(1));
    if (found.text == TextLimits::Reading::kCut) cut.push_back(i);
    if (found.text == TextLimits::Reading::kPartly) partly.push_back(i);
    targets += found.is_target_cut ? 1 : 0;
  }
  for (const auto& [name, folder] : request.at("scorers").items()) scorers[name] = cut_by(folder, prompts);
  put("{}\n", Json{{"longest", limits.longest()},
                   {"shortest", limits.shortest()},
                   {"cut", cut},
                   {"partly", partly},
                   {"targets_cut", targets},
                   {"scorers", scorers}}
                  .dump());
  return 0;
}

}  // namespace harness
