package record

import (
	"math"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// Stored turns the record into what Decode makes of its encoding, but for the ends of leases. The
// record was encoded with guessed, and the change that wrote the value has stamp. What Decode
// returned, or Stored returned true for, may have been changed in between by the rules and by
// Recall, but not by Restore. It reports false when Decode has to be called; then the record is of
// no more use.
func (r *Record) Stored(name string, guessed, stamp int64) bool {
	if r.recalled {
		return false
	}
	s := storing{guessed: guessed, stamp: stamp}
	for i := range r.Open {
		r.Open[i] = s.entry(name, r.Open[i])
	}
	recent := r.recent()
	for i := max(0, len(recent)-len(r.news)); i < len(recent); i++ {
		recent[i].Settled = s.settled(recent[i].Settled)
	}
	for i := range r.Schedules {
		r.Schedules[i].Since = stored(r.Schedules[i].Since)
	}
	for i := range r.Keys {
		r.Keys[i].Ends = stored(r.Keys[i].Ends)
	}
	if r.Paused != nil {
		r.Paused = &protocol.Pause{By: r.Paused.By, Reason: r.Paused.Reason, Since: stored(r.Paused.Since)}
	}
	*r = Record{
		Known: r.Known, Wait: r.Wait, Watermark: r.Watermark, Gap: r.Gap, Token: s.token(r.Token),
		Open: orNil(r.Open), Settled: orNil(recent),
		Stop: Stop{Before: r.Stop.Before, Token: s.token(r.Stop.Token)}, Cancels: orNil(r.Cancels), Exceptions: orNil(r.Exceptions),
		Paused: r.Paused, Resumed: stored(r.Resumed), Revision: r.Revision, Revised: stored(r.Revised), Schedules: orNil(r.Schedules),
		Policy: r.Policy, Triggered: orNil(r.Triggered), Theoretical: stored(r.Theoretical), Keys: orNil(r.Keys),
	}
	return !s.unreadable
}

// SetEnds sets the ends of the leases of a record that was decoded or stored: see [State].
func (r *Record) SetEnds(ends func(token int64) time.Time) {
	for i := range r.Open {
		if e := &r.Open[i]; !e.waits() && !e.Released {
			e.Ends = ends(e.Token)
		}
	}
}

// storing turns parts of a record into their decoded form.
type storing struct {
	guessed, stamp int64
	unreadable     bool
}

func (s *storing) entry(name string, e Entry) Entry {
	return Entry{
		Grant: protocol.Grant{
			Name: name, Tick: e.Tick, Holder: e.Holder, Request: e.Request, Token: s.token(e.Token),
			Attempt: s.plain(e.Attempt), Takeovers: s.plain(e.Takeovers), TTL: e.TTL, Payload: e.Payload,
		},
		Released: e.Released,
	}
}

func (s *storing) settled(of protocol.Settled) protocol.Settled {
	of.Token, of.Attempt, of.At = s.token(of.Token), s.plain(of.Attempt), stored(of.At)
	if !ofRules(of.Note) {
		of.Note = ""
	}
	return of
}

func (s *storing) token(token int64) int64 {
	if token != 0 && token == s.guessed {
		return s.stamp
	}
	return token
}

func (s *storing) plain(n int) int {
	s.unreadable = s.unreadable || n < 0 || n > math.MaxInt32
	return n
}

// stored is the decoded form of a time: whole microseconds.
func stored(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return decodedTime(t.UnixMicro())
}

func orNil[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}
