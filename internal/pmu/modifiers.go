package pmu

import (
	"fmt"
	"strings"
)

// modifierLetters are those of perf-list(1).
const modifierLetters = "ukhIGHpPSDWeb"

// groupModifiers are about groups of events and perf's own programs, which there are not here.
const groupModifiers = "SWb"

func isModifiers(s string) bool { return s != "" && strings.Trim(s, modifierLetters) == "" }

// applyModifiers applies letters such as u, k and pp. Without any, guests are left out. The rules are perf's.
func (e *Event) applyModifiers(letters string) error {
	for i := range e.Places {
		if err := e.Places[i].Attr.applyModifiers(letters); err != nil {
			return err
		}
	}
	e.MaxPrecise = strings.Contains(letters, "P")
	return e.Attr.applyModifiers(letters)
}

func (a *Attr) applyModifiers(letters string) error {
	if letters == "" {
		a.Guest = true
		return nil
	}
	privilege := a.User || a.Kernel || a.Hypervisor
	machine := false
	only := func(which *bool) {
		if !privilege {
			a.User, a.Kernel, a.Hypervisor, privilege = true, true, true, true
		}
		*which = false
	}
	side := func(which *bool) {
		if !machine {
			a.Guest, a.Host, machine = true, true, true
		}
		*which = false
	}
	for i, letter := range letters {
		switch {
		case !strings.ContainsRune(modifierLetters, letter):
			return fmt.Errorf("%q is not a modifier; modifiers are %s", letter, modifierLetters)
		case strings.ContainsRune(groupModifiers, letter):
			return fmt.Errorf("the modifier %c is for groups of events, and each event is counted by itself: leave it out", letter)
		case letter != 'p' && strings.ContainsRune(letters[:i], letter):
			return fmt.Errorf("the modifier %c is given twice", letter)
		}
		switch letter {
		case 'u':
			a.Guest = a.Guest || !machine
			only(&a.User)
		case 'k':
			only(&a.Kernel)
		case 'h':
			only(&a.Hypervisor)
		case 'G':
			side(&a.Guest)
		case 'H':
			side(&a.Host)
		case 'I':
			a.Idle = true
		case 'p':
			if a.Precise == 3 {
				return fmt.Errorf("the modifier p is given more than three times")
			}
			a.Precise++
			a.Guest = a.Guest || !machine
		case 'D':
			a.Pinned = true
		case 'e':
			a.Exclusive = true
		}
	}
	return nil
}
