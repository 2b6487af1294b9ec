package symbol

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"wprof/format"
)

// largestFile returns the installed file with the most functions, or $SYMBOL_BENCH.
func largestFile(b *testing.B) string {
	b.Helper()
	if name := os.Getenv("SYMBOL_BENCH"); name != "" {
		return name
	}
	best, most := "", 0
	for _, pattern := range largeBinaries {
		found, _ := filepath.Glob(inHome(pattern))
		for _, name := range found {
			if table, err := openFile(b, name).Table(); err == nil && table.Len() > most {
				best, most = name, table.Len()
			}
		}
	}
	if best == "" {
		b.Skip("no large file is there")
	}
	return best
}

func BenchmarkTable(b *testing.B) {
	name := largestFile(b)
	b.Logf("%s", name)
	b.ReportAllocs()
	functions := 0
	for b.Loop() {
		table, err := openFile(b, name).Table()
		if err != nil {
			b.Fatal(err)
		}
		functions += table.Len()
	}
	b.ReportMetric(float64(functions)/b.Elapsed().Seconds(), "symbols/s")
}

// BenchmarkNames names 1,000 addresses a batch, which hold about as many functions: the worst case.
func BenchmarkNames(b *testing.B) {
	name := largestFile(b)
	f := openFile(b, name)
	table, err := f.Table()
	if err != nil {
		b.Fatal(err)
	}
	random := rand.New(rand.NewPCG(7, 8))
	at := make([]Address, 1000)
	for i := range at {
		address := table.starts[random.IntN(table.Len())]
		for _, p := range f.elf.Progs {
			if address >= p.Vaddr && address-p.Vaddr < p.Filesz {
				at[i].Offset = address - p.Vaddr + p.Off
			}
		}
	}
	for form, forms := range map[string]Form{"raw": RawForm, "default": DefaultForm, "short": ShortForm, "full": FullForm} {
		b.Run(form, func(b *testing.B) {
			r := NewResolver(Options{Form: forms})
			defer r.Close()
			m := &format.Module{Kind: uint32(format.ModuleKind_MODULE_FILE), Path: []byte(name), BuildId: f.BuildID()}
			identify(b, m)
			out := make([]Name, len(at))
			for b.Loop() {
				if err := r.Names(m, at, out); err != nil || !out[0].OK {
					b.Fatal(err, r.Why(m))
				}
			}
			b.ReportMetric(float64(b.N*len(at))/b.Elapsed().Seconds(), "names/s")
		})
	}
}

func BenchmarkKallsyms(b *testing.B) {
	lines := 0
	for b.Loop() {
		in, err := os.Open("/proc/kallsyms")
		if err != nil {
			b.Skip(err)
		}
		k, err := parseKallsyms(in, nil)
		in.Close()
		if err != nil {
			b.Skip(err)
		}
		lines += k.Table("kernel").Len()
	}
	b.ReportMetric(float64(lines)/b.Elapsed().Seconds(), "symbols/s")
}
