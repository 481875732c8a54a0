package leasetest

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

func (f *fixture) announce(suffix, info string, life time.Duration) {
	f.Helper()
	f.ok("Announce", f.store.SendHeartbeat(f.ctx, f.other(suffix), []byte(info), life))
}

// members returns what the case's own members say of themselves, with who they are.
func (f *fixture) members() (list []string) {
	f.Helper()
	members, err := f.store.Members(f.ctx)
	f.ok("Members", err)
	for i, m := range members {
		if i > 0 && m.Holder <= members[i-1].Holder {
			f.Fatalf("%s comes after %s", m.Holder, members[i-1].Holder)
		}
		if suffix, ok := strings.CutPrefix(m.Holder, f.other("")); ok {
			f.between("left", m.Remaining, 1, time.Hour)
			list = append(list, suffix+"="+string(m.Info))
		}
	}
	return list
}

func membersAreWhoWasAnnounced(f *fixture) {
	f.equal("members", len(f.members()), 0)
	odd := " two\nlines, \x00 \xff and 7 8 "
	for _, m := range []string{"b", "c", "a", "B", "10", "9"} {
		f.announce(m, odd, long)
	}
	f.equal("members", f.members(), []string{"10=" + odd, "9=" + odd, "B=" + odd, "a=" + odd, "b=" + odd, "c=" + odd})
	f.announce("b", "anew", long)
	f.announce("c", "", long)
	f.announce("a", "a", 0)
	f.announce("nobody", "x", 0)
	f.equal("members", f.members(), []string{"10=" + odd, "9=" + odd, "B=" + odd, "b=anew", "c="})
	f.announce("a", "back", long)
	f.equal("members", f.members()[3], "a=back")
}

func lifeOfAMemberEnds(f *fixture) {
	f.announce("a", "short", f.ttl)
	f.announce("b", "long", long)
	f.announce("c", "longer", f.ttl)
	f.announce("c", "longer", long)
	f.until(f.now().Add(f.ttl))
	f.equal("members", f.members(), []string{"b=long", "c=longer"})
	f.announce("b", "shorter", f.ttl)
	f.until(f.now().Add(f.ttl))
	f.equal("members", f.members(), []string{"c=longer"})
}

func membersSayOnlySoMuch(f *fixture) {
	r := f.store
	f.refused("too much", r.SendHeartbeat(f.ctx, f.other("a"), make([]byte, protocol.MaxInfo+1), long))
	for what, holder := range map[string]string{"nobody": "", "two words": "a b", "a line": "a\n"} {
		f.refused(what, r.SendHeartbeat(f.ctx, holder, nil, long))
	}
	f.equal("members", len(f.members()), 0)
	most := bytes.Repeat([]byte("\x00 \n"), protocol.MaxInfo/3)
	f.announce("a", string(most), long)
	f.equal("what it says", f.members(), []string{"a=" + string(most)})
}

// announced wants that the member was announced between two looks at the store's clock, or that of
// one of its servers.
func (f *fixture) announced(m protocol.Member, after, before time.Time) {
	f.Helper()
	if m.LastHeartbeat.Before(after.Add(-f.ttl)) || m.LastHeartbeat.After(before.Add(f.ttl)) {
		f.Fatalf("%s was announced at %s, want from %s to %s", m.Holder, m.LastHeartbeat, after, before)
	}
}

func membersHaveTheTimeOfTheirAnnouncement(f *fixture) {
	before := f.now()
	f.announce("a", "first", long)
	f.until(f.now().Add(2 * f.ttl))
	between := f.now()
	f.announce("a", "again", long)
	after := f.now()
	members, err := f.store.Members(f.ctx)
	f.ok("Members", err)
	for _, m := range members {
		if m.Holder == f.other("a") {
			if m.LastHeartbeat.IsZero() && before.Before(after) {
				f.Skip("the store does not keep it")
			}
			f.announced(m, between, after)
			return
		}
	}
	f.Fatal("it is no member")
}

// former returns the case's own former members, in the order in which the store returns them.
func (f *fixture) former() (list []protocol.Member) {
	f.Helper()
	all, err := f.store.FormerMembers(f.ctx)
	f.ok("FormerMembers", err)
	for i, m := range all {
		if i > 0 && m.LastHeartbeat.After(all[i-1].LastHeartbeat) {
			f.Fatalf("%s, of %s, comes after %s, of %s", m.Holder, m.LastHeartbeat, all[i-1].Holder, all[i-1].LastHeartbeat)
		}
		if strings.HasPrefix(m.Holder, f.other("")) {
			f.equal("left", m.Remaining, time.Duration(0))
			list = append(list, m)
		}
	}
	return list
}

func formerMembersAreKept(f *fixture) {
	f.equal("former", len(f.former()), 0)
	before := f.now()
	f.announce("dead", "it said\nthis", f.ttl)
	announced := f.now()
	f.until(announced.Add(f.ttl))
	f.announce("gone", "and that", long)
	f.announce("lives", "on", long)
	f.until(f.now().Add(2 * f.ttl))
	left := f.now()
	f.announce("gone", "", 0)
	after := f.now()
	list := f.former()
	f.equal("how many", len(list), 2)
	f.equal("who", []string{list[0].Holder, list[1].Holder}, []string{f.other("gone"), f.other("dead")})
	f.equal("what they said", []string{string(list[0].Info), string(list[1].Info)}, []string{"and that", "it said\nthis"})
	f.announced(list[0], left, after)
	f.announced(list[1], before, announced)
	f.equal("members", f.members(), []string{"lives=on"})
	f.equal("again", f.former(), list)

	f.announce("dead", "it is back", long)
	list = f.former()
	f.equal("how many", len(list), 1)
	f.equal("who", list[0].Holder, f.other("gone"))
}

func formerMembersAreBounded(f *fixture) {
	f.former()
	for i := range protocol.MaxFormer + 3 {
		f.announce(fmt.Sprint(i), "x", long)
		f.announce(fmt.Sprint(i), "", 0)
		f.until(f.now())
	}
	list := f.former()
	f.equal("how many", len(list), protocol.MaxFormer)
	f.equal("the newest", list[0].Holder, f.other(fmt.Sprint(protocol.MaxFormer+2)))
}

func knownMembersSayNothingAgain(f *fixture) {
	odd := " two\nlines, \x00 \xff and 7 8 "
	f.announce("a", odd, long)
	f.announce("b", "b", long)
	f.announce("c", "", long)
	f.announce("dead", "x", f.ttl)
	f.until(f.now().Add(f.ttl))
	known := map[string]string{
		f.other("b"): protocol.InfoDigest([]byte("b")), f.other("c"): protocol.InfoDigest([]byte("before")), f.other("dead"): protocol.InfoDigest([]byte("x")),
	}
	look := func(want ...string) {
		f.Helper()
		members, err := f.store.MembersBut(f.ctx, known)
		f.ok("MembersBut", err)
		var list []string
		for _, m := range members {
			if suffix, ok := strings.CutPrefix(m.Holder, f.other("")); ok {
				f.between("left", m.Remaining, 1, time.Hour)
				list = append(list, fmt.Sprintf("%s=%s %t", suffix, m.Info, m.Known))
				known[m.Holder] = protocol.InfoDigest(m.Info)
			}
		}
		f.equal("members", list, want)
	}
	look("a="+odd+" false", "b= true", "c= false")
	known[f.other("b")] = protocol.InfoDigest([]byte("b"))
	f.announce("c", "again", long)
	look("a= true", "b= true", "c=again false")
}
