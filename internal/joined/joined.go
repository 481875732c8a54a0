// Package joined takes joined errors apart.
package joined

import "errors"

// Errors returns the single errors that err joins, in order; err alone when it joins none, and
// nothing for nil.
//
// An error that wraps a join is left out in favour of what it joins. One that wraps a single error
// stays whole.
func Errors(err error) []error {
	if err == nil {
		return nil
	}
	for e := err; e != nil; e = errors.Unwrap(e) {
		join, ok := e.(interface{ Unwrap() []error })
		if !ok {
			continue
		}
		var all []error
		for _, single := range join.Unwrap() {
			all = append(all, Errors(single)...)
		}
		return all
	}
	return []error{err}
}
