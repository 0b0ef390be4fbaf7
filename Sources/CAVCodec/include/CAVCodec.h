#ifndef CAVCODEC_H
#define CAVCODEC_H

#include <libavcodec/avcodec.h>
#include <libavutil/channel_layout.h>
#include <libavutil/dict.h>
#include <libavutil/frame.h>
#include <libavutil/log.h>
#include <libavutil/mem.h>
#include <libavutil/samplefmt.h>

/// Whether libavcodec and libavutil of the version that this was built with can be loaded. What is called of them without
/// that fails as it does for want of memory or of a codec.
int cavcodec_is_available(void);

#endif
