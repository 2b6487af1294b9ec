package stacks

import "strings"

// IsInterrupt tells whether a function of the kernel is where an interrupt enters: what runs below it in a stack was
// interrupted, and has nothing to do with what is above. The names are those of arch/x86/include/asm/idtentry.h and of
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
