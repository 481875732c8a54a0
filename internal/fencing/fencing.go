// Package fencing has the rules that every fence checks a write by.
package fencing

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

const (
	// MaxToken is the highest token.
	MaxToken = 1<<53 - 1
	// MaxResource is the most bytes in the name of a resource.
	MaxResource = 255
)

// Validate returns every fault of a resource's name and a token, joined, or nil. A name is 1 to
// [MaxResource] bytes of valid UTF-8 without a NUL, and a token is from 1 to [MaxToken]. Every
// fence of this module calls it, so a name is valid for all of them.
func Validate(resource string, token int64) error {
	var faults []error
	if resource == "" || len(resource) > MaxResource || !utf8.ValidString(resource) || strings.ContainsRune(resource, 0) {
		faults = append(faults, fmt.Errorf("fence: resource %.300q: must be 1 to %d bytes of UTF-8 without a NUL", resource, MaxResource))
	}
	if token < 1 || token > MaxToken {
		faults = append(faults,
			fmt.Errorf("fence: token %d: must be from 1 to %d; pass the token of the run or of the lease", token, int64(MaxToken)))
	}
	return errors.Join(faults...)
}
