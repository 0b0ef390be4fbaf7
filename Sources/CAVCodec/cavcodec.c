// libavcodec pulls in about ninety other libraries. They are loaded with the first sound that has to be encoded or decoded
// here, so that commands, and a daemon whose receivers fetch for themselves, start and live without them.

#include "CAVCodec.h"

#include <dlfcn.h>
#include <pthread.h>

#define TEXT(x) #x
#define LIBRARY(name, version) "lib" name ".so." TEXT(version)

// Hidden, so that no library finds these in place of the real ones.
#define OURS __attribute__((visibility("hidden")))

#define OF_AVCODEC(F)                                                                                                  \
    F(av_new_packet)                                                                                                   \
    F(av_packet_alloc)                                                                                                 \
    F(av_packet_free)                                                                                                  \
    F(av_packet_unref)                                                                                                 \
    F(avcodec_alloc_context3)                                                                                          \
    F(avcodec_find_decoder)                                                                                            \
    F(avcodec_find_decoder_by_name)                                                                                    \
    F(avcodec_find_encoder)                                                                                            \
    F(avcodec_find_encoder_by_name)                                                                                    \
    F(avcodec_flush_buffers)                                                                                           \
    F(avcodec_free_context)                                                                                            \
    F(avcodec_open2)                                                                                                   \
    F(avcodec_receive_frame)                                                                                           \
    F(avcodec_receive_packet)                                                                                          \
    F(avcodec_send_frame)                                                                                              \
    F(avcodec_send_packet)

#define OF_AVUTIL(F)                                                                                                   \
    F(av_channel_layout_default)                                                                                       \
    F(av_dict_free)                                                                                                    \
    F(av_dict_set)                                                                                                     \
    F(av_frame_alloc)                                                                                                  \
    F(av_frame_free)                                                                                                   \
    F(av_frame_get_buffer)                                                                                             \
    F(av_frame_make_writable)                                                                                          \
    F(av_frame_unref)                                                                                                  \
    F(av_log_set_level)                                                                                                \
    F(av_mallocz)

#define POINTER(name) __typeof__(name) *name;
static struct {
    OF_AVCODEC(POINTER)
    OF_AVUTIL(POINTER)
} real;
static int is_available;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    void *avutil = dlopen(LIBRARY("avutil", LIBAVUTIL_VERSION_MAJOR), RTLD_NOW | RTLD_LOCAL);
    void *avcodec = dlopen(LIBRARY("avcodec", LIBAVCODEC_VERSION_MAJOR), RTLD_NOW | RTLD_LOCAL);
    if (!avutil || !avcodec) return;
    int found = 1;
#define FIND_AVCODEC(name) found &= (real.name = (__typeof__(name) *)dlsym(avcodec, #name)) != NULL;
#define FIND_AVUTIL(name) found &= (real.name = (__typeof__(name) *)dlsym(avutil, #name)) != NULL;
    OF_AVCODEC(FIND_AVCODEC)
    OF_AVUTIL(FIND_AVUTIL)
    is_available = found;
}

int cavcodec_is_available(void) {
    pthread_once(&once, load);
    return is_available;
}

#define GIVES(result, name, parameters, arguments, otherwise)                                                          \
    OURS result name parameters { return cavcodec_is_available() ? real.name arguments : (otherwise); }
#define DOES(name, parameters, arguments)                                                                              \
    OURS void name parameters {                                                                                        \
        if (cavcodec_is_available()) real.name arguments;                                                              \
    }

GIVES(int, av_new_packet, (AVPacket * packet, int size), (packet, size), AVERROR(ENOMEM))
GIVES(AVPacket *, av_packet_alloc, (void), (), NULL)
DOES(av_packet_free, (AVPacket * *packet), (packet))
DOES(av_packet_unref, (AVPacket * packet), (packet))
GIVES(AVCodecContext *, avcodec_alloc_context3, (const AVCodec *codec), (codec), NULL)
GIVES(const AVCodec *, avcodec_find_decoder, (enum AVCodecID id), (id), NULL)
GIVES(const AVCodec *, avcodec_find_decoder_by_name, (const char *name), (name), NULL)
GIVES(const AVCodec *, avcodec_find_encoder, (enum AVCodecID id), (id), NULL)
GIVES(const AVCodec *, avcodec_find_encoder_by_name, (const char *name), (name), NULL)
DOES(avcodec_flush_buffers, (AVCodecContext * context), (context))
DOES(avcodec_free_context, (AVCodecContext * *context), (context))
GIVES(int, avcodec_open2, (AVCodecContext * context, const AVCodec *codec, AVDictionary **options),
      (context, codec, options), AVERROR_ENCODER_NOT_FOUND)
GIVES(int, avcodec_receive_frame, (AVCodecContext * context, AVFrame *frame), (context, frame), AVERROR(EINVAL))
GIVES(int, avcodec_receive_packet, (AVCodecContext * context, AVPacket *packet), (context, packet), AVERROR(EINVAL))
GIVES(int, avcodec_send_frame, (AVCodecContext * context, const AVFrame *frame), (context, frame), AVERROR(EINVAL))
GIVES(int, avcodec_send_packet, (AVCodecContext * context, const AVPacket *packet), (context, packet), AVERROR(EINVAL))

DOES(av_channel_layout_default, (AVChannelLayout * layout, int channels), (layout, channels))
DOES(av_dict_free, (AVDictionary * *dictionary), (dictionary))
GIVES(int, av_dict_set, (AVDictionary * *dictionary, const char *key, const char *value, int flags),
      (dictionary, key, value, flags), AVERROR(ENOMEM))
GIVES(AVFrame *, av_frame_alloc, (void), (), NULL)
DOES(av_frame_free, (AVFrame * *frame), (frame))
GIVES(int, av_frame_get_buffer, (AVFrame * frame, int align), (frame, align), AVERROR(ENOMEM))
GIVES(int, av_frame_make_writable, (AVFrame * frame), (frame), AVERROR(ENOMEM))
DOES(av_frame_unref, (AVFrame * frame), (frame))
DOES(av_log_set_level, (int level), (level))
GIVES(void *, av_mallocz, (size_t size), (size), NULL)
