package perfetto

import "testing"

const typedTypes = `
text 1 text="GET"
eventtype 1 name="request" shape=span track="requests" colour="slow"
  field "path" type=string hint=name
  field "method" type=text
  field "size" type=uint unit="bytes"
  field "peer" type=task
  field "wait" type=duration
eventtype 2 name="queue" on=process
  field "depth" type=int hint=counter unit="entries"
eventtype 3 name="clock" on=cpu
  field "mhz" type=float hint=counter
eventtype 4 name="note" on=global colour="slow"
  field "flags" type=uint hint=hex
eventtype 5 name="work" shape=begin
  field "id" type=uint hint=key
eventtype 6 name="work done" shape=end ends=5
  field "id" type=uint hint=key
  field "rc" type=enum
    enum -5 name="EIO"
`

// Events of types that the section defines are drawn as their types say.
func TestTypedEventsAreDrawn(t *testing.T) {
	rows := look(t, writtenWith(t, machine+typedTypes+`
		+0 cpu0 state_cpu 2 prio=120
		+2000 cpu0 typed 2 type=1 start=+1000 .path="/a" .method=1 .size=4096 .peer=4 .wait=7
		+2500 cpu0 typed 2 type=1 start=+500 .path="/outer" .method=0 .size=0 .peer=0 .wait=0
		+2600 cpu0 typed 2 type=1 start=+2000 .path="/crossing" .method=0 .size=0 .peer=0 .wait=0
		+3000 cpu1 typed 3 type=2 .depth=-3
		+3100 cpu1 typed 0 type=3 .mhz=2400.5
		+3200 cpu0 typed 0 type=4 .flags=255
		+4000 cpu0 typed 2 type=5 .id=77
		+4100 cpu0 typed 2 type=5 .id=78
		+4500 cpu1 typed 3 type=6 .id=77 .rc=-5
		+5000 cpu1 typed 3 type=9
		+6000 cpu0 typed 2 type=1 start=-500 .path="/early" .method=0 .size=0 .peer=0 .wait=0
		+7000 cpu0 typed 2 type=1 start=-900 .path="/earlier" .method=0 .size=0 .peer=0 .wait=0
		end close=+1000000
	`, everything()),
		`select s.ts - 15000000000 as ts, s.dur, s.name, t.name as track, coalesce(p.tid, '-') as tid, coalesce(group_concat(a.flat_key || '=' || a.display_value, ' '), '-') as args
		from slice s join track t on s.track_id = t.id left join thread_track tt on tt.id = t.id left join thread p using (utid) left join args a on a.arg_set_id = s.arg_set_id and a.flat_key glob 'debug.*' and a.flat_key not glob '*id'
		where t.name in ('requests', 'work', 'note') group by s.id order by s.ts, s.dur`,
		`select c.ts - 15000000000 as ts, c.value, t.name, coalesce(pt.pid, '-') as pid, t.type from counter c join track t on c.track_id = t.id left join process_counter_track k on k.id = t.id left join process pt using (upid) where t.name in ('depth', 'mhz', 'mhz CPU 1') order by ts`,
		`select name, extract_arg(arg_set_id, 'correlation_id') as colour from slice where name in ('/a', 'note', 'work') order by ts`)
	compare(t, "slices", rows[2], "ts dur name track args", `
		0 6000 /early requests debug.size=0 debug.wait_ns=0
		0 7000 /earlier requests debug.size=0 debug.wait_ns=0
		500 2000 /outer requests debug.size=0 debug.wait_ns=0
		1000 1000 /a requests debug.method=GET debug.size=4096 debug.peer=sleeper debug.wait_ns=7
		2000 600 /crossing requests debug.size=0 debug.wait_ns=0
		3200 0 note note debug.flags=0xff
		4000 500 work work debug.rc=EIO
		4100 995900 work (open) work -
	`)
	compare(t, "colours", rows[4], "name colour", `
		/a slow
		note slow
		work -
	`)
	compare(t, "counters", rows[3], "ts value name", `
		3000 -3 depth
		3100 2400.5 mhz CPU 1
	`)
}
