//go:build race

package race

// Enabled tells whether the race detector is compiled in.
const Enabled = true
