package casstore

import (
	"context"
	"errors"
	"time"
)

// ErrWentBack is matched by the error of a [Medium] whose present state is one that it had before.
var ErrWentBack = errors.New("it was emptied or restored")

// Medium keeps small values under keys, and changes one if its revision is as named. A key is made
// of letters, digits and the characters "._-:/". All methods are safe for concurrent use. An error
// means that the outcome is unknown.
type Medium interface {
	// Get returns what is kept under keys at the present, in their order.
	Get(ctx context.Context, keys []string) ([]Kept, error)

	// Put keeps data under a key, or removes the key for nil, if its present revision is from: 0
	// when nothing is there. It returns what is kept from then on. If the revision is another one,
	// ok is false, nothing has changed, and present is what is kept. Calls that are made at once
	// are worth being sent together.
	Put(ctx context.Context, key string, data []byte, from uint64) (present Kept, ok bool, err error)

	// Keys lists keys that begin with prefix, about count at a time. The cursor is "" at first and
	// then the returned next, which is "" when there are no more. A key that is there throughout is
	// listed, perhaps twice.
	Keys(ctx context.Context, prefix, cursor string, count int) (keys []string, next string, err error)

	// Exists reports whether something is kept under a key. It makes nothing, not even what keys are
	// kept in.
	Exists(ctx context.Context, key string) (bool, error)

	// Watch calls changed with every key that changes, and what is kept under it, until ctx ends or
	// the connection fails. It calls missed once it watches, and whenever it may have missed a
	// change. Of changes of one key that follow each other closely it may leave out all but the
	// last. It calls one at a time. An error that matches ErrWentBack says that the medium was
	// emptied, or restored from a copy.
	Watch(ctx context.Context, changed func(key string, kept Kept), missed func()) error

	// Clock returns the time of the servers. It reckons from what they said lately, and asks them
	// only when that is long ago.
	Clock(ctx context.Context) (time.Time, error)
}

// Kept is the data and the revision of a key. Nobody changes the bytes of its data.
type Kept struct {
	Data     []byte
	Revision uint64 // rises with each change of the key, also when it was removed; 0 when nothing is there
}
