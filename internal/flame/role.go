package flame

import (
	"fmt"
	"strings"

	"wprof/internal/flame/profile"
)

// maxRole is the maximum length of a role in a file name, bytes; the rest of the name, with a number that makes it unique, must fit too.
const maxRole = 32

// roleInName returns a thread's role for a file name: everything but letters, digits and "-_+." becomes "_".
func roleInName(p *profile.Profile, t *profile.Thread) string {
	role := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_+.", r) {
			return r
		}
		return '_'
	}, p.RoleName(t))
	if role = role[:min(len(role), maxRole)]; role == "" {
		return "thread"
	}
	return role
}

// threadNames makes file names unique: a thread id may be reused within a window.
type threadNames map[string]int

func (n threadNames) name(tid int32, role string) string {
	name := fmt.Sprintf("thread_%d_%s", tid, role)
	n[name]++
	if again := n[name]; again > 1 {
		return n.name(tid, fmt.Sprintf("%s_%d", role, again))
	}
	return name
}
