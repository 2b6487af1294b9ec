package sources

import (
	"wprof/format"
	"wprof/internal/ringdata"
)

// blockTypes are spans of requests on a track of each block device.
func blockTypes() []Type {
	return []Type{{
		Number: ringdata.TypeBlock, Feature: "block", Doc: "requests of block devices",
		Programs: []Program{
			{Name: "block_rq_insert"}, {Name: "block_rq_issue"}, {Name: "block_rq_requeue"}, {Name: "block_rq_merge"},
			{Name: "block_rq_complete", Writes: true}, {Name: "open_requests", AtClose: true},
		},
		Def: globalSpan("block", "block", "Disk",
			name(enum("op", operations()...)), track(Field("device", format.ValueType_VALUE_TEXT)), Field("sector", format.ValueType_VALUE_UINT),
			unit(Field("bytes", format.ValueType_VALUE_UINT), "bytes"), Field("queued", format.ValueType_VALUE_DURATION),
			counterAtStart(Field("depth_at_start", format.ValueType_VALUE_UINT)), counter(Field("depth", format.ValueType_VALUE_UINT)), enum("status", statuses()...), hex(Field("flags", format.ValueType_VALUE_UINT))),
	}}
}

// operations are enum req_op of include/linux/blk_types.h.
func operations() []*format.EnumName {
	names := numbered(0, "read", "write", "flush", "discard")
	names = append(names, numbered(5, "secure erase")...)
	names = append(names, numbered(7, "zone append")...)
	names = append(names, numbered(9, "write zeroes", "zone open", "zone close", "zone finish")...)
	return append(names, numbered(34, "driver in", "driver out")...)
}

// statuses are the BLK_STS_ numbers of include/linux/blk_types.h.
func statuses() []*format.EnumName {
	return numbered(0, "ok", "not supported", "timeout", "no space", "transport", "target", "reservation conflict", "medium", "protection",
		"resource", "I/O error")
}
