package record

import (
	"cmp"
	"crypto/sha256"
	"math"
	"slices"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// Pause answers a valid pause.
func (r *Record) Pause(p protocol.Pause, at *Moment) (protocol.Pause, error) {
	if err := inBounds(p.Until, at); err != nil {
		return protocol.Pause{}, err
	}
	if !r.Known {
		return protocol.Pause{}, protocol.ErrUnknown
	}
	p.Until = time.Time{}
	p.Reason, p.Since = protocol.Cut(p.Reason, protocol.MaxReason), at.micro()
	switch {
	case r.Paused == nil:
		r.Paused = &p
	case p.Reason != "" && p.Reason != r.Paused.Reason:
		p.Since = r.Paused.Since
		r.Paused = &p
	}
	return *r.Paused, nil
}

// Resume answers a valid resume.
func (r *Record) Resume(q protocol.Resume, at *Moment) (*protocol.Pause, error) {
	if err := inBounds(q.Until, at); err != nil {
		return nil, err
	}
	if !r.Known {
		return nil, protocol.ErrUnknown
	}
	was := r.Paused
	r.Paused = nil
	if was == nil || !at.reached(time.UnixMilli(r.Watermark+1)) {
		return was, nil
	}
	from, now := r.Watermark, at.milli()
	if r.Policy.Jitter > 0 || r.Policy.NoTriggers { // the ticks of stored schedules are due by themselves
		r.Resumed = time.UnixMilli(now).UTC()
	}
	if due := now - r.Policy.Jitter.Milliseconds(); due > from { // what comes after may be due later
		r.Watermark = due
		r.remember(protocol.Settled{
			Tick: r.Watermark, From: from, Outcome: protocol.OutcomeSkipped, Holder: q.By, Note: protocol.NotePaused,
		}, "resume", at)
	}
	return was, nil
}

// Trigger answers a valid trigger. wake reports whether a tick was opened.
func (r *Record) Trigger(t protocol.Trigger, at *Moment) (a protocol.Triggered, wake bool, err error) {
	if err := inBounds(t.Until, at); err != nil {
		return a, false, err
	}
	if !r.Known || r.Withdrawn {
		return a, false, protocol.ErrUnknown
	}
	t.Payload = cmp.Or(t.Payload, r.Keyed.Payload)
	if r.Policy.NoTriggers {
		return a, false, protocol.ErrNoTriggers
	}
	if n := r.opened(t.Request); n > 0 {
		return protocol.Triggered{Status: protocol.Opened, Tick: n}, false, nil
	}
	r.forgetTriggered(at)
	if len(r.Triggered) >= protocol.MaxTriggered {
		first := time.UnixMilli(r.Triggered[0].Tick)
		return r.limited(protocol.LimitKeys, first.Add(protocol.TriggeredFor).Sub(at.now)), false, nil
	}
	r.Keys = slices.DeleteFunc(r.Keys, func(k Key) bool { return at.reached(k.Ends) })
	i := slices.IndexFunc(r.Keys, func(k Key) bool { return k.Key == t.Key })
	if t.Key != "" && i >= 0 && !r.excepted(r.Keys[i].Tick) {
		if r.Keys[i].Digest != digest(t.Payload) {
			return a, false, protocol.ErrPayloadDiffers
		}
		return protocol.Triggered{Status: protocol.Repeated, Tick: r.Keys[i].Tick}, false, nil
	}
	if t.Key != "" && i < 0 && len(r.Keys) >= protocol.MaxKeys {
		first := slices.MinFunc(r.Keys, func(a, b Key) int { return a.Ends.Compare(b.Ends) })
		return r.limited(protocol.LimitKeys, first.Ends.Sub(at.now)), false, nil
	}
	waiting, bytes := 0, len(t.Payload)
	for _, e := range r.Open {
		bytes += len(e.Payload)
		switch {
		case !e.waits():
		case !r.Policy.Beside && e.Payload == t.Payload && e.Again == t.Again:
			r.noteKey(t, e.Tick, at)
			return protocol.Triggered{Status: protocol.Waiting, Tick: e.Tick}, false, nil
		default:
			waiting++
		}
	}
	if t.Payload != "" && bytes > protocol.MaxPayloads {
		return r.limited(protocol.LimitPayloads, time.Second), false, nil
	}
	if waiting >= protocol.MaxWaiting || len(r.Open) >= protocol.MaxOpen {
		return r.limited(protocol.LimitWaiting, time.Second), false, nil
	}
	if p := r.Policy; p.Every > 0 && t.Again == 0 {
		next := at.now.Add(p.Every)
		if !at.reached(r.Theoretical) {
			next = r.Theoretical.Add(p.Every)
		}
		if wait := next.Sub(at.now) - times(p.Every, p.Burst); wait > 0 {
			return r.limited(protocol.LimitRate, wait), false, nil
		}
		r.Theoretical = next
	}
	n := max(at.milli(), r.triggered()+1)
	for !isTriggered(n) || r.find(n) >= 0 || r.remembers(n) || r.excepted(n) {
		n++
	}
	r.Triggered = append(r.Triggered, Triggered{n, t.Request})
	r.Open = append(r.Open, Entry{Grant: protocol.Grant{Name: t.Name, Tick: n, Holder: t.By, Request: t.Request, Payload: t.Payload, Again: t.Again}})
	r.noteKey(t, n, at)
	return protocol.Triggered{Status: protocol.Opened, Tick: n}, true, nil
}

// forgetTriggered forgets the triggers that nobody sends again, but for the last few. When the clock
// was set back, it keeps no more than these of what lies in the future.
func (r *Record) forgetTriggered(at *Moment) {
	for len(r.Triggered) >= protocol.Remembered {
		opened := time.UnixMilli(r.Triggered[0].Tick)
		switch {
		case !at.now.Before(opened.Add(protocol.TriggeredFor)):
			at.after(opened.Add(protocol.TriggeredFor))
		case at.now.Before(opened.Add(-protocol.TriggeredFor)):
			at.until(opened.Add(-protocol.TriggeredFor))
		default:
			return
		}
		r.Triggered = r.Triggered[1:]
	}
}

// limited refuses a trigger.
func (r *Record) limited(by protocol.TriggerLimit, wait time.Duration) protocol.Triggered {
	return protocol.Triggered{Status: protocol.Limited, Wait: wait, Limit: by, Policy: r.Policy}
}

// noteKey remembers which tick serves the triggers with t's key.
func (r *Record) noteKey(t protocol.Trigger, tick int64, at *Moment) {
	if t.Key != "" {
		r.Keys = slices.DeleteFunc(r.Keys, func(k Key) bool { return k.Key == t.Key })
		r.Keys = append(r.Keys, Key{Key: t.Key, Tick: tick, Ends: at.now.Add(t.Window), Digest: digest(t.Payload)})
	}
}

// digest stands for a payload; it is empty for none.
func digest(payload string) string {
	if payload == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(payload))
	return string(sum[:16])
}

