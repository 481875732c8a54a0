package lock

import (
	"hash/fnv"
	"strconv"

	"github.com/solotick/solotick/internal/protocol"
)

// Mutex has one holder at a time. It is safe for concurrent use, and holds of one process exclude
// each other.
type Mutex struct {
	simple
	stripe bool // of a Striped
}

// Mutex returns the mutex of that name. Acquire returns the faults of the name and the options.
func (s *Locks) Mutex(name string, opts ...Option) *Mutex {
	return &Mutex{simple: s.simple(name, 1, 1, settingsOf(protocol.OrderAny, opts))}
}

// Semaphore has as many holders at a time as permits, each with a lease of its own. It is safe for
// concurrent use.
type Semaphore struct{ simple }

// Semaphore returns the semaphore of that name with 1 to 2^31 - 1 permits. Each
// acquisition uses its own number of permits, so a new release of a program can change it. Acquire
// returns the faults of the name and the options.
func (s *Locks) Semaphore(name string, permits int, opts ...Option) *Semaphore {
	return &Semaphore{s.simple(name, 1, permits, settingsOf(protocol.OrderAny, opts))}
}

// Take returns the lock that takes n permits at once: from 1 to all of them.
func (l *Semaphore) Take(n int) Lock {
	taken := l.simple
	taken.claim.Permits = n
	return taken
}

// ReadWrite has any number of readers, or one writer. It is safe for concurrent use.
type ReadWrite struct{ read, write simple }

// ReadWrite returns the read-write lock of that name. It is granted in the order of arrival, so
// that neither readers nor writers wait for ever. The alternatives are [WithWritersFirst], and
// [WithAnyOrder], which prefers readers. Acquire returns the faults of the
// name and the options.
func (s *Locks) ReadWrite(name string, opts ...Option) *ReadWrite {
	o := settingsOf(protocol.OrderArrival, opts)
	return &ReadWrite{s.simple(name, 1, protocol.MaxPermits, o), s.simple(name, protocol.MaxPermits, protocol.MaxPermits, o)}
}

// Reader returns the lock that readers hold together.
func (l *ReadWrite) Reader() Lock { return l.read }

// Writer returns the lock that one writer holds alone.
func (l *ReadWrite) Writer() Lock { return l.write }

// Striped is a number of mutexes for any number of keys. Two keys may share a mutex. It is safe for
// concurrent use.
type Striped struct{ stripes []*Mutex }

// Striped returns n mutexes, at least 1, with the names name.0, name.1 and so on. n decides which
// mutex a key has, so all programs that share the lock must use the same n.
func (s *Locks) Striped(name string, n int, opts ...Option) *Striped {
	l := &Striped{stripes: make([]*Mutex, max(n, 1))}
	for i := range l.stripes {
		l.stripes[i] = s.Mutex(name+"."+strconv.Itoa(i), opts...)
		l.stripes[i].stripe = true
	}
	return l
}

// For returns the mutex of a key, by its 64-bit FNV-1a hash, mixed as by MurmurHash3.
func (l *Striped) For(key string) *Mutex {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))
	return l.stripes[mixed(h.Sum64())%uint64(len(l.stripes))]
}

// mixed has every bit of h decide about every bit of the result: FNV-1a alone gives keys that say a
// thing twice few remainders.
func mixed(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

var _ = []Lock{(*Mutex)(nil), (*Semaphore)(nil), (*Reentrant)(nil), simple{}}
