package wire

import (
	"hash/fnv"
	"strconv"
	"time"
)

// Due is when a tick of a job is to start, both in Unix ms. The jitter depends on nothing but the
// job and the tick: it is the same everywhere.
func Due(job string, tick int64, jitter time.Duration) int64 {
	most := jitter.Milliseconds()
	if most <= 0 {
		return tick
	}
	h := fnv.New64a()
	_, _ = h.Write(strconv.AppendInt([]byte(job), tick, 10))
	return tick + int64(h.Sum64()%uint64(most+1))
}
