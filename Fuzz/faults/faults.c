// Loaded before libc: fails the n-th call of one function on the files of one folder, or records what is written there.
//
//     FAULT_FOLDER   the folder, an absolute path
//     FAULT_CALL     write, short-write, read, fsync, rename, truncate, unlink, open, mkdir, lock, stat, mmap or malloc
//     FAULT_NUMBER   which call of it fails, from 1 on; later ones fail too if FAULT_ALL is set
//     FAULT_LENGTH   how many calls fail from there on, 1 without it
//     FAULT_ERROR    the errno to fail with
//     FAULT_COUNT    a file that gets the number of calls when the process ends
//     FAULT_RECORD   a file that gets every change of the folder, for power_loss.py
//
// A short write writes half of its bytes, and is no error. malloc stands for all functions that allocate, from 4096
// bytes on, wherever their memory is used.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

enum { DESCRIPTORS = 1024, LARGE = 4096 };

static const char *folder, *call, *count_file;
static long wanted, length;
static int code, all, record = -1;
static atomic_long calls;
static atomic_bool watched[DESCRIPTORS];
static char names[DESCRIPTORS][PATH_MAX];
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

#define REAL(name, ...)                                                                                                \
    static __typeof__(name) *real;                                                                                     \
    if (!real) real = (__typeof__(name) *)dlsym(RTLD_NEXT, #name)

static int real_open(const char *path, int flags, mode_t mode) {
    REAL(open);
    return real(path, flags, mode);
}

static int real_access(const char *path, int mode) {
    REAL(access);
    return real(path, mode);
}

__attribute__((constructor)) static void begin(void) {
    folder = getenv("FAULT_FOLDER");
    call = getenv("FAULT_CALL");
    count_file = getenv("FAULT_COUNT");
    wanted = getenv("FAULT_NUMBER") ? atol(getenv("FAULT_NUMBER")) : 0;
    length = getenv("FAULT_LENGTH") ? atol(getenv("FAULT_LENGTH")) : 1;
    code = getenv("FAULT_ERROR") ? atoi(getenv("FAULT_ERROR")) : EIO;
    all = getenv("FAULT_ALL") != NULL;
    const char *path = getenv("FAULT_RECORD");
    if (path) record = real_open(path, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
}

__attribute__((destructor)) static void finish(void) {
    if (!count_file) return;
    FILE *file = fopen(count_file, "w");
    if (!file) return;
    fprintf(file, "%ld\n", atomic_load(&calls));
    fclose(file);
}

static bool is_inside(const char *path) { return folder && path && strncmp(path, folder, strlen(folder)) == 0; }

static bool is_watched(int descriptor) {
    return descriptor >= 0 && descriptor < DESCRIPTORS && atomic_load(&watched[descriptor]);
}

// Whether this call is one to fail.
static bool fails(const char *name) {
    if (!call || strcmp(call, name) != 0) return false;
    const long number = atomic_fetch_add(&calls, 1) + 1;
    return wanted > 0 && number >= wanted && (all || number < wanted + length);
}

// One record: the operation, the length of the path, of a second path or of data, an offset, and both.
static void note(char operation, const char *path, uint64_t offset, const void *data, uint64_t length) {
    if (record < 0) return;
    REAL(write);
    struct {
        uint64_t operation, path, offset, data;
    } head = {(uint64_t)operation, strlen(path), offset, length};
    pthread_mutex_lock(&turn);
    if (real(record, &head, sizeof head) < 0 || real(record, path, head.path) < 0 ||
        (length && real(record, data, length) < 0))
        abort();
    pthread_mutex_unlock(&turn);
}

static void watch(int descriptor, const char *path) {
    if (descriptor < 0 || descriptor >= DESCRIPTORS) return;
    const bool inside = is_inside(path);
    if (inside) snprintf(names[descriptor], PATH_MAX, "%s", path);
    atomic_store(&watched[descriptor], inside);
}

static int opening(const char *path, int flags, mode_t mode, int (*real)(const char *, int, ...)) {
    if (is_inside(path) && fails("open")) {
        errno = code;
        return -1;
    }
    const bool is_new = is_inside(path) && (flags & O_CREAT) && real_access(path, F_OK) != 0;
    const int descriptor = real(path, flags, mode);
    watch(descriptor, path);
    if (descriptor >= 0 && is_inside(path)) {
        if (is_new) note('c', path, 0, NULL, 0);
        else if (flags & O_TRUNC) note('t', path, 0, NULL, 0);
    }
    return descriptor;
}

#define OPEN(name)                                                                                                     \
    int name(const char *path, int flags, ...) {                                                                       \
        mode_t mode = 0;                                                                                               \
        if (flags & O_CREAT) {                                                                                         \
            va_list list;                                                                                              \
            va_start(list, flags);                                                                                     \
            mode = (mode_t)va_arg(list, int);                                                                          \
            va_end(list);                                                                                              \
        }                                                                                                              \
        REAL(name);                                                                                                    \
        return opening(path, flags, mode, (int (*)(const char *, int, ...))real);                                      \
    }
OPEN(open)
OPEN(open64)

// The number may be that of a socket next.
int close(int descriptor) {
    REAL(close);
    if (descriptor >= 0 && descriptor < DESCRIPTORS) atomic_store(&watched[descriptor], false);
    return real(descriptor);
}

static bool writing(int descriptor) {
    if (!is_watched(descriptor) || !fails("write")) return true;
    errno = code;
    return false;
}

static size_t written(int descriptor, size_t count) {
    return count > 1 && is_watched(descriptor) && fails("short-write") ? count / 2 : count;
}

ssize_t write(int descriptor, const void *data, size_t count) {
    REAL(write);
    if (!writing(descriptor)) return -1;
    count = written(descriptor, count);
    const off_t place = is_watched(descriptor) ? lseek(descriptor, 0, SEEK_CUR) : 0;
    const ssize_t done = real(descriptor, data, count);
    if (done > 0 && is_watched(descriptor)) note('w', names[descriptor], (uint64_t)place, data, (uint64_t)done);
    return done;
}

#define PWRITE(name, offset_type)                                                                                      \
    ssize_t name(int descriptor, const void *data, size_t count, offset_type offset) {                                 \
        REAL(name);                                                                                                    \
        if (!writing(descriptor)) return -1;                                                                           \
        count = written(descriptor, count);                                                                            \
        const ssize_t done = real(descriptor, data, count, offset);                                                    \
        if (done > 0 && is_watched(descriptor)) note('w', names[descriptor], (uint64_t)offset, data, (uint64_t)done);  \
        return done;                                                                                                   \
    }
PWRITE(pwrite, off_t)
PWRITE(pwrite64, off64_t)

#define SYNC(name)                                                                                                     \
    int name(int descriptor) {                                                                                         \
        REAL(name);                                                                                                    \
        if (is_watched(descriptor) && fails("fsync")) {                                                                \
            errno = code;                                                                                              \
            return -1;                                                                                                 \
        }                                                                                                              \
        const int result = real(descriptor);                                                                           \
        if (result == 0 && is_watched(descriptor)) note('s', names[descriptor], 0, NULL, 0);                           \
        return result;                                                                                                 \
    }
SYNC(fsync)
SYNC(fdatasync)

#define TRUNCATE(name, offset_type)                                                                                    \
    int name(int descriptor, offset_type size) {                                                                       \
        REAL(name);                                                                                                    \
        if (is_watched(descriptor) && fails("truncate")) {                                                             \
            errno = code;                                                                                              \
            return -1;                                                                                                 \
        }                                                                                                              \
        const int result = real(descriptor, size);                                                                     \
        if (result == 0 && is_watched(descriptor)) note('t', names[descriptor], (uint64_t)size, NULL, 0);              \
        return result;                                                                                                 \
    }
TRUNCATE(ftruncate, off_t)
TRUNCATE(ftruncate64, off64_t)

int rename(const char *from, const char *to) {
    REAL(rename);
    if (is_inside(to) && fails("rename")) {
        errno = code;
        return -1;
    }
    const int result = real(from, to);
    if (result == 0 && is_inside(to)) note('r', from, 0, to, strlen(to));
    return result;
}

int unlink(const char *path) {
    REAL(unlink);
    if (is_inside(path) && fails("unlink")) {
        errno = code;
        return -1;
    }
    const int result = real(path);
    if (result == 0 && is_inside(path)) note('u', path, 0, NULL, 0);
    return result;
}

int mkdir(const char *path, mode_t mode) {
    REAL(mkdir);
    if (is_inside(path) && fails("mkdir")) {
        errno = code;
        return -1;
    }
    return real(path, mode);
}

static bool locking(int descriptor) {
    if (!is_watched(descriptor) || !fails("lock")) return true;
    errno = code;
    return false;
}

// A release does not fail: on a local disk Linux never refuses one, and SQLite ignores it.
int flock(int descriptor, int operation) {
    REAL(flock);
    return (operation & LOCK_UN) || locking(descriptor) ? real(descriptor, operation) : -1;
}

// The third argument is a pointer, a number or missing; all are passed on alike.
#define FCNTL(name)                                                                                                    \
    int name(int descriptor, int command, ...) {                                                                       \
        va_list list;                                                                                                  \
        va_start(list, command);                                                                                       \
        void *argument = va_arg(list, void *);                                                                         \
        va_end(list);                                                                                                  \
        REAL(name);                                                                                                    \
        const bool sets_lock = command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK;                    \
        const bool is_lock = sets_lock && ((struct flock *)argument)->l_type != F_UNLCK;                               \
        return !is_lock || locking(descriptor) ? real(descriptor, command, argument) : -1;                             \
    }
FCNTL(fcntl)
FCNTL(fcntl64)

static bool reading(int descriptor) {
    if (!is_watched(descriptor) || !fails("read")) return true;
    errno = code;
    return false;
}

ssize_t read(int descriptor, void *data, size_t count) {
    REAL(read);
    return reading(descriptor) ? real(descriptor, data, count) : -1;
}

#define PREAD(name, offset_type)                                                                                       \
    ssize_t name(int descriptor, void *data, size_t count, offset_type offset) {                                       \
        REAL(name);                                                                                                    \
        return reading(descriptor) ? real(descriptor, data, count, offset) : -1;                                       \
    }
PREAD(pread, off_t)
PREAD(pread64, off64_t)

static bool asking(bool is_there) {
    if (!is_there || !fails("stat")) return true;
    errno = code;
    return false;
}

#define STAT(name, status_type)                                                                                        \
    int name(const char *path, struct status_type *status) {                                                           \
        REAL(name);                                                                                                    \
        return asking(is_inside(path)) ? real(path, status) : -1;                                                      \
    }
STAT(stat, stat)
STAT(stat64, stat64)
STAT(lstat, stat)
STAT(lstat64, stat64)

#define FSTAT(name, status_type)                                                                                       \
    int name(int descriptor, struct status_type *status) {                                                             \
        REAL(name);                                                                                                    \
        return asking(is_watched(descriptor)) ? real(descriptor, status) : -1;                                         \
    }
FSTAT(fstat, stat)
FSTAT(fstat64, stat64)

int access(const char *path, int mode) { return asking(is_inside(path)) ? real_access(path, mode) : -1; }

void *mmap64(void *address, size_t length, int protection, int flags, int descriptor, off64_t offset) {
    REAL(mmap64);
    if (is_watched(descriptor) && fails("mmap")) {
        errno = code;
        return MAP_FAILED;
    }
    return real(address, length, protection, flags, descriptor, offset);
}

void *mmap(void *address, size_t length, int protection, int flags, int descriptor, off_t offset) {
    REAL(mmap);
    if (is_watched(descriptor) && fails("mmap")) {
        errno = code;
        return MAP_FAILED;
    }
    return real(address, length, protection, flags, descriptor, offset);
}

static bool allocating(size_t size) {
    if (size < LARGE || !fails("malloc")) return true;
    errno = ENOMEM;
    return false;
}

// glibc's own names: to look one up may allocate.
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

void *malloc(size_t size) { return allocating(size) ? __libc_malloc(size) : NULL; }

void *calloc(size_t count, size_t size) {
    size_t bytes;
    const bool is_large = __builtin_mul_overflow(count, size, &bytes);
    return is_large || allocating(bytes) ? __libc_calloc(count, size) : NULL;
}

void *realloc(void *memory, size_t size) { return allocating(size) ? __libc_realloc(memory, size) : NULL; }

void *aligned_alloc(size_t alignment, size_t size) {
    return allocating(size) ? __libc_memalign(alignment, size) : NULL;
}

int posix_memalign(void **memory, size_t alignment, size_t size) {
    if (!allocating(size)) return ENOMEM;
    *memory = __libc_memalign(alignment, size);
    return *memory ? 0 : ENOMEM;
}
