package columns

import (
	"github.com/parquet-go/parquet-go/compress"
	"github.com/parquet-go/parquet-go/compress/zstd"
)

var codec compress.Codec = &zstd.Codec{Level: zstd.SpeedFastest}
