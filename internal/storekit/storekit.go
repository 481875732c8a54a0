// Package storekit has what the packages of stores have in common.
package storekit

import (
	"errors"
	"fmt"
	"sync"
	"time"
)

// Apply applies the options of a package to o. It returns what is wrong with them.
func Apply[F ~func(*O), O any](name string, o *O, opts []F) (faults []error) {
	for i, opt := range opts {
		if opt == nil {
			faults = append(faults, fmt.Errorf("%s: options[%d]: nil must be an option", name, i))
			continue
		}
		opt(o)
	}
	return faults
}

// CheckTimeout returns an error if a call of a store cannot be bounded by d.
func CheckTimeout(name string, d time.Duration) error {
	if d < 10*time.Millisecond {
		return fmt.Errorf("%s: timeout %s must be at least 10ms", name, d)
	}
	return nil
}

// Hint says what to change when a call fails with Err. A permanent error stays until somebody does.
type Hint = struct {
	Err       error
	Permanent bool
	Text      string
}

// Advice returns the first hint that is about err.
func Advice(hints []Hint, err error) (text string, permanent bool) {
	for _, h := range hints {
		if errors.Is(err, h.Err) {
			return h.Text, h.Permanent
		}
	}
	return "", false
}

// Older reports whether a server's version, such as 3.5.21, is known to be before another one.
func Older(version string, major, minor int) bool {
	var has [2]int
	_, err := fmt.Sscanf(version, "%d.%d", &has[0], &has[1])
	return err == nil && (has[0] < major || has[0] == major && has[1] < minor)
}

// mostAtOnce bounds how many requests of one call are under way.
const mostAtOnce = 128

// Each calls f with 0 to n-1, many at once, and returns one of the errors.
func Each(n int, f func(i int) error) error {
	if n == 1 {
		return f(0)
	}
	failed := make([]error, n)
	slots := make(chan struct{}, mostAtOnce)
	var all sync.WaitGroup
	for i := range n {
		slots <- struct{}{}
		all.Go(func() {
			failed[i] = f(i)
			<-slots
		})
	}
	all.Wait()
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}
