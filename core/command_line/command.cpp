#include "core/command_line/command.h"

#include <algorithm>
#include <type_traits>

#include "core/text.h"

namespace harness {
namespace {

template <class T>
struct Element : std::type_identity<T> {};
template <class T>
struct Element<std::optional<T>> : std::type_identity<T> {};
template <class T>
struct Element<std::vector<T>> : std::type_identity<T> {};

template <class T>
constexpr ValueKind kKind = std::is_same_v<T, bool>          ? ValueKind::kFlag
                            : std::is_same_v<T, std::string> ? ValueKind::kText
                            : std::is_floating_point_v<T>    ? ValueKind::kNumber
                            : std::is_unsigned_v<T>          ? ValueKind::kNatural
                            : std::is_integral_v<T>          ? ValueKind::kInteger
                                                             : ValueKind::kPair;

}  // namespace

Offers choices(std::vector<std::string> names) {
  return [names = std::move(names)] { return names; };
}

bool Option::has_name(std::string_view name) const {
  return std::ranges::count(split(names, ','), name) > 0;
}

std::string Option::last_name() const {
  return names.substr(names.rfind(',') + 1);
}

ValueKind Option::kind() const {
  return std::visit([]<class T>(const T*) { return kKind<typename Element<T>::type>; }, target);
}

bool Option::is_list() const {
  return std::holds_alternative<std::vector<std::string>*>(target) ||
         std::holds_alternative<std::vector<std::uint64_t>*>(target);
}

void Command::add(std::string names, OptionTarget target, std::string text, OptionDetails details) {
  options.push_back({std::move(names), target, std::move(text), std::move(details)});
}

const Command* Command::find(std::string_view wanted) const {
  const auto found = std::ranges::find(commands, wanted, &Command::name);
  return found == commands.end() ? nullptr : &*found;
}

const Option* Command::option(std::string_view wanted) const {
  const auto found =
      std::ranges::find_if(options, [&](const Option& option) { return option.has_name(wanted); });
  return found == options.end() ? nullptr : &*found;
}

}  // namespace harness
