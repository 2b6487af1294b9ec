package info

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"wprof/test/fromtext"
)

// Processes are in the container in which they were last; those of one container count together.
func TestContainersOfProcesses(t *testing.T) {
	const id, uid = "3f8a1c0de5b74a6990c2d1e8f7a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d1e0f9a8", "2c48913c-b29f-11e7-9350-020968147796"
	stream := fromtext.Stream(t, `section id=0x1 boot_id=b open=0 close=10000000
text 1 text="/system.slice/cron.service"
text 2 text="/kubepods/burstable/pod`+uid+`/`+id+`"
task 1 tid=20 pid=20 comm=a process_comm=a start=5 cgroup=1
task 2 tid=20 pid=20 comm=a process_comm=a start=5 continues=1 cgroup=2
task 3 tid=30 pid=30 comm=b process_comm=b start=6 cgroup=2
task 4 tid=31 pid=31 comm=c process_comm=c start=7 cgroup=1
task 5 tid=32 pid=32 comm=d process_comm=d start=8
100 cpu0 exit 1
101 cpu0 exit 2
102 cpu0 exit 3
103 cpu0 exit 4
104 cpu0 exit 5
end close=10000000
  process 20 comm=a ns=3000000 start=5
  process 30 comm=b ns=1000000 start=6
  process 31 comm=c ns=2000000 start=7
  process 32 comm=d ns=500000 start=8
`)
	s, err := Summarize(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	s.Print(&out, "x.wprof")
	text := strings.Join(strings.Fields(out.String()), " ")
	for _, want := range []string{"pid 20 a (kubepods:3f8a1c0de5b7)", "pid 31 c", "containers 1 container on CPU", "0.004 s 40.0% kubepods:3f8a1c0de5b7 pod " + uid} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	out.Reset()
	if err := s.WriteJSON(&out, "x.wprof"); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Recordings []struct{ Processes []map[string]any }
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct {
		pid   float64
		place any
	}{
		{20, map[string]any{"cgroup": "/kubepods/burstable/pod" + uid + "/" + id, "runtime": "kubepods", "container": id, "pod": uid, "unit": nil}},
		{31, map[string]any{"cgroup": "/system.slice/cron.service", "runtime": nil, "container": nil, "pod": nil, "unit": "cron.service"}},
		{30, nil},
		{32, nil},
	} {
		of := got.Recordings[0].Processes[i]
		if of["pid"] != want.pid || want.pid != 30 && !reflect.DeepEqual(of["place"], want.place) {
			t.Errorf("process %v is in %v, want %v in %v", of["pid"], of["place"], want.pid, want.place)
		}
		if in, _ := of["place"].(map[string]any); want.pid == 30 && in["container"] != id {
			t.Errorf("process 30 is in %v, want the container %s", in, id)
		}
	}
}
