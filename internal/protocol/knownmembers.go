package protocol

import (
	"crypto/sha1"
	"encoding/hex"
	"io"
)

// MembersVersion identifies members together with what they say. Where Known is set, that is what
// known has for the holder.
func MembersVersion(members []Member, known map[string]string) string {
	sum := sha1.New()
	for _, m := range members {
		digest := known[m.Holder]
		if !m.Known {
			digest = InfoDigest(m.Info)
		}
		_, _ = io.WriteString(sum, m.Holder+" "+digest+"\n") // a hash cannot fail
	}
	return hex.EncodeToString(sum.Sum(nil)[:8])
}

// InfoDigest is the digest of a member's info: the first 16 digits of its SHA-1.
func InfoDigest(info []byte) string {
	sum := sha1.Sum(info)
	return hex.EncodeToString(sum[:8])
}
