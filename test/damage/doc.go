// Package damage puts cut, flipped and hand-made hostile bytes through every tool and compares the output with
// what is known of the bytes without the tools. It runs more than ten thousand tools: on a busy machine that takes
// more than the ten minutes that go test allows; scripts/test gives it more.
package damage
