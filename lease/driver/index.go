package driver

import (
	"cmp"
	"context"
	"hash/crc32"
	"strings"
	"time"
)

// Index is implemented by a [Store] that keeps, beside the values of keys JOB/KEY, an index of when
// they are due: see Change.Due. Its Scan lists keys that begin with JOB/ in order, and is as fast if
// the prefix is rare. It may list a key whose value was not kept any longer, as Change.Keep allows.
type Index interface {
	// Due lists the keys of a job in these shares whose due time is at or before until, in order of
	// their due times, and at most count of each share. If a value was not kept any longer, its key may
	// still be listed; a change that removes it takes it out.
	Due(ctx context.Context, job string, shares []int, until time.Time, count int) ([]DueKey, error)
}

// DueKey is a key JOB/KEY that is in an [Index], and its due time in whole milliseconds.
type DueKey struct {
	Key string
	At  time.Time
}

// Compare orders keys by when they are due.
func (d DueKey) Compare(other DueKey) int {
	return cmp.Or(d.At.Compare(other.At), cmp.Compare(d.Key, other.Key))
}

// Shares is how many shares the index of a job has.
const Shares = 256

// ShareOf returns the share of an [Index] that a key is in: its CRC-32 (IEEE) modulo [Shares].
func ShareOf(key string) int {
	sum := ^uint32(0)
	for i := range len(key) { // crc32.ChecksumIEEE would need a copy
		sum = crc32.IEEETable[byte(sum)^key[i]] ^ sum>>8
	}
	return int(^sum % Shares)
}

// CutKey returns the two names of a key JOB/KEY. All other keys, such as those of journals, are in
// no index: ok is false.
func CutKey(key string) (job, name string, ok bool) {
	job, name, ok = strings.Cut(key, "/")
	return job, name, ok && strings.IndexByte(job, ':') < 0
}
