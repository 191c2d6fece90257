#define _GNU_SOURCE
#include "CMappedFiles.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST_MAPPINGS = 4096 };

// A seqlock: the version is odd while the place changes. The handler takes no lock, and skips a place whose version is
// odd or has changed.
typedef struct {
    atomic_uint version;
    // 0 if the place is free.
    atomic_uintptr_t start;
    atomic_size_t length;
    atomic_bool has_missing_pages;
} place;

static place places[MOST_MAPPINGS];
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static struct sigaction previous;
static uintptr_t page_size;

static void set(place *place, uintptr_t start, size_t length) {
    atomic_fetch_add(&place->version, 1);
    atomic_store(&place->start, start);
    atomic_store(&place->length, length);
    atomic_store(&place->has_missing_pages, false);
    atomic_fetch_add(&place->version, 1);
}

int lk_add_mapping(const void *start, size_t length) {
    int number = -1;
    pthread_mutex_lock(&turn);
    for (int i = 0; i < MOST_MAPPINGS && number < 0; i++)
        if (atomic_load(&places[i].start) == 0) number = i;
    if (number >= 0) set(&places[number], (uintptr_t)start, length);
    pthread_mutex_unlock(&turn);
    return number;
}

void lk_remove_mapping(int number) {
    if (number < 0) return;
    pthread_mutex_lock(&turn);
    set(&places[number], 0, 0);
    pthread_mutex_unlock(&turn);
}

bool lk_has_missing_pages(int number) { return number >= 0 && atomic_load(&places[number].has_missing_pages); }

// A bare system call, since a sanitizer's mmap does more than a handler may.
static bool map_zeros(uintptr_t start, size_t length) {
    const int protection = PROT_READ, flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
#if defined(__linux__) && defined(SYS_mmap)
    return syscall(SYS_mmap, start, length, protection, flags, -1, 0) != -1;
#else
    return mmap((void *)start, length, protection, flags, -1, 0) != MAP_FAILED;
#endif
}

// The thread that reads holds the mapping, so it cannot be unmapped meanwhile.
static bool fill(uintptr_t address) {
    for (int i = 0; i < MOST_MAPPINGS; i++) {
        place *place = &places[i];
        const unsigned version = atomic_load(&place->version);
        const uintptr_t start = atomic_load(&place->start);
        const size_t length = atomic_load(&place->length);
        if (version % 2 == 1 || atomic_load(&place->version) != version) continue;
        if (start == 0 || address < start || address - start >= length) continue;
        const uintptr_t page = address / page_size * page_size;
        atomic_store(&place->has_missing_pages, true);
        return map_zeros(page, start + length - page);
    }
    return false;
}

// As if this handler were not there.
static void pass_on(int number, siginfo_t *info, void *context, bool is_fault) {
    if (previous.sa_flags & SA_SIGINFO) {
        previous.sa_sigaction(number, info, context);
    } else if (previous.sa_handler == SIG_DFL || (previous.sa_handler == SIG_IGN && is_fault)) {
        // A fault cannot be ignored: its instruction runs again and ends the process. A signal that was sent is sent
        // again, and arrives when this returns.
        signal(number, SIG_DFL);
        if (!is_fault) raise(number);
    } else if (previous.sa_handler != SIG_IGN) {
        previous.sa_handler(number);
    }
}

static void handle(int number, siginfo_t *info, void *context) {
    const int error = errno;
    bool is_missing_page = info->si_code == BUS_ADRERR, is_fault = info->si_code > 0;
#ifdef __linux__
    is_missing_page |= info->si_code == BUS_MCEERR_AR;
    // A memory error that no instruction has met yet.
    is_fault &= info->si_code != BUS_MCEERR_AO;
#endif
    if (!is_missing_page || !fill((uintptr_t)info->si_addr)) pass_on(number, info, context, is_fault);
    errno = error;
}

const char *lk_path_of_code(const void *address) {
    Dl_info image;
    return dladdr(address, &image) ? image.dli_fname : NULL;
}

bool lk_handle_missing_pages(void) {
    static bool is_installed;
    pthread_mutex_lock(&turn);
    if (!is_installed) {
        page_size = (uintptr_t)sysconf(_SC_PAGESIZE);
        struct sigaction action = {0};
        action.sa_sigaction = handle;
        action.sa_flags = SA_SIGINFO | SA_ONSTACK;
        sigemptyset(&action.sa_mask);
        is_installed = sigaction(SIGBUS, &action, &previous) == 0;
    }
    const bool result = is_installed;
    pthread_mutex_unlock(&turn);
    return result;
}
