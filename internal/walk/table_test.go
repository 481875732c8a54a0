package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

const written = `<!-- walk: Tick -->
2 files, which declare 1 types; the longest has 7 lines.

| file | functions | look for |
| --- | --- | --- |
| [b.go](../b.go) | ` + "`g`" + ` | the ` + "`g`" + ` of [it](b.go) |
| [a.go](../a.go) | ` + "`f`" + ` | |
<!-- end -->`

func inFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.WriteFile("a.go", []byte("package p\n\nfunc f() {\n}\n\ntype t int\n"), 0o600))
	require.NoError(t, os.WriteFile("b.go", []byte("package p\n\nfunc g() {\n}\n\nfunc h() {\n}\n"), 0o600))
}

func TestNotesStayWithTheirFiles(t *testing.T) {
	inFolder(t)
	blocks := map[string]bool{module + "a.go:3.10,4.2": true, module + "b.go:3.10,4.2": true}
	text, err := table("Tick", written, blocks)
	require.NoError(t, err)
	require.Equal(t, written, string(text))
}

func TestNoteOfAFileOffTheWalkFails(t *testing.T) {
	inFolder(t)
	_, err := table("Tick", written, map[string]bool{module + "a.go:3.10,4.2": true})
	require.ErrorContains(t, err, "b.go is not on the walk")
}
