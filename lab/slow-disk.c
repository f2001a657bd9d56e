/* For LD_PRELOAD: each call that waits for the disk takes SLOW_DISK_MS longer, in the thread that makes it. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static int delayed(const char *name, int file)
{
	const char *text = getenv("SLOW_DISK_MS");
	long ms = text == NULL ? 0 : atol(text);
	struct timespec rest = { ms / 1000, ms % 1000 * 1000000 };
	while (nanosleep(&rest, &rest) != 0)
		;
	int (*original)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
	return original(file);
}

int fsync(int file)
{
	return delayed("fsync", file);
}

int fdatasync(int file)
{
	return delayed("fdatasync", file);
}
