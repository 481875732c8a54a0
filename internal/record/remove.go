package record

import (
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

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
