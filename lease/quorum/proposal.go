package quorum

import (
	"slices"
	"time"

	"github.com/solotick/solotick/internal/quorumnode"
)

// request asks for something of one register.
type request struct {
	key     string
	changes bool // it asks for a promise at once; otherwise it reads first
	once    bool // it may not be applied to what has come of it
	// apply makes an outcome of the present value. It may be called more than once, with the
	// changes of others in between.
	apply func(at reading) (outcome, error)
}

// reading is the present value of a register, and the time.
type reading struct {
	value string // empty when it holds nothing
	now   time.Time
	// shift has to be added to the end of every lease, which was measured from when the value was
	// written.
	//
	// It is the difference between the quorum's clock then and now less the time that the nodes
	// have measured meanwhile, each by its own clock alone. So a lease is as long as it was meant
	// to be even if the median has come from another node's clock in between.
	shift time.Duration
}

// outcome is made of a reading by a request.
type outcome struct {
	next string        // what the register shall hold; empty: what it holds already
	keep time.Duration // for how long the register has to be kept without being touched; 0 is for ever
	done func()        // called when it is certain that the register holds next, or did hold the value that was read
}

// proposal is the state of one request.
type proposal struct {
	request

	index  int
	ballot string // promised, or to be promised; empty to read

	seen   view
	torn   int // how often it was unknown which value is chosen
	next   string
	result outcome
	tries  []try // newest last
	done   bool
}

// try is a value that nodes were asked to accept, and perhaps did without an answer that says so.
type try struct {
	ballot  string
	changes int
	result  outcome
}

// view has the answers of a majority about one register.
type view struct {
	newest   quorumnode.Reply // with the highest ballot
	envelope envelope
	now      time.Time // by the quorum's clock, when they had answered
	received time.Time // that, by the local monotonic clock
	stamps   map[string]int64
	round    time.Duration // how long they took to answer
	elapsed  time.Duration // since the newest was written, by the clock of a node that was there
	since    []time.Time   // of each node that has answered: since when it remembers
	chosen   bool          // the newest is
	promised bool          // the proposal's ballot is
}

// reading returns the value of this instant: it cannot have changed when the ballot is good.
func (v *view) reading() reading {
	at := reading{now: v.now.Add(time.Since(v.received)), value: v.envelope.value}
	if v.newest.Accepted != "" {
		at.shift = v.now.Sub(v.envelope.Written) - v.elapsed
	}
	return at
}

// learn applies the request to the value that was seen. Then the proposal is done, or there is
// something to be accepted, or it has to be promised a ballot first.
func (p *proposal) learn(v view) error {
	p.seen, p.next, p.result = v, "", outcome{}
	if !v.chosen && !v.promised {
		p.torn++
		return nil
	}
	made, err := p.made(v.envelope)
	if err != nil {
		return err
	}
	certain := v.chosen
	if made != nil {
		p.result = *made
		p.result.next = "" // it is there already
	} else {
		// A try that is not there may still come. Some node may have accepted it, and would show it
		// to others as long as nothing was accepted with a higher ballot.
		certain = certain && (len(p.tries) == 0 || v.newest.Accepted > p.tries[len(p.tries)-1].ballot)
		if p.result, err = p.apply(v.reading()); err != nil {
			return err
		}
	}
	switch {
	case p.result.next == "" && certain:
		p.finish()
	case !v.promised:
	case p.result.next == "":
		// The value that was read was perhaps never chosen, and has to be before it is an answer.
		// Its leases end when they did: it was written as long before now as the nodes say.
		e := v.envelope
		e.Format, e.Written, e.Stamps, e.Round = format, e.Written.Add(v.elapsed), v.stamps, v.round
		p.next = e.String()
	default:
		e := v.envelope.after(p.ballot, p.result.next, &v)
		p.next = e.String()
		p.tries = append(p.tries, try{p.ballot, e.Changes, p.result})
	}
	return nil
}

// made returns the outcome of the try that e has come of; nil when it has come of none of them.
func (p *proposal) made(e envelope) (*outcome, error) {
	for i, t := range p.tries {
		if slices.Contains(e.Lineage, t.ballot) {
			return &p.tries[i].result, nil
		}
		if p.once && e.Changes >= t.changes+remembered {
			return nil, errContended // it may have been, and is forgotten
		}
	}
	return nil, nil
}

func (p *proposal) finish() {
	p.done = true
	if p.result.done != nil {
		p.result.done()
	}
}

func pick(list []*proposal, f func(*proposal) bool) (picked []*proposal) {
	for _, p := range list {
		if f(p) {
			picked = append(picked, p)
		}
	}
	return picked
}
