#include "rtp/payload_map.h"
