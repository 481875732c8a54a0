package quorum

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/solotick/solotick/lease/protocol"
	"github.com/solotick/solotick/lease/record"
)

// lockPrefix begins the keys of registers that hold locks, and the messages about them. A name holds no colon.
const lockPrefix = "lock:"

func lockKey(name string) string { return lockPrefix + name }

func isLock(key string) bool { return strings.HasPrefix(key, lockPrefix) }

// lockKind is that of the values by which registers keep locks.
var lockKind = kind[record.Lock]{readLock, writeLock, keepForLock}

// readLock makes a lock of what a register holds. Its leases and tickets end by the quorum's clock of now.
func readLock(at reading) (*record.Lock, error) {
	l := new(record.Lock)
	if at.value == "" {
		return l, nil
	}
	if err := json.Unmarshal([]byte(at.value), l); err != nil {
		return nil, fmt.Errorf("%w: a lock: %w", errReply, err)
	}
	for i := range l.Holds {
		l.Holds[i].Ends = l.Holds[i].Ends.Add(at.shift)
	}
	for id, t := range l.Tickets {
		t.Ends = t.Ends.Add(at.shift)
		l.Tickets[id] = t
	}
	return l, nil
}

// writeLock makes what a register holds of a lock.
func writeLock(l *record.Lock) (string, error) {
	text, err := json.Marshal(l)
	return string(text), err
}

// keepForLock is for how long a lock is kept that nobody touches.
func keepForLock(l *record.Lock) time.Duration {
	keep := keepLock // no ticket lasts longer
	for _, h := range l.Holds {
		keep = max(keep, h.Term+keepLock)
	}
	return keep
}

// renewLock renews a grant, and takes down for which term: its drift is a part of that.
func renewLock(l *record.Lock, g protocol.LockGrant, now time.Time) error {
	err := l.Renew(g, record.At(now))
	for i := range l.Holds {
		if h := &l.Holds[i]; err == nil && h.Token == g.Token {
			h.Term = g.Term
		}
	}
	return err
}

func cloneLock(l *record.Lock) *record.Lock {
	c := *l
	c.Holds, c.Line, c.Gone = slices.Clone(l.Holds), slices.Clone(l.Line), slices.Clone(l.Gone)
	c.Tickets = maps.Clone(l.Tickets)
	return &c
}
