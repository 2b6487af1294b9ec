// Package damage puts cut, flipped and hand-made hostile bytes through every tool and holds what comes out against
// what can be known of the bytes without the tools.
package damage
