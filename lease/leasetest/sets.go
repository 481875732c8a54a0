package leasetest

import (
	"bytes"
	"strings"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

// set returns a set that no other case uses, and its digest.
func (f *fixture) set(suffix string) (set []byte, digest string) {
	set = []byte(f.other(suffix) + "\x00\r\n \xff")
	return set, protocol.SetDigest(set)
}

func (f *fixture) put(set []byte, life time.Duration) {
	f.Helper()
	f.ok("PutSet", f.store.PutSet(f.ctx, set, life))
}

func (f *fixture) wantSets(digests []string, want ...[]byte) {
	f.Helper()
	sets, err := f.store.GetSets(f.ctx, digests)
	f.ok("GetSets", err)
	f.equal("sets", sets, want)
}

func (f *fixture) keep(life time.Duration, digests ...string) []bool {
	f.Helper()
	kept, err := f.store.KeepSets(f.ctx, digests, life)
	f.ok("KeepSets", err)
	return kept
}

func setsAreKeptUnderTheirDigests(f *fixture) {
	a, digestA := f.set("a")
	b, digestB := f.set("b")
	_, unknown := f.set("c")
	f.wantSets([]string{digestA}, nil)
	f.put(a, long)
	f.put(b, long)
	f.put(a, long)
	f.wantSets([]string{digestB, unknown, digestA, digestA}, b, nil, a, a)
	most := bytes.Repeat(a, protocol.MaxSet/len(a)+1)[:protocol.MaxSet]
	f.put(most, long)
	f.wantSets([]string{protocol.SetDigest(most)}, most)
}

func lifeOfASetEnds(f *fixture) {
	a, digestA := f.set("a")
	b, digestB := f.set("b")
	c, digestC := f.set("c")
	f.put(a, f.ttl)
	f.put(c, f.ttl)
	f.put(c, long)
	for life := f.ttl; ; life *= 2 { // until it is kept before it has ended
		f.put(b, life)
		if kept := f.keep(long, digestB); life > long || kept[0] {
			f.equal("kept", kept, []bool{true})
			break
		}
	}
	f.until(f.now().Add(2 * f.ttl))
	f.wantSets([]string{digestA, digestB, digestC}, nil, b, c)
	f.equal("kept", f.keep(long, digestA, digestC), []bool{false, true})
	f.wantSets([]string{digestA}, nil)
	f.put(a, long)
	f.wantSets([]string{digestA}, a)
}

func forgottenSetIsPutAgain(f *fixture) {
	a, digest := f.set("a")
	f.put(a, long)
	f.forgetAll()
	f.wantSets([]string{digest}, nil)
	f.equal("kept", f.keep(long, digest), []bool{false})
	f.put(a, long)
	f.wantSets([]string{digest}, a)
}

func faultySetsAreRefused(f *fixture) {
	s := f.store
	a, digest := f.set("a")
	f.refused("an empty set", s.PutSet(f.ctx, nil, long))
	f.refused("too much", s.PutSet(f.ctx, make([]byte, protocol.MaxSet+1), long))
	f.refused("no life", s.PutSet(f.ctx, a, 0))
	_, err := s.KeepSets(f.ctx, []string{digest}, 0)
	f.refused("no life", err)
	for what, digests := range map[string][]string{
		"no digest": {""}, "half a digest": {digest[1:]}, "another alphabet": {strings.Repeat("g", len(digest))},
		"upper case": {strings.Repeat("A", len(digest))}, "too many": make([]string, protocol.MaxSetsAtOnce+1),
	} {
		_, err := s.KeepSets(f.ctx, digests, long)
		f.refused(what, err)
		_, err = s.GetSets(f.ctx, digests)
		f.refused(what, err)
	}
	f.wantSets([]string{digest}, nil)
}

func manyPutOneSetAtOnce(f *fixture) {
	s := f.store
	a, digest := f.set("a")
	var puts sync.WaitGroup
	for range 16 {
		puts.Go(func() {
			if err := s.PutSet(f.ctx, a, long); err != nil {
				f.Errorf("PutSet: %v", err)
			}
			if sets, err := s.GetSets(f.ctx, []string{digest}); err != nil || !bytes.Equal(sets[0], a) {
				f.Errorf("GetSets: %q, %v, want %q", sets, err, a)
			}
		})
	}
	puts.Wait()
}
