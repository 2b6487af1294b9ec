/*
 * Replaces two functions of the C library by code from which neither call frame information nor a frame pointer leads to the caller: getloadavg() computes
 * for some ms, and sync() sleeps.
 */
__asm__(".text\n"
	".globl getloadavg\n"
	"getloadavg:\n"
	"	push %rbp\n"
	"	mov $1, %ebp\n"
	"	mov $20000000, %ecx\n"
	"1:	dec %ecx\n"
	"	jnz 1b\n"
	"	pop %rbp\n"
	"	mov $3, %eax\n"
	"	ret\n"
	".globl sync\n"
	"sync:\n"
	"	push %rbp\n"
	"	mov $1, %ebp\n"
	"	push $0\n"
	"	push $30\n" /* s */
	"	mov %rsp, %rdi\n"
	"	xor %esi, %esi\n"
	"	mov $35, %eax\n" /* nanosleep */
	"	syscall\n"
	"	add $16, %rsp\n"
	"	pop %rbp\n"
	"	xor %eax, %eax\n"
	"	ret\n"
	".section .note.GNU-stack,\"\",@progbits\n");