// triggered returns the last tick that was triggered, 0 when none was.
func (r *Record) triggered() int64 {
	if len(r.Triggered) == 0 {
		return 0
	}
	return r.Triggered[len(r.Triggered)-1].Tick
}

// opened returns the tick that request has opened, 0 when it has not.
func (r *Record) opened(request string) int64 {
	for _, t := range r.Triggered {
		if t.Request == request {
			return t.Tick
		}
	}
	for _, e := range r.Open {
		if e.waits() && e.Request == request {
			return e.Tick
		}
	}
	return 0
}

// times is n times d, or the longest duration if that is less.
func times(d time.Duration, n int) time.Duration {
	if d > math.MaxInt64/time.Duration(n) {
		return math.MaxInt64
	}
	return d * time.Duration(n)
}

// Remove answers a valid removal. When it says [protocol.RecordRemoved], the record is the zero
// one, and a store that keeps nothing else of the name drops it.
func (r *Record) Remove(q protocol.Remove, at *Moment) (protocol.Removed, error) {
	if err := inBounds(q.Until, at); err != nil {
		return protocol.Removed{}, err
	}
	if !r.exists() {
		return protocol.Removed{Status: protocol.RecordAbsent}, nil
	}
	open := 0
	for _, e := range r.Open {
		if e.Tick > 0 || !e.Released && at.holds(e.Token, e.Ends) { // nobody claims a plain lock
			open++
		}
	}
	switch {
	case open > 0:
		return protocol.Removed{Status: protocol.RecordOpen, Open: open}, nil
	case r.Watermark != q.Watermark || r.Token != q.Token:
		return protocol.Removed{Status: protocol.RecordChanged}, nil
	case !at.passed(time.UnixMicro(r.Token)):
		return protocol.Removed{Status: protocol.RecordAhead}, nil
	}
	*r = Record{}
	return protocol.Removed{Status: protocol.RecordRemoved}, nil
}

// exists reports whether there is a record: something is known of the name.
func (r *Record) exists() bool {
	return r.Known || r.Token != 0 || r.Gap != (Gap{}) || len(r.Open)+len(r.Settled) > 0
}
