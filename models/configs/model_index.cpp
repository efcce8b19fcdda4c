#include "models/configs/model_index.h"

#include <fmt/format.h>

#include "core/text.h"

namespace harness {
namespace {

/// The component's class; empty for [null, null].
std::string component_class(const Json& value, const std::string& name, const std::string& where) {
  const auto both = [&](auto is) {
    return value.is_array() && value.size() == 2 && is(value[0]) && is(value[1]);
  };
  if (both([](const Json& part) { return part.is_null(); })) return "";
  if (both([](const Json& part) { return part.is_string() && !part.get_ref<const std::string&>().empty(); }))
    return value[1].get<std::string>();
  throw Error(fmt::format("component {} is neither [LIBRARY, CLASS] nor [null, null]", in_quotes(name)),
              where);
}

}  // namespace

ModelIndex ModelIndex::from_json(const Json& document, const std::string& where) {
  Fields fields(document, where);
  ModelIndex index{.pipeline = fields.required<std::string>("_class_name"), .components = {}, .where = where};
  for (const auto& name : fields.keys()) {
    if (name.starts_with("_")) continue;  // who wrote the file
    const auto class_name = component_class(fields.get(name), name, where);
    if (!class_name.empty()) index.components[name] = class_name;
  }
  return index;
}

ModelIndex ModelIndex::read(const std::filesystem::path& file) {
  return from_json(read_json(file), file.string());
}

void ModelIndex::require(const std::string& name, const std::string& wanted) const {
  const auto found = components.find(name);
  if (found == components.end())
    throw Error(fmt::format("names no component {}, and {} has one", in_quotes(name), in_quotes(pipeline)),
                where);
  if (found->second != wanted) {
    throw Error(fmt::format("component {} is a {}, which this build cannot run", in_quotes(name),
                            in_quotes(found->second)),
                where, "known: " + wanted);
  }
}

}  // namespace harness
