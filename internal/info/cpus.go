package info

import (
	"fmt"
	"slices"
	"strings"

	"wprof/format"
	"wprof/internal/cli"
	"wprof/internal/topology"
)

// CacheReport is the caches of one level, type and size.
type CacheReport struct {
	Level uint32  `json:"level"`
	Type  *string `json:"type"`
	Bytes *uint64 `json:"bytes"`
	Count int     `json:"count"`
	CPUs  int     `json:"cpus"`
	Cores *int    `json:"cores"`
}

func cpus(t *topology.Summary) string {
	text := counted(t.CPUs, "CPU")
	if t.Nodes > 1 {
		text += " in " + cli.Grouped(t.Nodes) + " NUMA nodes"
	}
	if t.Offline > 0 {
		text += " (" + cli.Grouped(t.Offline) + " offline)"
	}
	return text
}

// cores says how the CPUs that were online are arranged: 2 nodes, 64 cores, 128 CPUs, L3 of 8 cores (32 MiB).
func cores(t *topology.Summary) string {
	parts := []string{counted(t.Nodes, "node")}
	if t.Packages > 0 && t.Packages != t.Nodes {
		parts = append(parts, counted(t.Packages, "package"))
	}
	parts = append(parts, counted(t.Cores, "core"), counted(t.CPUs-t.Offline, "CPU"))
	return strings.Join(append(parts, lastCaches(t)...), ", ")
}

func counted(n int, what string) string { return cli.Counted(uint64(n), what) }

// lastCaches describes the caches of the highest level: those that cores share.
func lastCaches(t *topology.Summary) (texts []string) {
	if len(t.Caches) == 0 {
		return nil
	}
	last := t.Caches[len(t.Caches)-1].Level
	for _, c := range t.Caches {
		if c.Level != last || c.Cores == 0 {
			continue
		}
		text := fmt.Sprintf("L%d of %s", c.Level, counted(c.Cores, "core"))
		if c.Bytes > 0 {
			text += " (" + binarySize(c.Bytes) + ")"
		}
		texts = append(texts, text)
	}
	return texts[:min(len(texts), listed)]
}

// binarySize formats the size of a cache, which is a multiple of 1 KiB.
func binarySize(bytes uint64) string {
	if bytes >= 1<<20 {
		return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(bytes)/(1<<20)), ".0") + " MiB"
	}
	return fmt.Sprintf("%d KiB", bytes>>10)
}

func (r *RecordingReport) setCPUs(t topology.Summary) {
	r.CPUs, r.OfflineCPUs, r.NUMANodes = t.CPUs, t.Offline, t.Nodes
	r.Packages, r.Cores = knownCount(t.Packages), knownCount(t.Cores)
	r.Caches = converted(t.Caches, cacheReport)
}

func cacheReport(c topology.Cache) CacheReport {
	report := CacheReport{Level: c.Level, Count: c.Count, CPUs: c.CPUs, Cores: knownCount(c.Cores)}
	if c.Bytes > 0 {
		report.Bytes = &c.Bytes
	}
	types := []format.CacheType{format.CacheType_CACHE_DATA, format.CacheType_CACHE_INSTRUCTION, format.CacheType_CACHE_UNIFIED}
	if slices.Contains(types, c.Type) {
		name := strings.ToLower(strings.TrimPrefix(c.Type.String(), "CACHE_"))
		report.Type = &name
	}
	return report
}

// knownCount is null in JSON for 0, which stands for not known.
func knownCount(n int) *int {
	if n == 0 {
		return nil
	}
	return &n
}
