package fleet

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/solotick/solotick/internal/protocol"
	"github.com/solotick/solotick/internal/wire"
)

// Act says who does something to the fleet, and why: it is kept in the journal of the job and in
// the audit log.
type Act struct {
	By     string // required; matches the pattern of a name
	Reason string // for people; of more than 1024 bytes the rest is cut
	Via    string // by what it was asked for: go, a program that calls this package, and the default; cli, api or console; or another name
}

// check returns every fault of an act, joined.
func (a Act) check() error {
	var faults []error
	if !protocol.ValidName(a.By) {
		faults = append(faults, fmt.Errorf("fleet: by: %q %s", a.By, protocol.NameRule))
	}
	return errors.Join(append(faults, a.checkVia())...)
}

func (a Act) checkVia() error {
	if a.Via == "" || protocol.ValidName(a.Via) {
		return nil
	}
	return fmt.Errorf("fleet: via: %q %s", a.Via, protocol.NameRule)
}

// fact is the fact of an act.
func (a Act) fact(kind string) Fact {
	return Fact{Kind: kind, By: a.By, Reason: protocol.Cut(a.Reason, protocol.MaxReason), Via: cmp.Or(a.Via, wire.ViaGo)}
}
