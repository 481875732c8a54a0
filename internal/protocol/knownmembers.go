package protocol

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
)

// KnownMembers is a [Membership] that leaves out what its caller knows. Most members say the same
// again and again, and in a large fleet all would otherwise read it from all.
type KnownMembers interface {
	// MembersBut returns what Members does, but leaves Info out where its [InfoDigest] is the one
	// that known has for the member's holder. Then Known is true.
	MembersBut(ctx context.Context, known map[string]string) ([]Member, error)
}

// InfoDigest is the digest of a member's info: the first 16 digits of its SHA-1.
func InfoDigest(info []byte) string {
	sum := sha1.Sum(info)
	return hex.EncodeToString(sum[:8])
}
