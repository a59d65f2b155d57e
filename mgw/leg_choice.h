#pragma once
// Which kind of leg a connection is, what its worker needs for that, and which codecs lie between
// the legs. Pure but for the making of legs; control thread.

#include "mgw/endpoint.h"
#include "mgw/leg.h"
#include "mgw/random_source.h"

#include <memory>
#include <vector>

namespace mgw {

/// The kind that the connection's codecs and parameters ask for.
[[nodiscard]] LegKind leg_kind(const Connection& connection) noexcept;
/// A leg of the connection's kind, null for plain RTP. `random` is for the numbers of the streams
/// that it makes.
[[nodiscard]] std::unique_ptr<Leg> make_leg(const Connection& connection, RandomSource& random);
/// The codecs in which the connection's leg hands packets on and takes them, with the payload types
/// that stand for them inside the gateway. Plain RTP has those that its peer described.
[[nodiscard]] std::vector<mgcp::Codec> media_codecs(const Connection& connection);

}  // namespace mgw
