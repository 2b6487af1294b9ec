package columns

import (
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/compress"
)

var codec compress.Codec = &parquet.Snappy
