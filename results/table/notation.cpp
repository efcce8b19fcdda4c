#include "results/table/notation.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/error.h"
#include "core/json.h"
#include "results/table/markup.h"

namespace harness {
namespace {

const std::map<std::string, std::string, std::less<>>& field_names() {
  static const std::map<std::string, std::string, std::less<>> names{
      {"aspo", "ASPO"},
      {"awm", "AWM"},
      {"base", "Base"},
      {"branch-grpo", "BranchGRPO"},
      {"chunk-grpo", "Chunk-GRPO"},
      {"cispo", "CISPO"},
      {"crd", "CRD"},
      {"dance-grpo", "DanceGRPO"},
      {"ddpo", "DDPO"},
      {"dgpo", "DGPO"},
      {"diffusion-nft", "DiffusionNFT"},
      {"dr-grpo", "Dr. GRPO"},
      {"draft-k", "DRaFT-K"},
      {"dual", "Dual"},
      {"flow-cps", "Flow-CPS"},
      {"flow-dppo", "Flow-DPPO"},
      {"flow-grpo", "Flow-GRPO"},
      {"flow-grpo-fast", "Flow-GRPO-Fast"},
      {"flow-grpo-kl", "Flow-GRPO-KL"},
      {"g2rpo", "G^{2}RPO"},
      {"gmpo", "GMPO"},
      {"gspo", "GSPO"},
      {"lambda-controlled", "\u03bb-Controlled"},
      {"lambda-norm-t", "LambdaNorm-T"},
      {"lambda-z-clip", "\u03bb-z-clip"},
      {"mix-grpo", "MixGRPO"},
      {"online-dpo", "Online DPO"},
      {"pref-grpo", "Pref-GRPO"},
      {"raft", "RAFT"},
      {"ratio-norm", "RatioNorm"},
      {"refl", "ReFL"},
      {"reinforce", "REINFORCE"},
      {"rloo", "RLOO"},
      {"rwr", "RWR"},
      {"spo", "SPO"},
      {"srpo", "SRPO"},
      {"tempflow-grpo", "TempFlow-GRPO"},
      {"tempflow-weight", "TempFlow-W"},
      {"Lambda_late", "\u039b_{late}"},
      {"lambda_late", "\u039b_{late}"},
      {"lambda_center", "\u03bb_{center}"},
      {"lambda_var", "\u03bb_{var}"},
  };
  return names;
}

bool is_word(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
         static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

std::vector<NotationPiece> notation_pieces(std::string_view text) {
  std::vector<NotationPiece> pieces;
  const auto add = [&](std::string_view piece, int level) {
    if (!piece.empty()) pieces.push_back({std::string(piece), level});
  };
  std::size_t from = 0, at = 0;
  while ((at = text.find('{', at)) != std::string_view::npos) {
    const auto end = text.find('}', at);
    const char mark = at > from ? text[at - 1] : ' ';
    if ((mark != '_' && mark != '^') || end == std::string_view::npos) {
      ++at;
      continue;
    }
    add(text.substr(from, at - 1 - from), 0);
    add(text.substr(at + 1, end - at - 1), mark == '_' ? -1 : 1);
    from = at = end + 1;
  }
  add(text.substr(from), 0);
  return pieces;
}

std::string html_notation(std::string_view text) {
  std::string out;
  for (const auto& [piece, level] : notation_pieces(text)) {
    const auto escaped = html_text(piece);
    out += level == 0 ? escaped : fmt::format("<{0}>{1}</{0}>", level < 0 ? "sub" : "sup", escaped);
  }
  return out;
}

std::string latex_shifted(const std::string& latex, int level) {
  return fmt::format("\\raisebox{{{}}}{{\\fontsize{{6}}{{7}}\\selectfont {}}}",
                     level < 0 ? "-0.35ex" : "0.8ex", latex);
}

std::string latex_notation(std::string_view text) {
  std::string out;
  for (const auto& [piece, level] : notation_pieces(text))
    out += level == 0 ? latex_text(piece) : latex_shifted(latex_text(piece), level);
  return out;
}

std::string plain_notation(std::string_view text) {
  std::string out;
  for (const auto& [piece, level] : notation_pieces(text))
    out += (level == 0 ? "" : level < 0 ? "_" : "^") + piece;
  return out;
}

std::string DisplayNames::of(const std::string& name) const {
  if (const auto own = own_.find(name); own != own_.end()) return own->second;
  const auto known = field_names().find(name);
  return known == field_names().end() ? name : known->second;
}

std::vector<std::string> DisplayNames::unknown_among(const std::vector<std::string>& known) const {
  std::vector<std::string> unknown;
  for (const auto& [name, shown] : own_) {
    const DisplayNames alone(
        std::map<std::string, std::string>{{name, shown + "\n"}});  // no text of one line holds it otherwise
    const auto finds = [&](const std::string& text) { return alone.in_text(text).find('\n') != text.npos; };
    if (!field_names().contains(name) && std::ranges::none_of(known, finds)) unknown.push_back(name);
  }
  return unknown;
}

std::string DisplayNames::in_text(std::string_view text) const {
  // Names of several words are looked for as they are; the others word by word.
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const bool begins = at == 0 || !is_word(text[at - 1]);
    std::size_t taken = 0;
    if (begins) {
      for (const auto& [name, shown] : own_) {
        const bool ends = at + name.size() >= text.size() || !is_word(text[at + name.size()]);
        if (name.size() <= taken || !text.substr(at).starts_with(name) || !ends) continue;
        taken = name.size();
      }
      std::size_t end = at;
      while (end < text.size() && is_word(text[end])) ++end;
      // "base" is an English word too: only a heading that is nothing else is the row of that name.
      const auto word = text.substr(at, end - at);
      if (word.size() > taken && (word != "base" || word == text) && field_names().contains(word))
        taken = word.size();
    }
    if (taken == 0) {
      out += text[at++];
      continue;
    }
    out += of(std::string(text.substr(at, taken)));
    at += taken;
  }
  return out;
}

DisplayNames read_display_names(const std::string& file) {
  const auto document = read_json(file);
  if (!document.is_object()) {
    throw Error("must be an object of names", file,
                "write {\"lambda-controlled\": \"Ours\", \"ocr_reward\": \"OCR\"}");
  }
  std::map<std::string, std::string> names;
  for (const auto& [name, shown] : document.items()) {
    if (!shown.is_string() || shown.get_ref<const std::string&>().empty())
      throw Error("must be a text that is not empty", fmt::format("{}: \"{}\"", file, name),
                  "write what it is called, for instance \"Ours\"");
    names[name] = shown.get<std::string>();
  }
  return DisplayNames(std::move(names));
}

}  // namespace harness
