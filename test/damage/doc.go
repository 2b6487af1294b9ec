// Package damage puts cut, flipped and hand-made hostile bytes through every tool and compares the output with
// what is known of the bytes without the tools. It runs some 17,000 tools: two minutes of two CPUs, so on a busy
// machine more than the ten that go test allows; scripts/test gives it an hour.
package damage
