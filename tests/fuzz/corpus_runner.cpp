// Runs a fuzz target without libFuzzer: every file of the corpus folder, then mutations of those
// files from a fixed seed, so that the same inputs are tried on every machine.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <span>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr int kMutationsPerFile = 2000;
constexpr std::size_t kInputBytesMax = 65536;

Bytes read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
}

/// Changes `input` in one to eight places: flips, overwrites, inserts, removes, cuts or doubles.
void mutate(Bytes& input, std::minstd_rand& random) {
  const auto changes = 1 + random() % 8;
  for (unsigned change = 0; change < changes; ++change) {
    const std::size_t at = input.empty() ? 0 : random() % input.size();
    const auto byte = static_cast<std::uint8_t>(random() % 256);
    const auto position = input.begin() + static_cast<std::ptrdiff_t>(at);
    switch (random() % 6) {
      case 0:
        if (!input.empty()) {
          input[at] = static_cast<std::uint8_t>(input[at] ^ (1U << (byte % 8)));
        }
        break;
      case 1:
        if (!input.empty()) {
          input[at] = byte;
        }
        break;
      case 2:
        input.insert(position, byte);
        break;
      case 3:
        if (!input.empty()) {
          input.erase(position);
        }
        break;
      case 4:
        if (byte < 16) {
          input.resize(at);
        }
        break;
      default:
        if (byte < 16 && input.size() < kInputBytesMax / 2) {
          const Bytes copy = input;
          input.insert(position, copy.begin(), copy.end());
        }
        break;
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::span arguments(argv, static_cast<std::size_t>(argc));
  if (arguments.size() != 2) {
    std::fprintf(stderr, "usage: %s CORPUS-FOLDER\n", arguments[0]);
    return 2;
  }
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(arguments[1])) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  if (files.empty()) {
    std::fprintf(stderr, "%s: the corpus is empty\n", arguments[1]);
    return 1;
  }
  std::minstd_rand random(20240229);
  std::size_t runs = 0;
  for (const auto& path : files) {
    const Bytes original = read_file(path);
    LLVMFuzzerTestOneInput(original.data(), original.size());
    for (int i = 0; i < kMutationsPerFile; ++i, ++runs) {
      Bytes input = original;
      mutate(input, random);
      LLVMFuzzerTestOneInput(input.data(), input.size());
    }
  }
  std::printf("%zu corpus files and %zu mutations: no fault\n", files.size(), runs);
  return 0;
}
