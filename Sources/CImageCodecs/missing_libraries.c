// Libraries that were not there when SwiftPM evaluated the package's manifest, which it keeps.

#if defined(LK_WEBP_MISSING) && __has_include(<webp/decode.h>)
#define LK_FOUND
#elif defined(LK_HEIF_MISSING) && __has_include(<libheif/heif.h>) && __has_include(<libde265/de265.h>) && \
    __has_include(<dav1d/dav1d.h>)
#define LK_FOUND
#elif defined(LK_GIF_MISSING) && __has_include(<gif_lib.h>)
#define LK_FOUND
#elif defined(LK_TIFF_MISSING) && __has_include(<tiffio.h>)
#define LK_FOUND
#elif defined(LK_COLOR_MANAGEMENT_MISSING) && __has_include(<lcms2.h>)
#define LK_FOUND
#endif

#ifdef LK_FOUND
#error "An image library was installed since: run “swift package purge-cache”, and build again."
#endif
