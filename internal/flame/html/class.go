package html

import (
	"fmt"
	"strings"

	"wprof/internal/flame/profile"
)

// classNames are the names that the page's script has for classes. Pages have no cells of [profile.ClassEvent].
func classNames() [profile.ClassEvent]string {
	return [...]string{
		profile.ClassUnknown: "unknown", profile.ClassNew: "new", profile.ClassOnCPU: "onCPU", profile.ClassRunnable: "runnable",
		profile.ClassPreempted: "preempted", profile.ClassThrottled: "throttled", profile.ClassBlocked: "blocked", profile.ClassIdle: "idle",
		profile.ClassInterrupt: "interrupt",
	}
}

// classScript returns the numbers of classes by name, in their order.
func classScript() string {
	var all []string
	for class, name := range classNames() {
		all = append(all, fmt.Sprintf("%s: %d", name, class))
	}
	return "const CLASS = {" + strings.Join(all, ", ") + "};\n"
}
