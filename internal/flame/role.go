package flame

import (
	"fmt"
	"strings"

	"wprof/internal/flame/profile"
)

// maxRole is the longest role, bytes: room for a file's other parts, and for a number that keeps it apart.
const maxRole = 32

// Role is the same in a word that a file can have in its name: with everything but letters, digits, and "-_+." made "_".
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

// threadNames gives threads names for their files that no two of them share: a thread id may be used again within a window.
type threadNames map[string]int

func (n threadNames) name(tid int32, role string) string {
	name := fmt.Sprintf("thread_%d_%s", tid, role)
	n[name]++
	if again := n[name]; again > 1 {
		return n.name(tid, fmt.Sprintf("%s_%d", role, again))
	}
	return name
}
