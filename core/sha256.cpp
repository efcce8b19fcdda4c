#include "core/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <fstream>
#include <memory>

#include "core/error.h"
#include "core/text.h"

namespace harness {
namespace {

class Digest {
 public:
  Digest() : context_(EVP_MD_CTX_new(), &EVP_MD_CTX_free) {
    EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr);
  }

  void add(const char* data, std::size_t size) { EVP_DigestUpdate(context_.get(), data, size); }

  std::string hex() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> bytes;
    unsigned int size = 0;
    EVP_DigestFinal_ex(context_.get(), bytes.data(), &size);
    return hexadecimal({reinterpret_cast<const char*>(bytes.data()), size});
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  Digest digest;
  digest.add(bytes.data(), bytes.size());
  return digest.hex();
}

std::string sha256_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("cannot be read", path.string(), "check that the file exists and is readable");
  Digest digest;
  std::array<char, 1 << 16> buffer;
  while (file.read(buffer.data(), buffer.size()) || file.gcount() > 0) {
    digest.add(buffer.data(), static_cast<std::size_t>(file.gcount()));
  }
  return digest.hex();
}

}  // namespace harness
