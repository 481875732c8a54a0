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

// MaxMessage is the greatest length of a message of [Store.Publish], in bytes.
const MaxMessage = 64 << 10

// Letter is a message to one subscriber, by its name.
type Letter struct {
	To      string
	Message []byte
}

// CheckMessage returns the faults of a message of [Store.Publish]; nil when there are none.
func CheckMessage(message []byte) error {
	switch {
	case len(message) == 0:
		return errors.New("lease: message: is empty, must have at least 1 byte")
	case len(message) > MaxMessage:
		return fmt.Errorf("lease: message: has %d bytes, must have at most %d", len(message), MaxMessage)
	}
	return nil
}

// Progress is a value of a [ProgressKeeper]. It goes with the record of its name: see [Remover].
type Progress struct {
	Name    string
	Data    []byte // at most MaxProgress bytes; nil when there is no value
	Version ProgressVersion
}

// ProgressVersion differs between any two values that a name has had. It is zero when there is
// none.
type ProgressVersion struct {
	Stamp int64
	ID    string
}

// MaxProgress is the greatest length of a Progress, in bytes.
const MaxProgress = 16 << 10

// CheckProgress returns an error unless p can be set.
func CheckProgress(p Progress) error {
	if len(p.Data) > MaxProgress {
		return fmt.Errorf("lease: progress of %q: %d bytes must be at most %d", p.Name, len(p.Data), MaxProgress)
	}
	return CheckProgressNames([]string{p.Name})
}

// CheckProgressNames returns every fault of the names that Progress is given, joined.
func CheckProgressNames(names []string) error {
	named := make([]string, 0, len(names))
	for _, name := range names {
		if name != "" {
			named = append(named, name)
		}
	}
	return CheckNames(named)
}
