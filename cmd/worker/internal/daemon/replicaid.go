package daemon

import (
	"strings"

	"github.com/google/uuid"
)

// replicaID returns an id for a replica on a host: the characters of the host name that ids may
// have, and 8 random characters, so that a restarted replica has another id.
func replicaID(host string) string {
	const suffix, maxLength = 8, 128
	clean := strings.Map(func(r rune) rune {
		if 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("._-", r) {
			return r
		}
		return '-'
	}, host)
	clean = strings.TrimLeft(clean, "._-")
	clean = strings.TrimRight(clean[:min(len(clean), maxLength-1-suffix)], "._-")
	if clean == "" {
		clean = "replica"
	}
	return clean + "-" + uuid.NewString()[:suffix]
}
