package protocol

import "fmt"

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
