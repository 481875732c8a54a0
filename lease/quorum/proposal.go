package quorum

import "slices"

// proposal is the state of one key's change.
type proposal struct {
	index  int
	key    string
	ballot string // promised, or to be promised; empty to read

	seen   view
	torn   int // how often it was unknown which value is chosen
	next   string
	result outcome
	tries  []try // newest last
	done   bool
}

// try is what was asked to be accepted and perhaps was, although we were not told.
type try struct {
	ballot  string
	changes int
	result  outcome
}

// learn applies the change to what was seen. Then the proposal is done, or there is something to be accepted, or it has to
// be promised a ballot first.
func (p *proposal) learn(v view, f change) error {
	p.seen, p.next, p.result = v, "", outcome{}
	if !v.chosen && !v.promised {
		p.torn++
		return nil
	}
	e := v.envelope
	made, err := p.made(e)
	if err != nil {
		return err
	}
	certain := v.chosen
	if made != nil {
		p.result = *made
		p.result.next = "" // it is there already
	} else {
		// A try that is not there may still come: some node may have accepted it, and would show it to others as long as
		// nothing was accepted with a higher ballot.
		certain = certain && (len(p.tries) == 0 || v.newest.Accepted > p.tries[len(p.tries)-1].ballot)
		if p.result, err = f(p.index, v.at); err != nil {
			return err
		}
	}
	switch {
	case p.result.next == "" && certain:
		p.finish(p.result)
	case !v.promised:
	case p.result.next == "":
		// What was read was perhaps never chosen, and has to be before anybody may be told of it. Its spans end when
		// they did: it was written as long before now as the nodes say.
		e.written, e.stamps, e.round = e.written.Add(v.elapsed), v.stamps, v.round
		p.next = e.String()
	default:
		e = e.after(p.ballot, p.result.next, v.at.now, v.stamps, v.round)
		p.next = e.String()
		p.tries = append(p.tries, try{p.ballot, e.changes, p.result})
	}
	return nil
}

// made returns the outcome of the try that e has come of; nil when it has come of none of them.
func (p *proposal) made(e envelope) (*outcome, error) {
	for i, t := range p.tries {
		if slices.Contains(e.lineage, t.ballot) {
			return &p.tries[i].result, nil
		}
		if e.changes >= t.changes+remembered {
			return nil, ErrContended // it may have been, and is forgotten
		}
	}
	return nil, nil
}

func (p *proposal) finish(result outcome) {
	p.done = true
	if result.done != nil {
		result.done()
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

func keysOf(list []*proposal) []string {
	keys := make([]string, len(list))
	for i, p := range list {
		keys[i] = p.key
	}
	return keys
}

// fill gives err to those that are open.
func fill(errs []error, open []*proposal, err error) []error {
	for _, p := range open {
		if !p.done {
			errs[p.index] = err
		}
	}
	return errs
}
