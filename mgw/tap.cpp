#include "mgw/tap.h"

#include "mgw/capture_writer.h"

namespace mgw {

Capture::~Capture() {
  writer_.close(number_);
}

std::vector<std::string> tap_texts(const TapSet& taps) {
  if (taps.empty()) {
    return {"off"};
  }
  if (taps.in == taps.out) {
    return {"both " + taps.in->text};
  }
  std::vector<std::string> texts;
  if (taps.in != nullptr) {
    texts.push_back("in " + taps.in->text);
  }
  if (taps.out != nullptr) {
    texts.push_back("out " + taps.out->text);
  }
  return texts;
}

}  // namespace mgw
