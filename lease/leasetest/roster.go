package leasetest

import (
	"bytes"
	"strings"
	"time"

	"github.com/solotick/solotick/lease"
)

func (f *fixture) roster() lease.Roster {
	f.Helper()
	r, ok := f.store.(lease.Roster)
	if !ok {
		f.Skip("the store is no lease.Roster")
	}
	return r
}

func (f *fixture) announce(suffix, info string, life time.Duration) {
	f.Helper()
	f.ok("Announce", f.roster().Announce(f.ctx, f.other(suffix), []byte(info), life))
}

// members returns what the case's own members say of themselves, with who they are.
func (f *fixture) members() (list []string) {
	f.Helper()
	members, err := f.roster().Members(f.ctx)
	f.ok("Members", err)
	for i, m := range members {
		if i > 0 && m.Holder <= members[i-1].Holder {
			f.Fatalf("%s comes after %s", m.Holder, members[i-1].Holder)
		}
		if suffix, ok := strings.CutPrefix(m.Holder, f.other("")); ok {
			f.between("left", m.Left, 1, time.Hour)
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
	f.announce("a", "short", f.term)
	f.announce("b", "long", long)
	f.announce("c", "longer", f.term)
	f.announce("c", "longer", long)
	f.until(f.now().Add(f.term))
	f.equal("members", f.members(), []string{"b=long", "c=longer"})
	f.announce("b", "shorter", f.term)
	f.until(f.now().Add(f.term))
	f.equal("members", f.members(), []string{"c=longer"})
}

func membersSayOnlySoMuch(f *fixture) {
	r := f.roster()
	f.refused("too much", r.Announce(f.ctx, f.other("a"), make([]byte, lease.MaxInfo+1), long))
	for what, holder := range map[string]string{"nobody": "", "two words": "a b", "a line": "a\n"} {
		f.refused(what, r.Announce(f.ctx, holder, nil, long))
	}
	f.equal("members", len(f.members()), 0)
	most := bytes.Repeat([]byte("\x00 \n"), lease.MaxInfo/3)
	f.announce("a", string(most), long)
	f.equal("what it says", f.members(), []string{"a=" + string(most)})
}
