#include "harness/images/image_list.h"

#include <algorithm>
#include <thread>

#include "core/processes/worker_pool.h"
#include "core/sha256.h"

namespace harness {

int ImageList::samples() const {
  int most = 0;
  for (const auto& image : images) most = std::max(most, image.sample + 1);
  return most;
}

std::vector<SummedImage> summed(const ImageList& list) {
  std::vector<SummedImage> images(list.images.size());
  WorkerPool pool(static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 16U)));
  pool.run(images.size(), [&](std::size_t i) {
    images[i] = {list.images[i], sha256_file(list.folder / list.images[i].name)};
  });
  return images;
}

}  // namespace harness
