#include "results/store/record_type.h"

#include <algorithm>

#include "core/error.h"
#include "core/text.h"

namespace harness {

const RecordKind& record_kind(const Json& record) {
  Fields fields(record, "journal");
  const auto name = fields.required<std::string>("type");
  const auto* found = std::ranges::find(kRecordTypes, name, &RecordKind::name);
  if (found == kRecordTypes.end())
    throw Error("unknown record " + in_quotes(name), "journal",
                "it was not written by harness, or by a newer version of it");
  return *found;
}

}  // namespace harness
