package lock

import (
	"hash/fnv"
	"strconv"

	"github.com/solotick/solotick/lease/protocol"
)

// Mutex is held by one at a time. It is safe for concurrent use, and holds of one process exclude each other as well.
type Mutex struct{ simple }

// Mutex returns the mutex of that name. What is wrong with the name or the options Acquire says.
func (s *Locks) Mutex(name string, opts ...Option) *Mutex {
	return &Mutex{s.simple(name, 1, 1, settingsOf(protocol.TurnAny, opts))}
}

// Semaphore is held by so many at a time as it has permits, each with a lease of its own. It is safe for concurrent use.
type Semaphore struct{ simple }

// Semaphore returns the semaphore of that name with so many permits: from 1 to [protocol.MaxPermits]. Each acquisition goes by
// its own number of them, so that it can be changed from one release of a program to the next. What is wrong with the
// name or the options Acquire says.
func (s *Locks) Semaphore(name string, permits int, opts ...Option) *Semaphore {
	return &Semaphore{s.simple(name, 1, permits, settingsOf(protocol.TurnAny, opts))}
}

// Take returns the lock that takes n permits at once: from 1 to all of them.
func (l *Semaphore) Take(n int) Lock {
	taken := l.simple
	taken.claim.Permits = n
	return taken
}

// ReadWrite is held by any number of readers, or by one writer. It is safe for concurrent use.
type ReadWrite struct{ read, write simple }

// ReadWrite returns the read-write lock of that name. Its turns are by arrival, so that neither readers nor writers wait for
// ever; the alternatives are [WritersFirst], and Turn([protocol.TurnAny]), with which readers go before writers. What is
// wrong with the name or the options Acquire says.
func (s *Locks) ReadWrite(name string, opts ...Option) *ReadWrite {
	o := settingsOf(protocol.TurnArrival, opts)
	return &ReadWrite{s.simple(name, 1, protocol.MaxPermits, o), s.simple(name, protocol.MaxPermits, protocol.MaxPermits, o)}
}

// Reader returns the lock that readers hold together.
func (l *ReadWrite) Reader() Lock { return l.read }

// Writer returns the lock that one writer holds alone.
func (l *ReadWrite) Writer() Lock { return l.write }

// Striped is one of many mutexes, by key: for more keys than one wants locks. Two keys may share one. It is safe for
// concurrent use.
type Striped struct{ stripes []*Mutex }

// Striped returns n mutexes, at least 1, which are called name.0, name.1 and so on. Which of them is a key's depends on n: let
// no two programs that share it differ in that.
func (s *Locks) Striped(name string, n int, opts ...Option) *Striped {
	l := &Striped{stripes: make([]*Mutex, max(n, 1))}
	for i := range l.stripes {
		l.stripes[i] = s.Mutex(name+"."+strconv.Itoa(i), opts...)
	}
	return l
}

// For returns the mutex of a key: by its FNV-1a hash of 64 bits.
func (l *Striped) For(key string) *Mutex {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))
	return l.stripes[h.Sum64()%uint64(len(l.stripes))]
}

var _ = []Lock{(*Mutex)(nil), (*Semaphore)(nil), (*Reentrant)(nil), simple{}}
