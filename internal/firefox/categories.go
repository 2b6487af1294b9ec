package firefox

import (
	"strings"

	"wprof/format"
)

// category is an index of meta.categories.
type category uint8

const (
	categoryOther category = iota // the first grey one is the default
	categoryOnCPU                 // it ran, without a sample
	categoryUser
	categoryKernel
	categoryBlocked
	categoryWaiting
	categoryIdle
)

// categoryInfo is a category of the profile. Colours are words of the format; the user interface hides the samples of
// the category Idle by default.
type categoryInfo struct {
	name, colour  string
	subcategories []string // after the first one, which in the format has to be Other
}

func categories() []categoryInfo {
	info := []categoryInfo{
		categoryOther:   {"Other", "grey", nil},
		categoryOnCPU:   {"Running", "green", nil},
		categoryUser:    {"User", "yellow", nil},
		categoryKernel:  {"Kernel", "orange", nil},
		categoryBlocked: {"Blocked", "lightblue", nil},
		categoryWaiting: {"Waiting for CPU", "lightred", []string{waitingWoken.name, waitingPreempted.name, waitingNew.name}},
		categoryIdle:    {"Idle", "transparent", nil},
	}
	for _, r := range reasons() {
		info[categoryBlocked].subcategories = append(info[categoryBlocked].subcategories, r.name)
	}
	return info
}

// reason is why a thread is off the CPU, and the category of its samples.
type reason struct {
	bits        format.State // of a blocked thread: one of them
	name        string
	category    category
	subcategory uint8
}

var (
	waitingWoken     = reason{name: "runnable", category: categoryWaiting, subcategory: 1}
	waitingPreempted = reason{name: "preempted", category: categoryWaiting, subcategory: 2}
	waitingNew       = reason{name: "new", category: categoryWaiting, subcategory: 3}
	idleKernelThread = reason{name: "idle kernel thread", category: categoryIdle}
	otherwiseBlocked = reason{name: "blocked", category: categoryBlocked}
)

// reasons returns why a thread may be blocked, in the order of precedence when a state has several bits.
func reasons() []reason {
	all := []reason{
		{bits: format.StateZombie | format.StateDead, name: "dead"},
		{bits: format.StateTraced, name: "traced"},
		{bits: format.StateStopped, name: "stopped"},
		{bits: format.StateFrozen, name: "frozen"},
		{bits: format.StateParked, name: "parked"},
		{bits: format.StateRTLock, name: "rt lock"},
		{bits: format.StateUninterruptible | format.StateKillable, name: "uninterruptible"},
		{bits: format.StateInterruptible, name: "sleep"},
	}
	for i := range all {
		all[i].category, all[i].subcategory = categoryBlocked, uint8(i+1)
	}
	return all
}

// whyBlocked returns why a thread that left its CPU in a state is blocked.
func whyBlocked(s format.State) reason {
	if s&format.StateIdle != 0 {
		return idleKernelThread
	}
	for _, r := range reasons() {
		if s&r.bits != 0 {
			return r
		}
	}
	return otherwiseBlocked
}

func appendCategories(b []byte) []byte {
	for i, c := range categories() {
		if i > 0 {
			b = append(b, ",\n"...)
		}
		b = append(b, `{"name":"`+c.name+`","color":"`+c.colour+`","subcategories":["`+strings.Join(append([]string{"Other"}, c.subcategories...), `","`)+`"]}`...)
	}
	return b
}
