package container

import (
	"fmt"
	"strings"
)

// MaxGlob is the most bytes in a pattern of paths.
const MaxGlob = 255

// IsPath reports whether a text is the path of a cgroup: one that was lost is none.
func IsPath(text []byte) bool { return len(text) > 0 && text[0] == '/' }

// PathGlob returns the pattern by which paths are compared, for a path or pattern as users write it: one that does not begin with / may
// begin at any name of the path.
func PathGlob(text string) (string, error) {
	switch {
	case text == "" || strings.ContainsRune(text, 0):
		return "", fmt.Errorf("%q can match no cgroup", text)
	case strings.Trim(text, "/") == "":
		return "*", nil // below the root is everything
	}
	text = strings.TrimRight(text, "/")
	before := ""
	if !strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "*") {
		before = "*/"
	}
	if most := MaxGlob - len(before); len(text) > most {
		return "", fmt.Errorf("%q is longer than %d bytes: use * for a part of it", text, most)
	}
	return before + text, nil
}

// Globs returns the patterns of the cgroups of a container by its id, the beginning of it, or its name. They are the inverse of [Of].
func Globs(id string) ([]string, error) {
	if id == "" || strings.Trim(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.\\") != "" {
		return nil, fmt.Errorf("%q is no id or name of a container: use --cgroup for paths and patterns", id)
	}
	if len(id) > 128 {
		return nil, fmt.Errorf("%q is longer than the id or name of any container", id)
	}
	var all []string
	for _, r := range rules() {
		if g := r.glob(id); g != "" {
			all = append(all, "*/"+g)
		}
	}
	for _, r := range rules() {
		if g := r.glob(id); g != "" && r.prefix != "" && !r.named && r.suffix == ".scope" {
			g = strings.TrimSuffix(strings.TrimPrefix(g, r.prefix), r.suffix)
			all = append(all, "*:"+strings.TrimSuffix(r.prefix, "-")+":"+g)
		}
	}
	return all, nil
}

// Match reports whether a pattern describes the path of a cgroup or of one above it: * stands for any bytes, ? for one that is no slash,
// everything else for itself. glob_step() of bpf/cgroupfilter.h does the same.
func Match(glob string, path []byte) bool {
	g, p := 0, 0
	star, mark := -1, 0 // the last * and how much of the path it has taken
	for {
		atEnd := p == len(path)
		switch {
		case g < len(glob) && glob[g] == '*':
			star, mark = g, p
			g++
		case g == len(glob) && (atEnd || path[p] == '/'):
			return true
		case !atEnd && g < len(glob) && (glob[g] == path[p] || glob[g] == '?' && path[p] != '/'):
			g++
			p++
		case star >= 0 && mark < len(path):
			mark++
			g, p = star+1, mark
		default:
			return false
		}
	}
}
