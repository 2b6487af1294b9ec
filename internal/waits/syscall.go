package waits

import (
	"strings"

	"wprof/internal/stacks"
)

// CallOf returns the system call of a kernel function that is the entry of one, or is called by nothing else than the entry; "" for other
// functions. It is without the suffixes of calls that were widened to 64 bits of time.
func CallOf(function string) string {
	name := stacks.EntryOf(function)
	for _, prefix := range [...]string{"__do_sys_", "__se_sys_"} {
		if rest, found := strings.CutPrefix(function, prefix); found {
			name, _, _ = strings.Cut(rest, ".")
		}
	}
	return strings.TrimSuffix(strings.TrimSuffix(name, "_time64"), "_time32")
}
