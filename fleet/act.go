package fleet

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/solotick/solotick/internal/protocol"
)

// Act says who does something to the fleet, and why: it is kept in the journal of the job and in the audit log.
type Act struct {
	By     string // required; matches the pattern of a name
	Reason string // for people; of more than [MaxReason] bytes the rest is cut
	Via    string // by what it was asked for: one of the values below, or another name; empty is [ViaGo]
}

// What an act was asked for by.
const (
	ViaGo      = "go" // a program that calls this package
	ViaCLI     = "cli"
	ViaAPI     = "api"
	ViaConsole = "console"
)

// MaxReason is the greatest length of an act's reason, in bytes.
const MaxReason = protocol.MaxReason

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
func (a Act) fact(kind FactKind) Fact {
	return Fact{Kind: kind, By: a.By, Reason: protocol.Cut(a.Reason, MaxReason), Via: cmp.Or(a.Via, ViaGo)}
}
