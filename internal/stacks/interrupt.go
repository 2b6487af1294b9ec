package stacks

import "strings"

// IsInterrupt reports whether a function is an interrupt entry of the kernel: its callers in a stack were
// interrupted, and have nothing to do with what it calls. The names are those of arch/x86/include/asm/idtentry.h and of
// arch/arm64/kernel/entry.S and entry-common.c.
func IsInterrupt(name string) bool {
	for _, prefix := range [...]string{"asm_sysvec_", "sysvec_", "asm_common_interrupt", "common_interrupt"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	switch name {
	case "el1_interrupt", "el0_interrupt", "el1h_64_irq", "el1h_64_irq_handler", "el0t_64_irq", "el0t_64_irq_handler",
		"el0t_32_irq", "el0t_32_irq_handler", "__el0_irq_handler_common":
		return true
	}
	return false
}
