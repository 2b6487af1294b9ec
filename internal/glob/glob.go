// Package glob compares names with globs.
package glob

// Match reports whether a name is what a glob describes: * stands for any bytes, ? for one, everything else for itself.
func Match(glob string, name []byte) bool {
	i, j := 0, 0
	star, mark := -1, 0 // the last * and how much of the name it has taken
	for j < len(name) {
		switch {
		case i < len(glob) && glob[i] == '*':
			star, mark = i, j
			i++
		case i < len(glob) && (glob[i] == '?' || glob[i] == name[j]):
			i++
			j++
		case star >= 0:
			mark++
			i, j = star+1, mark
		default:
			return false
		}
	}
	for i < len(glob) && glob[i] == '*' {
		i++
	}
	return i == len(glob)
}
