package sources

import (
	"wprof/format"
	"wprof/internal/ringdata"
)

// powerTypes are counters of CPUs.
func powerTypes() []Type {
	return []Type{
		{
			Number: ringdata.TypeFrequency, Feature: "power", Doc: "frequencies and idle states of CPUs",
			Programs: []Program{{Name: "cpu_frequency", Writes: true}},
			Def: instant("cpu_frequency", "power", "CPU", format.TypeTrack_TRACK_CPU,
				counter(unit(Field("frequency", format.ValueType_VALUE_UINT), "kHz"))),
		},
		{
			Number: ringdata.TypeIdle, Feature: "power",
			Programs: []Program{{Name: "cpu_idle", Writes: true}},
			Def:      instant("cpu_idle", "power", "CPU", format.TypeTrack_TRACK_CPU, counter(Field("idle_state", format.ValueType_VALUE_INT))),
		},
	}
}
