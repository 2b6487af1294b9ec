package waits

import "strings"

// CallOf returns the system call of a kernel function that is the entry of one; "" for other functions. The prefixes are those of the
// kernel's arch/*/include/asm/syscall_wrapper.h, the suffixes those of calls that were widened to 64 bits of time.
func CallOf(function string) string {
	name, found := "", false
	for _, prefix := range [...]string{"__x64_sys_", "__arm64_sys_", "__ia32_sys_", "__ia32_compat_sys_", "__arm64_compat_sys_", "__do_sys_", "__se_sys_"} {
		if name, found = strings.CutPrefix(function, prefix); found {
			break
		}
	}
	if !found {
		return ""
	}
	name, _, _ = strings.Cut(name, ".")
	return strings.TrimSuffix(strings.TrimSuffix(name, "_time64"), "_time32")
}
