package cli

import (
	"fmt"
	"strings"
)

// Details are the words of the list that one of a flag's choices takes: syscall=read,epoll_*.
type Details struct {
	What  string            // one of them: "a system call"
	Words func() []string   // their names, for advice
	Is    func(string) bool // whether a word is one of them, or a pattern that matches one
	See   string            // where they are listed
	// Check validates what is behind the =, if that is not a list of words; then the others are not used.
	Check func(value string) error
}

func (f Flag) takesDetails(choice string) bool {
	_, takes := f.Details[choice]
	return takes
}

// checkDetails validates the words behind the = of a choice.
func (f Flag) checkDetails(choice, list string) error {
	d := f.Details[choice]
	if d.Check != nil {
		return d.Check(list)
	}
	for one := range strings.SplitSeq(list, ",") {
		if one == "" {
			return EmptyEntry(choice+"="+list, "write it as "+choice+"=NAME,NAME")
		}
		if d.Is(one) {
			continue
		}
		if near := Nearest(one, d.Words()); len(near) > 0 {
			return fmt.Errorf("%q is not %s; did you mean %s?", one, d.What, strings.Join(near, " or "))
		}
		return fmt.Errorf("%q is not %s; %s lists them", one, d.What, d.See)
	}
	return nil
}
