package capture

import "testing"

func TestMessagesOfTheKernelNameTheCPU(t *testing.T) {
	for message, want := range map[string]int{
		"online@/devices/system/cpu/cpu1\x00ACTION=online\x00DEVPATH=/devices/system/cpu/cpu1\x00": 1,
		"online@/devices/system/cpu/cpu128\x00":                                                    128,
		"online@/devices/system/cpu/cpu1":                                                          1,
		"offline@/devices/system/cpu/cpu1\x00":                                                     -1,
		"online@/devices/system/memory/memory1\x00":                                                -1,
		"online@/devices/system/cpu/cpufreq\x00":                                                   -1,
		"add@/devices/system/cpu/cpu1\x00":                                                         -1,
		"online@/devices/system/cpu/cpu1/cpu2\x00":                                                 -1,
		"online@/devices/system/cpu/cpu-1\x00":                                                     -1,
		"libudev\x00\xfe\xed\xca\xfe online@/devices/x":                                            -1,
		"": -1,
	} {
		cpu, ok := cameOnline([]byte(message))
		if ok != (want >= 0) || ok && cpu != want {
			t.Errorf("%q: CPU %d, %v; want %d", message, cpu, ok, want)
		}
	}
}

func TestListeningToTheKernelEnds(t *testing.T) {
	h, err := openHotplug()
	if err != nil {
		t.Fatal(err)
	}
	h.start(func(int) {}, func() {})
	h.close()
	unstarted, err := openHotplug()
	if err != nil {
		t.Fatal(err)
	}
	unstarted.close()
}
