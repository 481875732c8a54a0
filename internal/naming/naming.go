// Package naming has the rule for the names of jobs, locks, replicas, holders, requests and
// namespaces.
package naming

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

// inNames has the bytes that names may hold: they are looked at several times for each claim.
var inNames = func() (in [256]bool) {
	for _, c := range "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz._-" {
		in[c] = true
	}
	return in
}()
