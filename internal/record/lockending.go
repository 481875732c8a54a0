package record

import (
	"cmp"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// Gone is a grant that has ended by itself, or by force, or that was given back when the store had
// forgotten it.
type Gone struct {
	Token    int64
	Released bool
}

const remembered = 64 // how many are gone at most

// Renew answers the renewal of a valid grant of the lock.
func (l *Lock) Renew(g protocol.LockGrant, at *Moment) error {
	l.now = at.now
	h := l.current(g, at)
	if h == nil {
		return protocol.ErrFenced
	}
	h.Ends = at.now.Add(g.TTL)
	return nil
}

// Release gives back what a grant holds of the lock, which is valid but for a token that may be 0.
func (l *Lock) Release(g protocol.LockGrant, at *Moment) (woken []string, err error) {
	l.now = at.now
	me := id(g.Holder, g.Request)
	if g.Pending {
		l.withdraw(g, at)
	}
	waited := l.leave(me)
	if i := l.find(me); i >= 0 && (g.Token == 0 || l.Holds[i].Token == g.Token) {
		h := l.Holds[i]
		l.Holds = slices.Delete(l.Holds, i, i+1)
		if h.Token < l.Born { // else it could be taken for a forgotten one
			l.rememberEnd(h.Token, true)
		}
		woken = l.nextRequests(at)
		if h.Notify {
			woken = notify(woken, h.Request)
		}
		return woken, nil
	}
	held := len(l.Holds)
	if g.Token != 0 {
		err = l.releaseAbsent(g, at)
	}
	if waited || len(l.Holds) < held {
		woken = l.nextRequests(at)
	}
	return woken, err
}

// releaseAbsent answers the release of a grant that is not held.
func (l *Lock) releaseAbsent(g protocol.LockGrant, at *Moment) error {
	l.Born = cmp.Or(l.Born, at.now.UnixMicro())
	i := l.gone(g.Token)
	switch {
	case i >= 0 && !l.Gone[i].Released:
		return protocol.ErrFenced
	case i >= 0 || g.Token <= l.Token && g.Token >= l.Born:
		return nil // it was given back before
	}
	if !l.makeRoom(g, at) {
		return protocol.ErrFenced
	}
	l.Token = max(l.Token, g.Token)
	l.rememberEnd(g.Token, true)
	return nil
}

// ForceRelease takes the grant with this token away from its holder.
func (l *Lock) ForceRelease(token int64, at *Moment) (woken []string, held bool) {
	i := slices.IndexFunc(l.Holds, func(h Hold) bool { return h.Token == token })
	if i < 0 {
		return nil, false
	}
	l.now = at.now
	request := l.Holds[i].Request
	l.oust(i, at)
	return notify(l.nextRequests(at), request), true
}

// lose takes a grant away.
func (l *Lock) lose(i int, at *Moment) protocol.LostHold {
	h := l.Holds[i]
	l.Holds = slices.Delete(l.Holds, i, i+1)
	l.rememberEnd(h.Token, false)
	return protocol.LostHold{Token: h.Token, Holder: h.Holder, At: at.micro()}
}

// oust takes a grant away whose lease may not be over.
func (l *Lock) oust(i int, at *Moment) {
	if ends := l.Holds[i].Ends; ends.After(l.Owed) {
		l.Owed = ends
	}
	l.lose(i, at)
}

// sweep takes away the grants whose leases have run out.
func (l *Lock) sweep(at *Moment) (lost []protocol.LostHold) {
	for i := 0; i < len(l.Holds); {
		if at.holds(l.Holds[i].Token, l.Holds[i].Ends) {
			i++
			continue
		}
		lost = append(lost, l.lose(i, at))
	}
	return lost
}

// rememberEnd remembers that a grant has ended.
func (l *Lock) rememberEnd(token int64, released bool) {
	l.Gone = append(l.Gone, Gone{token, released})
	l.Gone = l.Gone[max(0, len(l.Gone)-remembered):]
}

func (l *Lock) gone(token int64) int {
	return slices.IndexFunc(l.Gone, func(g Gone) bool { return g.Token == token })
}

// current finds the hold of g, and writes it back when it was forgotten and there is room; nil when
// g is not current.
func (l *Lock) current(g protocol.LockGrant, at *Moment) *Hold {
	l.Born = cmp.Or(l.Born, at.now.UnixMicro())
	me := id(g.Holder, g.Request)
	if i := l.find(me); i >= 0 {
		if l.Holds[i].Token != g.Token {
			return nil
		}
		return &l.Holds[i]
	}
	if g.Token <= l.Token && g.Token >= l.Born || l.gone(g.Token) >= 0 {
		return nil
	}
	if !l.makeRoom(g, at) {
		return nil
	}
	l.Token = max(l.Token, g.Token)
	i, _ := slices.BinarySearchFunc(l.Holds, g.Token, func(h Hold, token int64) int { return cmp.Compare(h.Token, token) })
	l.Holds = slices.Insert(l.Holds, i, Hold{LockGrant: g, Since: time.UnixMicro(g.Token).UTC()})
	return &l.Holds[i]
}

// makeRoom makes room for g to be written back. It takes away holds that have run out, and then, if
// that helps, the grants before g. When g was granted they cannot have been held any more, or all
// is lost already and the higher token decides.
func (l *Lock) makeRoom(g protocol.LockGrant, at *Moment) bool {
	if !l.fits(g.Permits, g.Limit) {
		l.sweep(at)
	}
	newer := 0
	for _, h := range l.Holds {
		if h.Token > g.Token {
			newer += h.Permits
		}
	}
	if newer+g.Permits > g.Limit {
		return l.fits(g.Permits, g.Limit)
	}
	for !l.fits(g.Permits, g.Limit) {
		l.oust(0, at)
	}
	return true
}
