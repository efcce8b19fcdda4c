#pragma once

#include <string>

#include "models/nn/torch.h"

namespace harness {

/// Registers `child` in `root` under a dotted path ("ff.net.0.proj"), making the plain containers on the way,
/// so that parameter names are the checkpoint's key names whatever shape the C++ class has.
template <class Child>
Child register_path(torch::nn::Module& root, const std::string& path, Child child) {
  torch::nn::Module* parent = &root;
  std::size_t begin = 0;
  for (auto dot = path.find('.'); dot != std::string::npos; dot = path.find('.', begin)) {
    const std::string name = path.substr(begin, dot - begin);
    auto children = parent->named_children();
    parent = children.contains(name)
                 ? children[name].get()
                 : parent->register_module(name, std::make_shared<torch::nn::Module>()).get();
    begin = dot + 1;
  }
  return parent->register_module(path.substr(begin), child);
}

}  // namespace harness
