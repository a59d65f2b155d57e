#include "rtp/rtcp_rewrite.h"
