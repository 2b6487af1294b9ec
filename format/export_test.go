package format

import (
	"io"
	"math/rand/v2"
	"testing"
)

// What tests outside of the package use: those that need the text form or the checker, which import the package.

func ReadAll(r io.Reader) ([]Event, *Reader, error) { return readAll(r) }
func Pipe(stream []byte) io.Reader                  { return pipe(stream) }

func RandomDefinitions(rng *rand.Rand, n int) *Definitions { return randomDefinitions(rng, n) }
func DefinedStream(t testing.TB, d *Definitions) []byte    { return definedStream(t, d) }

func DefinedBy(t testing.TB, stream []byte, n int) *Definitions {
	return definedBy(t, stream, n)
}
