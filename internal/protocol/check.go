package protocol

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
)

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

// Check makes the calls of any store, as [Store.Check] says.
func Check(ctx context.Context, s Store) error {
	var faults []error
	try := func(call string, err error) bool {
		if err == nil {
			return true
		}
		faults = append(faults, &CheckError{Call: call, Err: err, Hint: s.Hint(err)})
		return false
	}
	if _, _, err := s.Time(ctx); !try("Time", err) {
		return faults[0]
	}
	request := strings.ToLower(rand.Text())
	_, err := s.Claim(ctx, Claim{Name: checkName, Tick: 1, Holder: "check", Request: request, TTL: time.Second, OnlyOpen: true})
	try("Claim", err) // never open: it is granted nothing
	c := LockClaim{Name: checkName, Holder: "check", Request: request, TTL: time.Second, Permits: 1, Limit: MaxPermits}
	a, err := s.ClaimLock(ctx, c)
	if try("ClaimLock", err) {
		try("RenewLocks", s.RenewLocks(ctx, []LockGrant{c.Grant(a)})[0])
		try("ReleaseLock", s.ReleaseLock(ctx, c.Grant(a)))
	}
	_, err = s.Inspect(ctx, checkName)
	try("Inspect", err)
	_, err = s.Members(ctx)
	try("Members", err)
	return errors.Join(faults...)
}

// IsNil reports whether s is nil, or holds a nil pointer: constructors that take a store refuse
// that.
func IsNil(s any) bool {
	v := reflect.ValueOf(s)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// DefaultNamespace is the namespace of a store in memory that was not given one.
const DefaultNamespace = "default"
