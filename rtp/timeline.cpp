#include "rtp/timeline.h"
