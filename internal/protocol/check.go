package protocol

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"
	"time"
)

// Checker is a [Store] that says what keeps it from working, and what to change.
type Checker interface {
	Store

	// Check makes the calls that a fleet depends on, and returns nil when all of them work.
	// Otherwise the error joins a [*CheckError] for each call that fails. When the store does not
	// answer at all, it is the error of the first call. It writes one small record, the lock
	// solotick-check, which nobody waits for.
	Check(ctx context.Context) error

	// Hint says what to change when a call fails with err; "" when the store has nothing to say
	// about it.
	Hint(err error) string
}

// Examiner is a [Store] that knows what of its server's settings endangers a fleet.
type Examiner interface {
	// Examine returns what is wrong with the settings of the server, as far as that says them; none
	// when it does not answer.
	Examine(ctx context.Context) []Warning
}

// Warning is a setting of a server that endangers a fleet.
type Warning struct {
	Check  string // what was looked at, as doctor calls it: eviction, persistence, messages
	Text   string
	Change string // what to do
}

// CheckError is a call that a store cannot do.
type CheckError struct {
	Call string // the method, such as "ClaimLock"
	Err  error
	Hint string // what to change; "" when the store does not know
}

func (e *CheckError) Error() string {
	text := fmt.Sprintf("lease: check: %s: %v", e.Call, e.Err)
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// Unwrap returns what the call failed with.
func (e *CheckError) Unwrap() error { return e.Err }

// checkName is of a lock that has room for everybody who checks at once.
const checkName = "solotick-check"

// Check makes the calls of any store, as [Checker.Check] says. A store implements Checker with it.
func Check(ctx context.Context, s Store) error {
	var faults []error
	try := func(call string, err error) bool {
		if err == nil {
			return true
		}
		e := &CheckError{Call: call, Err: err}
		if c, ok := s.(Checker); ok {
			e.Hint = c.Hint(err)
		}
		faults = append(faults, e)
		return false
	}
	if _, _, err := s.Time(ctx); !try("Time", err) {
		return faults[0]
	}
	request := strings.ToLower(rand.Text())
	_, err := s.Claim(ctx, Claim{Name: checkName, Tick: 1, Holder: "check", Request: request, TTL: time.Second, OnlyOpen: true})
	try("Claim", err) // never open: it is granted nothing
	if l, ok := s.(Locker); ok {
		c := LockClaim{Name: checkName, Holder: "check", Request: request, TTL: time.Second, Permits: 1, Limit: MaxPermits}
		a, err := l.ClaimLock(ctx, c)
		if try("ClaimLock", err) {
			try("RenewLocks", l.RenewLocks(ctx, []LockGrant{c.Grant(a)})[0])
			try("ReleaseLock", l.ReleaseLock(ctx, c.Grant(a)))
		}
	}
	if i, ok := s.(Inspector); ok {
		_, err := i.Inspect(ctx, checkName)
		try("Inspect", err)
	}
	if r, ok := s.(Membership); ok {
		_, err := r.Members(ctx)
		try("Members", err)
	}
	return errors.Join(faults...)
}
