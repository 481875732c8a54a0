package leasetest

import (
	"strings"

	"github.com/solotick/solotick/internal/protocol"
)

func (f *fixture) progress(name string) protocol.Progress {
	f.Helper()
	list, err := f.store.Progress(f.ctx, []string{name})
	f.ok("Progress", err)
	if len(list) != 1 || list[0].Name != name {
		f.Fatalf("progress of %q: %+v", name, list)
	}
	return list[0]
}

// setProgress returns the present value, which must be that of p unless done is false.
func (f *fixture) setProgress(p protocol.Progress, data string, done bool) protocol.Progress {
	f.Helper()
	p.Data = []byte(data)
	present, is, err := f.store.SetProgress(f.ctx, p)
	f.ok("SetProgress", err)
	if is != done || done && string(present.Data) != data {
		f.Fatalf("set the progress of %q to %q: %q, %v", p.Name, data, present.Data, is)
	}
	return present
}

func progressIsChangedByCompareAndSet(f *fixture) {
	for _, name := range []string{f.name, ""} {
		none := f.progress(name)
		if name == "" { // that of the namespace, which all cases share
			none = f.setProgress(none, "", true)
		}
		first := f.setProgress(none, "first \x00\xff", true)
		if got := f.progress(name); string(got.Data) != "first \x00\xff" || got.Version != first.Version {
			f.Fatalf("progress: %+v, want %+v", got, first)
		}
		if present := f.setProgress(none, "other", false); present.Version != first.Version {
			f.Fatalf("present: %+v, want %+v", present, first)
		}
		f.setProgress(none, "first \x00\xff", true) // the answer was lost, and it is asked again
		second := f.setProgress(first, "second", true)
		f.setProgress(first, "third", false)
		f.setProgress(second, "", true)
		if got := f.progress(name); got.Data != nil || got.Version != (protocol.ProgressVersion{}) {
			f.Fatalf("removed progress: %+v", got)
		}
		f.setProgress(second, "third", false)
	}
}

func progressGoesWithItsRecord(f *fixture) {
	f.sync(protocol.Sync{Name: f.name, Watermark: 5})
	f.setProgress(f.progress(f.name), "so far", true)
	f.remove(protocol.RecordRemoved, f.removal())
	if got := f.progress(f.name); got.Data != nil {
		f.Fatalf("progress of a removed record: %q", got.Data)
	}
}

func faultyProgressIsRefused(f *fixture) {
	k := f.store
	for _, p := range []protocol.Progress{{Name: "a b"}, {Name: "a", Data: []byte(strings.Repeat("x", protocol.MaxProgress+1))}} {
		if _, _, err := k.SetProgress(f.ctx, p); err == nil {
			f.Errorf("set the progress of %q to %d bytes: no error", p.Name, len(p.Data))
		}
	}
	if _, err := k.Progress(f.ctx, make([]string, 1)); err != nil {
		f.Errorf("progress of the namespace: %v", err)
	}
	if _, err := k.Progress(f.ctx, []string{"a", "-"}); err == nil {
		f.Errorf("progress of -: no error")
	}
}
