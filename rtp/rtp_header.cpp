#include "rtp/rtp_header.h"
