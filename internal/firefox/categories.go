package firefox

import (
	"slices"
	"strings"

	"wprof/format"
	"wprof/internal/waits"
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
	categoryPython
	categoryAwaiting
	categoryRuby
)

// categoryInfo is a category of the profile. Colours are words of the format; the user interface hides the samples of
// the category Idle by default.
type categoryInfo struct {
	name, colour  string
	subcategories []string // after the first one, which in the format has to be Other
}

func categories() []categoryInfo {
	info := []categoryInfo{
		categoryOther:    {"Other", "grey", nil},
		categoryOnCPU:    {"Running", "green", nil},
		categoryUser:     {"User", "yellow", nil},
		categoryKernel:   {"Kernel", "orange", nil},
		categoryBlocked:  {"Blocked", "lightblue", nil},
		categoryWaiting:  {"Waiting for CPU", "lightred", []string{waitingWoken.name, waitingPreempted.name, waitingNew.name, waitingThrottled.name}},
		categoryIdle:     {"Idle", "transparent", nil},
		categoryPython:   {"Python", "blue", nil},
		categoryAwaiting: {"Awaiting", "purple", nil},
		categoryRuby:     {"Ruby", "red", nil},
	}
	for _, c := range blockedClasses() {
		info[categoryBlocked].subcategories = append(info[categoryBlocked].subcategories, c.String())
	}
	for _, s := range waits.StateTexts() {
		info[categoryBlocked].subcategories = append(info[categoryBlocked].subcategories, s.Text)
	}
	return info
}

// reason is why a thread is off the CPU, and the category of its samples.
type reason struct {
	name        string
	category    category
	subcategory uint8
}

var (
	waitingWoken     = reason{name: "runnable", category: categoryWaiting, subcategory: 1}
	waitingPreempted = reason{name: "preempted", category: categoryWaiting, subcategory: 2}
	waitingNew       = reason{name: "new", category: categoryWaiting, subcategory: 3}
	waitingThrottled = reason{name: "throttled", category: categoryWaiting, subcategory: 4}
	idleKernelThread = reason{name: "idle kernel thread", category: categoryIdle}
)

// blockedClasses are what threads wait for that are blocked, in the order of the subcategories.
func blockedClasses() []waits.Class {
	var all []waits.Class
	for c := waits.Unknown + 1; c < waits.Preempted; c++ {
		all = append(all, c)
	}
	return all
}

// whyBlocked returns why a thread that left its CPU in a state is blocked: by what it waits for, or else by the state.
func whyBlocked(c waits.Class, s format.State) reason {
	switch {
	case s&format.StateIdle != 0:
		return idleKernelThread
	case c != waits.Unknown:
		return reason{c.String(), categoryBlocked, uint8(c)}
	}
	why := reason{name: waits.TextOf(s), category: categoryBlocked}
	if i := slices.IndexFunc(waits.StateTexts(), func(t waits.StateText) bool { return t.Text == why.name }); i >= 0 {
		why.subcategory = uint8(1 + len(blockedClasses()) + i)
	}
	return why
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
