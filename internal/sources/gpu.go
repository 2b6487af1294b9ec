package sources

import (
	"wprof/format"
	"wprof/internal/ringdata"
)

// gpuTypes are fences of GPUs and other devices that share buffers, and threads that wait for them. Kernels
// without CONFIG_DMA_SHARED_BUFFER have neither.
func gpuTypes() []Type {
	context, seqno := Field("context", format.ValueType_VALUE_UINT), Field("seqno", format.ValueType_VALUE_UINT)
	driver := func() *format.TypeField { return Field("driver", format.ValueType_VALUE_TEXT) }
	return []Type{
		{
			Number: ringdata.TypeFence, Feature: "gpu", Doc: "fences of GPUs, from emission to signal, and waits for them",
			Programs: []Program{
				{Name: "dma_fence_init"}, {Name: "dma_fence_emit"}, {Name: "dma_fence_signaled", Writes: true}, {Name: "dma_fence_destroy"},
				{Name: "open_fences", AtClose: true},
			},
			Def: globalSpan("fence", "gpu", "GPU fences", track(driver()), context, seqno, Field("error", format.ValueType_VALUE_INT)),
		},
		{
			Number: ringdata.TypeFenceWait, Feature: "gpu",
			Programs: []Program{{Name: "dma_fence_wait_start"}, {Name: "dma_fence_wait_end", Writes: true}, {Name: "open_fence_waits", AtClose: true}},
			Def:      threadSpan("fence_wait", "gpu", "GPU waits", driver(), context, seqno),
		},
	}
}
