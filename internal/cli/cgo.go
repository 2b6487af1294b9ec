//go:build cgo

package cli

const builtWithC = true
