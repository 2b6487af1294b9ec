/*
 * BPF programs whose calls a test makes itself: a socket filter with a function of its own, a security check of nice values, and a
 * congestion control of TCP (struct_ops).
 */
#define SECTION(name) __attribute__((section(name), used))

char licence[] SECTION("license") = "GPL";

struct __sk_buff {
	unsigned int len;
};

__attribute__((noinline)) int weigh(int length, long factor)
{
	return length * (int)factor + 1;
}

SECTION("socket") int measure(struct __sk_buff *packet)
{
	return weigh(packet->len, 3);
}

SECTION("lsm/task_setnice") int allow_nice(unsigned long long *arguments)
{
	return 0;
}

/* The members of the kernel's structure that are set; they are found by name. */
struct tcp_congestion_ops {
	unsigned int (*ssthresh)(void *sock);
	void (*cong_avoid)(void *sock, unsigned int ack, unsigned int acked);
	void (*init)(void *sock);
	unsigned int (*undo_cwnd)(void *sock);
	char name[16];
};

SECTION("struct_ops/ssthresh") unsigned int known_ssthresh(unsigned long long *arguments)
{
	return 2;
}

SECTION("struct_ops/cong_avoid") void known_cong_avoid(unsigned long long *arguments)
{
}

SECTION("struct_ops/init") void known_init(unsigned long long *arguments)
{
}

SECTION("struct_ops/undo_cwnd") unsigned int known_undo_cwnd(unsigned long long *arguments)
{
	return 2;
}

SECTION(".struct_ops.link") struct tcp_congestion_ops known_control = {
	.ssthresh = (void *)known_ssthresh,
	.cong_avoid = (void *)known_cong_avoid,
	.init = (void *)known_init,
	.undo_cwnd = (void *)known_undo_cwnd,
	.name = "known",
};
