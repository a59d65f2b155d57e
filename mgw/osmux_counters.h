#pragma once
// What the Osmux device of a worker counts.

#include "io/counter.h"

namespace mgw {

/// One direction of all Osmux trunks. Octets include IP and UDP headers.
struct OsmuxDirection {
  io::Counter datagrams;
  io::Counter octets;
  io::Counter chunks;  ///< with speech, of circuits that exist
  io::Counter frames;  ///< in those chunks
  io::Counter dummies;
  io::Counter plain_rtp_octets;  ///< what the frames had cost as RTP, one per packet
};

/// Written by the worker, read by any thread.
struct OsmuxCounters {
  OsmuxDirection received;
  OsmuxDirection sent;
  io::Counter unknown_circuit;  ///< chunks and dummies received for no circuit that exists
  io::Counter refused_chunks;  ///< chunks received before their circuit was enabled, or from others
  io::Counter clones;          ///< frames sent in place of lost ones
  io::Counter circuits;        ///< gauge: circuits that exist
  io::Counter links;           ///< gauge: peers with circuits that are enabled
};

}  // namespace mgw
