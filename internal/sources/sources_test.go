package sources

import "testing"

func TestTableIsValid(t *testing.T) {
	seen := Set(0)
	for _, one := range Table() {
		if one.Number == 0 || one.Number >= 64 || seen.Has(one.Number) {
			t.Errorf("%s has the number %d", one.Feature, one.Number)
		}
		seen |= 1 << one.Number
		if one.Def.Id = one.Number; one.Def.Problem() != "" {
			t.Error(one.Def.Problem())
		}
		if Of(one.Feature)&(1<<one.Number) == 0 {
			t.Errorf("-f %s does not switch on %s", one.Feature, one.Def.Name)
		}
	}
	if Of("irq") != Of("hardirq")|Of("softirq")|Of("ticks")|Of("ipi")|Of("wq") || Of("sched") != 0 || seen != All() {
		t.Errorf("irq has %b", Of("irq"))
	}
}
