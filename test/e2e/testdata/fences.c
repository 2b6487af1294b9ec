/*
 * Makes fences of a vgem device: COUNT times attaches one to a buffer, and signals it while another thread waits for it.
 * Prints how many fences and waits there were.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <linux/dma-buf.h>

struct create_dumb { uint32_t height, width, bpp, flags, handle, pitch; uint64_t size; };
struct prime { uint32_t handle, flags; int32_t fd; };
struct attach { uint32_t handle, flags, out_fence, pad; };
struct signal { uint32_t fence, flags; };
#define CREATE_DUMB _IOWR('d', 0xB2, struct create_dumb)
#define PRIME _IOWR('d', 0x2d, struct prime)
#define ATTACH _IOWR('d', 0x41, struct attach)
#define SIGNAL _IOW('d', 0x42, struct signal)
struct version { int major, minor, patch; size_t name_len; char *name; size_t date_len; char *date; size_t desc_len; char *desc; };
#define VERSION _IOWR('d', 0x00, struct version)

static int buffer, waits, waiting; /* tid of the thread that waits */
static pthread_barrier_t ready;
static int count;

static void *waiter(void *unused)
{
	waiting = syscall(SYS_gettid);
	for (int i = 0; i < count; i++) {
		struct dma_buf_sync sync = {.flags = DMA_BUF_SYNC_START | DMA_BUF_SYNC_RW};
		pthread_barrier_wait(&ready);
		if (ioctl(buffer, DMA_BUF_IOCTL_SYNC, &sync) == 0)
			waits++;
		sync.flags = DMA_BUF_SYNC_END | DMA_BUF_SYNC_RW;
		ioctl(buffer, DMA_BUF_IOCTL_SYNC, &sync);
		pthread_barrier_wait(&ready);
	}
	return NULL;
}

/* Returns when the other thread is blocked in ioctl. */
static void await_ioctl(void)
{
	char path[64];
	int number = -1;

	snprintf(path, sizeof(path), "/proc/self/task/%d/syscall", waiting);
	while (number != SYS_ioctl) {
		FILE *f = fopen(path, "r");

		if (!f || fscanf(f, "%d", &number) != 1)
			number = -1;
		if (f)
			fclose(f);
		usleep(1000);
	}
}

int main(int argc, char **argv)
{
	int card = -1;
	count = argc > 1 ? atoi(argv[1]) : 10;
	for (int i = 0; i < 8 && card < 0; i++) {
		char path[64], name[32] = "";
		struct version v = {.name = name, .name_len = sizeof(name) - 1};
		snprintf(path, sizeof(path), "/dev/dri/card%d", i);
		card = open(path, O_RDWR);
		if (card >= 0 && (ioctl(card, VERSION, &v) || strcmp(name, "vgem"))) {
			close(card);
			card = -1;
		}
	}
	if (card < 0)
		return fprintf(stderr, "there is no vgem device\n"), 77;
	struct create_dumb dumb = {.height = 16, .width = 16, .bpp = 32};
	struct prime prime = {.flags = O_RDWR};
	if (ioctl(card, CREATE_DUMB, &dumb))
		return perror("create"), 1;
	prime.handle = dumb.handle;
	if (ioctl(card, PRIME, &prime))
		return perror("export"), 1;
	buffer = prime.fd;
	pthread_t thread;
	pthread_barrier_init(&ready, NULL, 2);
	pthread_create(&thread, NULL, waiter, NULL);
	for (int i = 0; i < count; i++) {
		struct attach attach = {.handle = dumb.handle, .flags = 1};
		if (ioctl(card, ATTACH, &attach))
			return perror("attach"), 1;
		pthread_barrier_wait(&ready);
		await_ioctl();
		struct signal signal = {.fence = attach.out_fence};
		if (ioctl(card, SIGNAL, &signal))
			return perror("signal"), 1;
		pthread_barrier_wait(&ready);
	}
	pthread_join(thread, NULL);
	printf("%d fences, %d waits\n", count, waits);
	return 0;
}
