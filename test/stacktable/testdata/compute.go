// Computes in goroutines and in the garbage collector, and never ends.
package main

import (
	"sort"
	"strconv"
	"strings"
)

func digits(n int) string {
	words := make([]string, n%50)
	for i := range words {
		words[i] = strconv.Itoa(i * n)
	}
	sort.Strings(words)
	return strings.Join(words, "")
}

func forever() {
	words := map[string]int{}
	for n := 0; ; n = (n + 1) % 10000 {
		words[digits(n)]++
	}
}

func main() {
	go forever()
	forever()
}
