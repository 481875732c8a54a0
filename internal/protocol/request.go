package protocol

import (
	"math/rand/v2"
	"strconv"
	"sync/atomic"
)

var (
	process  = "r" + strconv.FormatUint(rand.Uint64(), 36) + "-"
	requests atomic.Uint64
)

// NewRequest returns a request id that no other call returns, in this process or another. A holder
// that was started again under its old name must not be taken for the one before.
func NewRequest() string { return process + strconv.FormatUint(requests.Add(1), 36) }
