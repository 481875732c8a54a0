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

// MembersVersion identifies members together with what they say. Where Known is set, that is what
// known has for the holder.
func MembersVersion(members []Member, known map[string]string) string {
	text := ""
	for _, m := range members {
		digest := known[m.Holder]
		if !m.Known {
			digest = InfoDigest(m.Info)
		}
		text += m.Holder + " " + digest + "\n"
	}
	return InfoDigest([]byte(text))
}

// InfoDigest is the digest of a member's info: the first 16 digits of its SHA-1.
func InfoDigest(info []byte) string {
	sum := sha1.Sum(info)
	return hex.EncodeToString(sum[:8])
}
