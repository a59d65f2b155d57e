#include "rtp/stream_statistics.h"
