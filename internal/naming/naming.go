// Package naming has the rule for the names of jobs, the keys of their schedules, locks, replicas,
// holders, requests and namespaces.
package naming

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Rule says in words what [Valid] checks.
const Rule = "must start with a letter or digit and hold at most 128 of A-Z a-z 0-9 . _ -"

// Valid reports whether s can be such a name.
func Valid(s string) bool {
	if s == "" || len(s) > 128 || s[0] == '.' || s[0] == '_' || s[0] == '-' {
		return false
	}
	for i := range len(s) {
		if !inNames[s[i]] {
			return false
		}
	}
	return true
}

// Keyed names the record of one of a job's schedules, JOB/KEY; the job's own without a key.
func Keyed(job, key string) string {
	if key == "" {
		return job
	}
	return job + "/" + key
}

// IsKeyed reports whether a name of a record is that of a schedule.
func IsKeyed(name string) bool { return strings.IndexByte(name, '/') >= 0 }

// SplitKeyed returns what [Keyed] was made of.
func SplitKeyed(name string) (job, key string) {
	job, key, _ = strings.Cut(name, "/")
	return job, key
}

// ValidKeyed reports whether s can be the name of a record: NAME, or NAME/NAME.
func ValidKeyed(s string) bool {
	job, key, keyed := strings.Cut(s, "/")
	return Valid(job) && (!keyed || Valid(key))
}

// definitions begins the names of the journals that hold definitions.
const definitions = "definitions."

// DefinitionsOf names the journal that holds the definitions of a job. The job's own name may be
// too long to add to.
func DefinitionsOf(job string) string {
	sum := sha256.Sum256([]byte(job))
	return definitions + hex.EncodeToString(sum[:6])
}

// ReservedRule says in words what [Reserved] checks.
const ReservedRule = "must not be definitions. with 12 hexadecimal digits, which names a journal of definitions"

// Reserved reports whether a job must not have the name, since [DefinitionsOf] may return it.
func Reserved(name string) bool {
	digits, found := strings.CutPrefix(name, definitions)
	return found && len(digits) == 12 && strings.Trim(digits, "0123456789abcdef") == ""
}

// inNames has the bytes that names may hold: they are looked at several times for each claim.
var inNames = func() (in [256]bool) {
	for _, c := range "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz._-" {
		in[c] = true
	}
	return in
}()
