/* Preloaded into a process: tells what it writes below a folder, and when that is synchronised.
 *
 * POWER_CUT_ROOT is the folder, POWER_CUT_TRACE the file to which records are appended, and
 * POWER_CUT_DIE, once it is set, how many synchronisations more there are before the process kills itself.
 * A write is told after it was done, and a synchronisation before and after: whatever was told before
 * its beginning is on the disk at its end.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

struct record {
    uint32_t kind, thread;
    int64_t offset;
    uint32_t name_bytes, data_bytes;
};

static int below(const char *path) {
    const char *root = getenv("POWER_CUT_ROOT");
    size_t length = root ? strlen(root) : 0;
    return length && !strncmp(path, root, length) && (path[length] == '/' || !path[length]);
}

static int name_of(int descriptor, char *path) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return below(path);
}

static void tell(char kind, const char *path, int64_t offset, const void *data, size_t bytes) {
    int trace = open(getenv("POWER_CUT_TRACE"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    struct record head = {kind, syscall(SYS_gettid), offset, strlen(path), bytes};
    struct iovec parts[] = {{&head, sizeof head}, {(void *)path, head.name_bytes}, {(void *)data, bytes}};
    if (trace < 0 || writev(trace, parts, 3) != (ssize_t)(sizeof head + head.name_bytes + bytes)) abort();
    close(trace);
}

static ssize_t written(int descriptor, int64_t offset, const void *data, ssize_t bytes) {
    char path[PATH_MAX];
    if (bytes > 0 && name_of(descriptor, path)) tell('W', path, offset, data, bytes);
    return bytes;
}

ssize_t pwrite(int descriptor, const void *data, size_t bytes, off_t offset) {
    return written(descriptor, offset, data, REAL(pwrite)(descriptor, data, bytes, offset));
}

ssize_t pwrite64(int descriptor, const void *data, size_t bytes, off64_t offset) {
    return written(descriptor, offset, data, REAL(pwrite64)(descriptor, data, bytes, offset));
}

ssize_t write(int descriptor, const void *data, size_t bytes) {
    off_t offset = lseek(descriptor, 0, SEEK_CUR);
    return written(descriptor, offset, data, REAL(write)(descriptor, data, bytes));
}

static int cut(int descriptor, int64_t bytes, int result) {
    char path[PATH_MAX];
    if (!result && name_of(descriptor, path)) tell('T', path, bytes, "", 0);
    return result;
}

int ftruncate(int descriptor, off_t bytes) {
    return cut(descriptor, bytes, REAL(ftruncate)(descriptor, bytes));
}

int ftruncate64(int descriptor, off64_t bytes) {
    return cut(descriptor, bytes, REAL(ftruncate64)(descriptor, bytes));
}

static int synchronised(int descriptor, int (*real)(int)) {
    static int so_far;
    char path[PATH_MAX];
    if (!name_of(descriptor, path)) return real(descriptor);
    const char *most = getenv("POWER_CUT_DIE");
    if (most && __atomic_fetch_add(&so_far, 1, __ATOMIC_SEQ_CST) >= atoi(most)) kill(getpid(), SIGKILL);
    tell('B', path, 0, "", 0);
    int result = real(descriptor);
    if (!result) tell('E', path, 0, "", 0);
    return result;
}

int fsync(int descriptor) { return synchronised(descriptor, REAL(fsync)); }

int fdatasync(int descriptor) { return synchronised(descriptor, REAL(fdatasync)); }

int unlink(const char *path) {
    int result = REAL(unlink)(path);
    if (!result && below(path)) tell('U', path, 0, "", 0);
    return result;
}
