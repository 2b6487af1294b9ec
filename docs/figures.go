// Package docs holds the figures of performance.md for wprof-record --list.
package docs

import (
	_ "embed"
	"encoding/json"
	"slices"
)

//go:embed performance.json
var performance []byte

// Figure is a measured figure.
type Figure struct {
	Name    string    `json:"name"`
	Runs    []float64 `json:"runs"`
	Machine string    `json:"machine"` // with the kernel
}

// Median is that of the runs; 0: there is none.
func (f Figure) Median() float64 {
	if len(f.Runs) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(f.Runs))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// Figures returns the figures by their names.
func Figures() (map[string]Figure, error) {
	var all []Figure
	if err := json.Unmarshal(performance, &all); err != nil {
		return nil, err
	}
	byName := make(map[string]Figure, len(all))
	for _, f := range all {
		byName[f.Name] = f
	}
	return byName, nil
}

// CostOf and BytesOf are the names of a source's figures: ns of its kernel programs and bytes of the stream, for each event.
func CostOf(source string) string  { return "source " + source + ", kernel programs" }
func BytesOf(source string) string { return "source " + source + ", bytes in the stream" }
