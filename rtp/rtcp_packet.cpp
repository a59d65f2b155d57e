#include "rtp/rtcp_packet.h"
