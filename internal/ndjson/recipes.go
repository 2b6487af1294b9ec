package ndjson

import "strings"

// recipe is a command worth copying.
type recipe struct{ question, command string }

// jqRecipes are one-liners; each is tried by a test.
func jqRecipes() []recipe {
	return []recipe{
		{"How many events there are of each kind", `wprof-json host.wprof | jq -rn 'reduce (inputs | select(.t)) as $e ({}; .[$e.t] += 1) | to_entries[] | "\(.value)\t\(.key)"'`},
		{"Who came back on a CPU after more than 100 ms, and from what state", `wprof-json -k switch --no-stacks host.wprof | jq -c 'select(.next.tid and .offcpu_dur > 0.1) | [.ts, .next.comm, .offcpu_dur, .next_state]'`},
		{"The ten longest waits for a CPU", `wprof-json -k switch --no-stacks host.wprof | jq -r 'select(.waking_ts) | [.ts - .waking_ts, .next.comm, .next.tid, .waking_reason, .cpu] | @tsv' | sort -g | tail`},
		{"Who wakes whom, and how often", `wprof-json -k waking --no-stacks host.wprof | jq -r 'select(.t) | "\(.waker.comm) -> \(.wakee.comm)"' | sort | uniq -c | sort -n | tail`},
		{"Seconds on the CPU of each thread: from its switches, the opening of the window and its end", `wprof-json -k switch,gap --no-stacks host.wprof | jq -n 'def who: "\(.tid // "idle") \(.comm)"; input as $h | reduce (inputs, {t: "gap", start_ts: ($h.start_ts + $h.dur)}) as $e ({from: $h.start_ts}; if $e.t == "gap" then reduce .at[]? as $c (.; .ran[$c.who] += $e.start_ts - $c.since) | .at = {} | .from = $e.ts else .ran[$e.prev | who] += $e.ts - (.at["\($e.cpu)"].since // .from) | .at["\($e.cpu)"] = {since: $e.ts, who: ($e.next | who)} end) | .ran'`},
		{"What was run", `wprof-json -k exec host.wprof | jq -r 'select(.t) | "\(.ts)\t\(.task.tid)\t\(.filename)"'`},
		{"The functions that samples were in", `wprof-json -k sample host.wprof | jq -rn 'reduce inputs as $l ({s: {}}; if $l.id then .s[$l.id|tostring] = $l.frames[-1] elif $l.stack_id then .n[.s[$l.stack_id|tostring]] += 1 else . end) | .n // {} | to_entries | sort_by(-.value)[:10][] | "\(.value)\t\(.key)"'`},
		{"Where threads were blocked, by time", `wprof-json -k switch host.wprof | jq -rn 'reduce inputs as $l ({s: {}}; if $l.id then .s[$l.id|tostring] = ($l.frames | join(";")) elif $l.offcpu_stack_id then .n["\($l.next.comm);" + .s[$l.offcpu_stack_id|tostring]] += ($l.offcpu_dur // 0) else . end) | .n // {} | to_entries | sort_by(-.value)[:10][] | "\(.value)\t\(.key)"'`},
		{"Whether anything was lost", `wprof-json --no-stacks -k lost host.wprof | jq 'select(.version) | .lost'`},
	}
}

func recipes() string {
	var b strings.Builder
	b.WriteString("## One-liners for jq\n\nThe first line is the header and has no `t`; stack lines have an `id`.\n\n")
	for _, r := range jqRecipes() {
		b.WriteString(r.question + ":\n\n    " + r.command + "\n\n")
	}
	b.WriteString(otherReaders)
	return strings.TrimRight(b.String(), "\n")
}

const otherReaders = `## pandas and DuckDB

    wprof-json --no-stacks -k switch host.wprof > switch.json

pandas reads lines as they are; the first one, the header, has no ` + "`t`" + `:

` + "```python" + `
import pandas
events = pandas.read_json("switch.json", lines=True)
switches = events[(events.t == "switch") & (events.next.str["tid"] > 0)]
print(switches.groupby(switches.next.str["comm"]).offcpu_dur.max().nlargest(10))
` + "```" + `

So does DuckDB, with ` + "`next.comm`" + ` for what is in a task:

` + "```sql" + `
select next.comm, max(offcpu_dur) from read_json('switch.json', format = 'newline_delimited', union_by_name = true)
where t = 'switch' and next.tid > 0 group by all order by 2 desc nulls last limit 10;
` + "```" + `

Both are faster on the Parquet files of ` + "`wprof-json --parquet`" + `: see [sql.md](sql.md).
`
