package protocol

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"time"
)

const (
	// MaxSet is the greatest length of a set, in bytes.
	MaxSet = 256 << 10
	// MaxSetsAtOnce is how many sets one call names at most.
	MaxSetsAtOnce = 16
)

// SetDigest returns what a set is kept under: the first half of its SHA-256, in 32 hexadecimal
// digits.
func SetDigest(set []byte) string {
	sum := sha256.Sum256(set)
	return hex.EncodeToString(sum[:sha256.Size/2])
}

// CheckSet returns every fault of what PutSet is given, joined; nil when there is none.
func CheckSet(set []byte, life time.Duration) error {
	var faults []error
	if len(set) == 0 || len(set) > MaxSet {
		faults = append(faults, fmt.Errorf("lease: set: has %d bytes, must have from 1 to %d", len(set), MaxSet))
	}
	return errors.Join(append(faults, checkSetLife(life))...)
}

// CheckDigests returns every fault of the digests that a call names and, of KeepSets, of
// the life, joined; nil when there is none.
func CheckDigests(digests []string, life time.Duration) error {
	faults := []error{checkSetLife(life)}
	if len(digests) > MaxSetsAtOnce {
		faults = append(faults, fmt.Errorf("lease: sets: %d are named at once, must be at most %d", len(digests), MaxSetsAtOnce))
	}
	for _, d := range digests {
		if raw, err := hex.DecodeString(d); err != nil || len(raw) != sha256.Size/2 || hex.EncodeToString(raw) != d {
			faults = append(faults, fmt.Errorf("lease: set digest %q: must be %d lower-case hexadecimal digits", d, sha256.Size))
		}
	}
	return errors.Join(faults...)
}

func checkSetLife(life time.Duration) error {
	if life < time.Millisecond {
		return fmt.Errorf("lease: set life: %s must be at least 1ms", life)
	}
	return nil
}
