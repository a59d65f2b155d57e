#include "mgw/leg_choice.h"

namespace mgw {

LegKind leg_kind(const Connection& /*connection*/) noexcept {
  return LegKind::rtp;
}

std::unique_ptr<Leg> make_leg(const Connection& /*connection*/) {
  return nullptr;
}

std::vector<mgcp::Codec> media_codecs(const Connection& connection) {
  return connection.codecs;
}

}  // namespace mgw
