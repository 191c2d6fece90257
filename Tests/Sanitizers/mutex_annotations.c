// Loaded before Swift's libraries by “Scripts/sanitize thread”: tells the thread sanitizer what a contended Mutex of
// Swift's Synchronization does. The kernel passes the lock on then (FUTEX_LOCK_PI), which the sanitizer does not see;
// all else are atomic operations, which it does.
//
// Swift 6.3 calls these two functions, whose receiver is the lock's word.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdint.h>

#define RECEIVER __attribute__((swift_context)) void *word
#define LOCK_SLOW "$s15Synchronization12_MutexHandleV9_lockSlowyys6UInt32VF"
#define UNLOCK_SLOW "$s15Synchronization12_MutexHandleV11_unlockSlowyyF"

// The sanitizer's functions; a program without the sanitizer inherits this library and lacks them.
__attribute__((weak)) void __tsan_acquire(void *address);
__attribute__((weak)) void __tsan_release(void *address);

__attribute__((swiftcall)) void lock_slow(uint32_t thread, RECEIVER) __asm__(LOCK_SLOW);
__attribute__((swiftcall)) void unlock_slow(RECEIVER) __asm__(UNLOCK_SLOW);

__attribute__((swiftcall)) void lock_slow(uint32_t thread, RECEIVER) {
    typedef __attribute__((swiftcall)) void (*function)(uint32_t, RECEIVER);
    static function real;
    if (!real) real = (function)dlsym(RTLD_NEXT, LOCK_SLOW);
    real(thread, word);
    if (__tsan_acquire) __tsan_acquire(word);
}

__attribute__((swiftcall)) void unlock_slow(RECEIVER) {
    typedef __attribute__((swiftcall)) void (*function)(RECEIVER);
    static function real;
    if (!real) real = (function)dlsym(RTLD_NEXT, UNLOCK_SLOW);
    if (__tsan_release) __tsan_release(word);
    real(word);
}
