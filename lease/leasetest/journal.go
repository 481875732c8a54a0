package leasetest

import (
	"bytes"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/solotick/solotick/internal/protocol"
)

func (f *fixture) append(name, request, text string) {
	f.Helper()
	f.ok("Append", f.store.Append(f.ctx, name, request, []byte(text)))
}

// notes returns the requests and texts of a name's notes.
func (f *fixture) notes(name string, n int) (list []string) {
	f.Helper()
	notes, err := f.store.Notes(f.ctx, name, n)
	f.ok("Notes", err)
	for _, n := range notes {
		list = append(list, n.Request+"="+string(n.Text))
	}
	return list
}

func notesAreKeptNewestFirst(f *fixture) {
	f.equal("notes", len(f.notes(f.name, 0)), 0)
	odd := " two\nlines, \x00 \xff and 7 8 "
	before := f.now()
	f.append(f.name, "a.b-c_1", odd)
	f.append(f.name, "b", "")
	after := f.now()
	f.append(f.name, "c", "{}")
	f.equal("notes", f.notes(f.name, 0), []string{"c={}", "b=", "a.b-c_1=" + odd})
	f.equal("newest", f.notes(f.name, 2), []string{"c={}", "b="})
	f.equal("of another", len(f.notes(f.other("x"), 0)), 0)
	notes, err := f.store.Notes(f.ctx, f.name, 0)
	f.ok("Notes", err)
	if at := notes[2].At; at.Before(before.Truncate(time.Microsecond)) || at.After(after) {
		f.Fatalf("noted at %s, want from %s to %s", at, before, after)
	}
	f.equal("the record", f.record().Open, []protocol.Open(nil))
}

func repeatedNoteIsKeptOnce(f *fixture) {
	for range 3 {
		f.append(f.name, "a.b", "first")
		f.append(f.name, "axb", "another request")
		f.append(f.name, "a", "a.b text that begins alike")
	}
	f.append(f.name, "a.b", "changed")
	f.equal("notes", f.notes(f.name, 0), []string{"a=a.b text that begins alike", "axb=another request", "a.b=first"})
}

func notesAreBounded(f *fixture) {
	for i := range protocol.MaxNotes + 3 {
		f.append(f.name, fmt.Sprint("r", i), "x")
	}
	list := f.notes(f.name, 0)
	if len(list) > protocol.MaxNotes || len(list) < protocol.MaxNotes/4 {
		f.Fatalf("%d notes are kept, want from %d to %d", len(list), protocol.MaxNotes/4, protocol.MaxNotes)
	}
	f.equal("newest", list[0], fmt.Sprintf("r%d=x", protocol.MaxNotes+2))
	most := string(bytes.Repeat([]byte("\x00 \n7"), protocol.MaxNoteText/4))
	f.append(f.name, "longest", most)
	f.equal("longest", f.notes(f.name, 1), []string{"longest=" + most})
}

func namespaceHasAJournal(f *fixture) {
	request := fmt.Sprintf("ns-%x", f.now().UnixNano())
	f.append("", request, f.name)
	f.append(f.name, "own", "x")
	f.equal("of the name", f.notes(f.name, 0), []string{"own=x"})
	if notes := f.notes("", 0); !slices.Contains(notes, request+"="+f.name) {
		f.Fatalf("the note is not there: %q", notes)
	}
}

func faultyNotesAreRefused(f *fixture) {
	j := f.store
	f.refused("long text", j.Append(f.ctx, f.name, "r", make([]byte, protocol.MaxNoteText+1)))
	f.refused("name", j.Append(f.ctx, "a b", "r", nil))
	f.refused("request", j.Append(f.ctx, f.name, "", nil))
	f.refused("request", j.Append(f.ctx, f.name, "a b", nil))
	f.equal("notes", len(f.notes(f.name, 0)), 0)
}

func manyNotesAtOnce(f *fixture) {
	j := f.store
	var writers sync.WaitGroup
	for i := range 8 {
		writers.Go(func() {
			for k := range 4 {
				for range 2 { // the second time the same request
					if err := j.Append(f.ctx, f.name, fmt.Sprintf("r%d.%d", i, k), []byte("x")); err != nil {
						f.Errorf("Append: %v", err)
					}
				}
			}
		})
	}
	writers.Wait()
	f.equal("how many", len(f.notes(f.name, 0)), 32)
}
