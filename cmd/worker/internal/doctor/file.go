package doctor

import (
	"context"
	"fmt"

	"github.com/solotick/solotick/cmd/worker/internal/stores"
	"github.com/solotick/solotick/lease/sqlitelease"
)

const (
	// littleRoom is how much room on the disk of a file doctor warns of.
	littleRoom = 256 << 20
	// largeLog is how large the write-ahead log beside a file is that doctor warns of: it is written
	// back at 4 MiB.
	largeLog = 64 << 20
)

// checkFile checks a store in a file that answers, and writes nothing there.
func checkFile(s *stores.Store) []Finding {
	facts, err := s.File.Facts()
	if err != nil {
		return []Finding{failed("file", s, err)}
	}
	return []Finding{fileFinding(facts), roomFinding(facts), {Check: "clock", Result: OK, Finding: "the store's clock is that of this machine"}}
}

func fileFinding(facts sqlitelease.Facts) Finding {
	f := Finding{Check: "file", Result: OK, Finding: fmt.Sprintf("%s, and %s of write-ahead log", size(facts.Size), size(facts.Log))}
	switch {
	case facts.MayBeShared != "":
		f.Result = Warn
		f.Finding += fmt.Sprintf("; its file system is %s, which other machines may have, too", facts.MayBeShared)
		f.Change = "make sure that only processes of this machine open it, or use Redis"
	case facts.Log > largeLog:
		f.Result = Warn
		f.Change = "look for a process that has had the file open for long and is stopped, or reads without an end: the log is not written back meanwhile"
	}
	return f
}

func roomFinding(facts sqlitelease.Facts) Finding {
	if !facts.FreeKnown {
		return Finding{Check: "room", Result: Unchecked, Finding: "could not be checked on this system"}
	}
	f := Finding{Check: "room", Result: OK, Finding: size(int64(facts.Free)) + " are free on its disk"} //nolint:gosec // no disk has 8 EiB
	switch {
	case facts.Free < facts.Reserve:
		f.Result, f.Change = Fail, "make room: nothing new is claimed with less than "+size(int64(facts.Reserve)) //nolint:gosec // a few MiB
	case facts.Free < littleRoom:
		f.Result, f.Change = Warn, "make room: with less than "+size(int64(facts.Reserve))+" nothing new is claimed" //nolint:gosec // a few MiB
	}
	return f
}

// CheckWrites checks that this process can write to a store that is not Redis, by a lock that is
// released again.
func CheckWrites(ctx context.Context, s *stores.Store) Finding {
	if err := s.Checker.Check(ctx); err != nil {
		return failed("writes", s, err)
	}
	return Finding{Check: "writes", Result: OK, Finding: "this user may write"}
}
